"""TrainableModel: the network in training, which encodes the views of an objective in parts that fit into memory.

Texts are read in training as at inference: under the same prompt and its rules (the released code of PromptBERT and
CoT-BERT appends a full stop to a sentence only in evaluation). A sentence is truncated to `max_length` tokens, its
prompt never.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from semsearch.encoders import device as _device
from semsearch.encoders.torch_backend import CausalBackend, MaskedBackend
from semsearch.errors import UsageError
from semsearch.models import bundle as bundles
from semsearch.models import hf_config, methods
from semsearch.models import safetensors_files as hashes
from semsearch.models.batching import batches_by_length, pad
from semsearch.models.bundle import Bundle
from semsearch.models.methods import Batch
from semsearch.models.methods.optiprompt import slots
from semsearch.models.model_ref import Reference
from semsearch.models.networks import loading, pooling, post, saving
from semsearch.models.networks.causal import CausalNetwork
from semsearch.models.networks.masked import Inputs, MaskedNetwork
from semsearch.models.tokenization import PromptTokens, Tokenizer
from semsearch.prompts import Prompt
from semsearch.training import objectives
from semsearch.training.base_model import BaseModel
from semsearch.training.hyperparameters import Hyperparameters, Shape
from semsearch.training.objectives._base import View

if TYPE_CHECKING:
    from semsearch.types import JsonMapping, Vectors

CPU_TOKENS, GPU_TOKENS = 1024, 65_536  # per forward pass, padding included
READ = ("method", "options", "layer", "pooling", "normalize", "prompts", "max_tokens", "tokens")
READING = (*READ, "licence", "languages")  # of a manifest: how a text is read, and what the base model states
DENOISING = {"cot_bert": "pad", "promptbert": "position"}  # of the papers, where a view is "denoised"
Rows = Sequence[Sequence[int]]


class TrainableModel:
    """The network of `base` on `device`, prepared for an objective and its options, with tokenisation and inference.

    `precision` is that of the computation; the objective decides that of the base model's weights.
    """

    def __init__(
        self,
        base: BaseModel,
        hyperparameters: Hyperparameters,
        objective: str,
        options: Mapping[str, object],
        *,
        device: str = "auto",
        precision: str = "fp32",
        trust: bool = False,
    ) -> None:
        kind, parsed = objectives.load(objective), objectives.parse_options(objective, options)
        self.base, self.hyperparameters, self.precision = base, hyperparameters, precision
        self.device = _device.torch_device(device)
        self.method = methods.make(base.training.method, base.training.options)
        denoise = DENOISING.get(base.training.method, "")
        denoising = {**base.training.options, **({"denoise": denoise} if denoise else {})}
        self._denoised = methods.make(base.training.method, denoising)
        self.network = self._load(trust, kind.base_precision(self.device, parsed))
        self.frozen = copy.deepcopy(self.network).train(False).requires_grad_(False) if kind.frozen_copy else None
        backend_class = CausalBackend if base.kind == "causal" else MaskedBackend
        self.backend = backend_class(base.inference, device=device, trust=trust, network=self.network)
        kind.prepare(self.network, parsed)
        self._freeze()
        self._tokenizers: dict[Prompt, tuple[Tokenizer, PromptTokens]] = {}

    @property
    def shape(self) -> Shape:
        """The shape of the network, without that of the data."""
        config = self.network.model.config
        spread = float(getattr(config, "initializer_range", None) or getattr(config, "init_std", None) or 0.02)
        width, depth = self.network.width, self.network.depth
        return Shape(kind=self.base.kind, width=width, depth=depth, dim=self.backend.dim, spread=spread)

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """The parameters that are trained, by name."""
        return {name: value for name, value in self.network.named_parameters() if value.requires_grad}

    def train(self) -> None:
        """Switch dropout on, unless the hyperparameters switch it off."""
        self.network.train(self.hyperparameters.dropout)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors (n, d) as the trained encoder returns them, without dropout."""
        self.network.train(False)
        self.backend.clear_cache()
        return self.backend.encode(texts, role="passage")

    def rows(self, view: View, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of `texts` under the view's prompt."""
        return self._reader(view)[0].ids(texts, self.prompt(view))

    def prompt(self, view: View) -> Prompt:
        """The prompt of the view; of a view without one, that of the base model."""
        return view.prompt if view.prompt is not None else self.base.training.prompts["passage"]

    def check_prompts(self, views: Sequence[View]) -> None:
        """Raises UsageError where a view's prompt has another number of [MASK]s than the base model's method reads."""
        reads = self.method.masks
        for prompt in map(self.prompt, views):
            if (count := len(self.method.readings(prompt))) > 1:
                raise UsageError(
                    f"method {self.base.training.method} reads a text under {count} prompts, and is not trained.",
                    "Choose a base with a method of one prompt, such as MODEL#prompteol.",
                )
            if prompt.masks != reads and (reads is not None or not prompt.masks):
                number = {None: "with a [MASK]", 0: "without [MASK]"}.get(reads, f"with {reads} [MASK]s")
                raise UsageError(
                    f"{self.base.training.name} needs a prompt {number}, and the objective has a text under "
                    f"{prompt.text!r}.",
                    "Name a base or templates that go together, or no template: then both are the paper's.",
                )

    def parts(self, view: View, rows: Rows, most_texts: int) -> Iterator[NDArray[np.int64]]:
        """Indices of rows that run together: of similar length, or of equal length where the network sees padding."""
        budget = CPU_TOKENS if self.device == "cpu" else GPU_TOKENS
        texts, pads = most_texts or len(rows), self.network.pads
        return batches_by_length([len(row) for row in rows], max_texts=texts, max_tokens=budget, pads=pads)

    def vectors(self, view: View, rows: Rows) -> Tensor:
        """The vectors of a view: (n, d) with gradients, or (n, layers + 1, h) of the frozen copy without.

        They are float32, or float64 where the network is.
        """
        ids, mask = (torch.from_numpy(each).to(self.device) for each in pad(rows))
        with torch.autocast(self.device.partition(":")[0], torch.bfloat16, enabled=self.precision == "bf16"):
            if view.of == "layers":
                vectors = self._layers(view, ids, mask)
            else:
                method = self._denoised if view.of == "denoised" else self.method
                vectors = method.embed(self.network, Batch(ids, mask, self._reader(view)[1]))
        return vectors.to(torch.promote_types(vectors.dtype, torch.float32))

    @torch.no_grad()
    def _layers(self, view: View, ids: Tensor, mask: Tensor) -> Tensor:
        assert self.frozen is not None  # an objective with such a view sets frozen_copy
        pool = {"mean": pooling.mean_pool, "max": pooling.max_pool}[view.pool]
        states = self.frozen.states(Inputs(ids, mask), tuple(range(self.network.depth + 1)))
        return torch.stack([pool(hidden, mask) for hidden in states], dim=1)

    def save(self, out: Path, origin: JsonMapping, name: str = "") -> Bundle:
        """Write the current encoder, called `name` or as the folder, into the empty folder `out`; its manifest."""
        inference = self.base.inference
        (out / bundles.TOKENIZER).write_bytes(inference.path("tokenizer").read_bytes())
        saving.save(self.network, inference, out)
        written = hf_config.describe(out, Reference(str(out)), name=name or out.name, source=inference.source)
        fields = {key: getattr(inference, key) for key in READING}
        fields["weights_sha256"] = hashes.combine_hashes(
            [written.weights_sha256, *hashes.of_prompt(out, inference.method)]
        )
        if inference.post and self.backend.post is not None:
            post.save(self.backend.post, out)
            fields["post"] = inference.post
        fields |= {"tokenizer": bundles.TOKENIZER, "tokenizer_sha256": bundles.sha256(out / bundles.TOKENIZER)}
        return bundles.write(replace(written, dim=self.backend.dim, origin=dict(origin), **fields), out)

    def _load(self, trust: bool, precision: str) -> MaskedNetwork | CausalNetwork:
        new = self.method.needs & set(self.hyperparameters.new_parts) - self.base.parts
        loader = loading.causal if self.base.kind == "causal" else loading.masked
        network = loader(
            self.base.folder, needs=self.method.needs - new, precision=precision, device=self.device, trust=trust
        )
        for part in sorted(new):
            self._add_part(network, part)
        return network.to(self.device)

    def _add_part(self, network: MaskedNetwork | CausalNetwork, part: str) -> None:
        """Initialise a part that the base model may lack: a random pooler, or a prompt from the template's words."""
        if part == "pooler":
            if not hasattr(network.model, "pooler"):  # it would be saved but not loaded again
                raise UsageError(
                    f"a {network.model.config.model_type} has no pooler.",
                    "Use a BERT or a RoBERTa, or another template.",
                )
            linear = nn.Linear(network.width, network.width)
            nn.init.normal_(linear.weight, std=0.02)
            nn.init.zeros_(linear.bias)
            network.pooler = nn.Sequential(linear, nn.Tanh())
        elif part == "prompt":
            frame = self._tokenizer().frame(self.base.training.prompts["passage"])
            ids = torch.tensor([token for token, _ in slots(frame)], device=self.device)
            network.prompt = nn.Parameter(network.words(ids).detach().clone())

    def _freeze(self) -> None:
        """Exclude from training the parameters that the hyperparameters name."""
        for name, value in self.network.named_parameters():
            trainable = not self.hyperparameters.trainable or name.startswith(self.hyperparameters.trainable)
            if not trainable or name.removeprefix("model.").startswith(self.hyperparameters.frozen):
                value.requires_grad_(False)

    def _tokenizer(self) -> Tokenizer:
        training = self.base.training
        return Tokenizer(training.path("tokenizer"), training.max_tokens, training.tokens)

    def _reader(self, view: View) -> tuple[Tokenizer, PromptTokens]:
        prompt = self.prompt(view)
        if prompt not in self._tokenizers:
            tokenizer = self._tokenizer()
            frame = tokenizer.frame(prompt)
            tokenizer.max_tokens = min(self.base.training.max_tokens, len(frame) + self.hyperparameters.max_length)
            self._tokenizers[prompt] = tokenizer, frame
        return self._tokenizers[prompt]
