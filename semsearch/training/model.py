"""Learner: the network that is being trained, read the way its objective asks for, in parts that memory holds.

A text is read in training as it will be read afterwards: under the same prompt and its rules (the released code of
PromptBERT and CoT-BERT puts no full stop behind a sentence in training, and one in the test). Of a sentence the
first `tokens` tokens are read, and the prompt always whole.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from semsearch.encoders import device as _device
from semsearch.encoders.causal import CausalBackend
from semsearch.encoders.torch import MaskedBackend
from semsearch.errors import UsageError
from semsearch.models import bundle as bundles
from semsearch.models import hf_config, methods, pooling
from semsearch.models import safetensors_files as hashes
from semsearch.models.batching import batches_by_length, pad
from semsearch.models.bundle import Bundle
from semsearch.models.methods import Batch
from semsearch.models.methods.optiprompt import slots
from semsearch.models.model_ref import Reference
from semsearch.models.networks import loading, saving
from semsearch.models.networks.masked import Inputs
from semsearch.models.tokenization import PromptTokens, Tokenizer
from semsearch.prompts import Prompt
from semsearch.training.bases import Base
from semsearch.training.objectives import Recipe, Shape, View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

CPU_TOKENS, GPU_TOKENS = 1024, 65_536  # that run together, padding included
# what of a manifest says how a text is read, and under which terms
READING = ("method", "options", "layer", "pooling", "normalize", "prompts", "max_tokens", "tokens", "licence")
Rows = Sequence[Sequence[int]]

Prepare = Callable[[Any], None]  # what is done to a network before it is trained, such as adding adapters


class Learner:
    """The network of `base`, on `device`, and what reads texts by it. `prepare` may change it before it learns."""

    def __init__(
        self,
        base: Base,
        recipe: Recipe,
        *,
        device: str = "auto",
        precision: str = "fp32",
        trust: bool = False,
        frozen_copy: bool = False,
        prepare: Prepare | None = None,
        weights: str = "fp32",
    ) -> None:
        self.base, self.recipe, self.precision = base, recipe, precision
        self.device = _device.torch_device(device)
        self.method = methods.make(base.trains.method, base.trains.options)
        self.network = self._opened(trust, weights)
        self.frozen = copy.deepcopy(self.network).train(False).requires_grad_(False) if frozen_copy else None
        engine = CausalBackend if base.causal else MaskedBackend
        self.engine = engine(base.serves, device=device, trust=trust, network=self.network)
        if prepare is not None:
            prepare(self.network)
        self._hold()
        self._tokenizers: dict[Prompt, tuple[Tokenizer, PromptTokens]] = {}

    @property
    def shape(self) -> Shape:
        """What an objective has to know of the network; what it has to know of the data is not in it."""
        config = self.network.model.config
        spread = float(getattr(config, "initializer_range", None) or getattr(config, "init_std", None) or 0.02)
        width, depth = self.network.width, self.network.depth
        return Shape(kind=self.base.kind, width=width, depth=depth, dim=self.engine.dim, spread=spread)

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """Those that learn, by name."""
        return {name: value for name, value in self.network.named_parameters() if value.requires_grad}

    def train(self) -> None:
        """Dropout on, where the recipe has it."""
        self.network.train(self.recipe.dropout)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(n, d) unit rows as the trained encoder will give them, without dropout."""
        self.network.train(False)
        self.engine.clear_cache()
        found: Vectors = self.engine.encode(texts, role="passage")
        return found

    def rows(self, view: View, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of `texts` under the view's prompt."""
        return self._reader(view)[0].ids(texts, self.prompt(view))

    def prompt(self, view: View) -> Prompt:
        return view.prompt if view.prompt is not None else self.base.trains.prompts["passage"]

    def parts(self, view: View, rows: Rows, most_texts: int) -> Iterator[NDArray[np.int64]]:
        """Places of rows that run together, of like length; of one length where the network sees padding."""
        budget = CPU_TOKENS if self.device == "cpu" else GPU_TOKENS
        texts, pads = most_texts or len(rows), self.network.pads
        return batches_by_length([len(row) for row in rows], max_texts=texts, max_tokens=budget, pads=pads)

    def vectors(self, view: View, rows: Rows) -> Tensor:
        """What `view` sees in these rows: (n, d) with gradients, or (n, layers + 1, h) of the frozen copy without.

        float32, or float64 where the network is.
        """
        ids, mask = (torch.from_numpy(each).to(self.device) for each in pad(rows))
        with self._autocast():
            if view.of == "layers":
                found = self._layers(view, ids, mask)
            else:
                found = self.method.embed(self.network, Batch(ids, mask, self._reader(view)[1]))
        return found.to(torch.promote_types(found.dtype, torch.float32))

    @torch.no_grad()
    def _layers(self, view: View, ids: Tensor, mask: Tensor) -> Tensor:
        if self.frozen is None:
            raise UsageError("this objective needs a frozen copy of the network.", "Train with frozen_copy.")
        pool = {"mean": pooling.mean_pool, "max": pooling.max_pool}[view.pool]
        states = self.frozen.states(Inputs(ids, mask), tuple(range(self.network.depth + 1)))
        return torch.stack([pool(hidden, mask) for hidden in states], dim=1)

    def save(self, out: Path, told: Mapping[str, Any], name: str = "") -> Bundle:
        """Write the encoder as it is now into the empty folder `out`; its manifest, with `told` of how it was made.

        `name` is what the encoder is called, where that is not the folder's.
        """
        serves = self.base.serves
        (out / bundles.TOKENIZER).write_bytes(serves.path("tokenizer").read_bytes())
        saving.save(self.network, serves, out)
        written = hf_config.describe(out, Reference(str(out)), name=name or out.name, source=serves.source)
        known = {key: getattr(serves, key) for key in READING}
        known["weights_sha256"] = hashes.combine_hashes([written.weights_sha256, *hashes.of_prompt(out, serves.method)])
        known |= {"tokenizer": bundles.TOKENIZER, "tokenizer_sha256": bundles.sha256(out / bundles.TOKENIZER)}
        return bundles.write(replace(written, dim=self.engine.dim, origin=dict(told), **known), out)

    def _opened(self, trust: bool, weights: str) -> Any:
        fresh = self.method.needs & set(self.recipe.fresh) - self.base.parts
        opener = loading.causal if self.base.causal else loading.masked
        network = opener(
            self.base.folder, needs=self.method.needs - fresh, precision=weights, device=self.device, trust=trust
        )
        for part in sorted(fresh):
            self._make(network, part)
        return network.to(self.device)

    def _make(self, network: Any, part: str) -> None:
        """A part that the base need not have: a random pooler, or a prompt of the template's own words."""
        if part == "pooler":
            if not hasattr(network.model, "pooler"):  # it would be saved, and not be found again
                raise UsageError(
                    f"a {network.model.config.model_type} has no pooler.",
                    "Use a BERT or a RoBERTa, or another template.",
                )
            linear = nn.Linear(network.width, network.width)
            nn.init.normal_(linear.weight, std=0.02)
            nn.init.zeros_(linear.bias)
            network.pooler = nn.Sequential(linear, nn.Tanh())
        elif part == "prompt":
            tokenizer = Tokenizer(self.base.trains.path("tokenizer"), self.base.trains.max_tokens, self._tokens)
            frame = tokenizer.frame(self.base.trains.prompts["passage"])
            ids = torch.tensor([token for token, _ in slots(frame)], device=self.device)
            network.prompt = nn.Parameter(network.words(ids).detach().clone())

    def _hold(self) -> None:
        """Keep from learning what the recipe says stays as it is."""
        for name, value in self.network.named_parameters():
            own = name.removeprefix("model.")
            if own.startswith(self.recipe.frozen or ("\0",)):
                value.requires_grad_(False)
            if self.recipe.learns and not name.startswith(self.recipe.learns):
                value.requires_grad_(False)

    @property
    def _tokens(self) -> Any:
        return self.base.trains.tokens

    def _reader(self, view: View) -> tuple[Tokenizer, PromptTokens]:
        prompt = self.prompt(view)
        if prompt not in self._tokenizers:
            trains = self.base.trains
            whole = Tokenizer(trains.path("tokenizer"), trains.max_tokens, trains.tokens)
            frame = whole.frame(prompt)
            whole.max_tokens = min(trains.max_tokens, len(frame) + self.recipe.tokens)
            self._tokenizers[prompt] = whole, frame
        return self._tokenizers[prompt]

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.precision == "fp32":
            return nullcontext()
        return torch.autocast(self.device.partition(":")[0], dtype=torch.bfloat16)
