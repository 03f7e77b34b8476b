"""Learner: the network that is being trained, read the way its objective asks for, in parts that memory holds.

A text is read in training as it will be read afterwards: under the same prompt and its rules (the released code of
PromptBERT and CoT-BERT puts no full stop behind a sentence in training, and one in the test). Of a sentence the
first `tokens` tokens are read, and the prompt always whole.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from semsearch import bundle as bundles
from semsearch import checkpoints, methods, pooling
from semsearch.batching import Frame, Tokenizer, by_length, padded
from semsearch.bundle import Bundle
from semsearch.encoders import _device
from semsearch.encoders.causal_encoder import CausalEncoder
from semsearch.encoders.torch_encoder import TorchEncoder
from semsearch.errors import UsageError
from semsearch.methods import Batch
from semsearch.methods.optiprompt import slots
from semsearch.networks import loading, saving
from semsearch.networks.masked import Inputs
from semsearch.objectives import Recipe, Shape, View
from semsearch.prompts import Prompt
from semsearch.reference import Reference

ROBERTA = ("roberta", "xlm-roberta", "camembert")
KINDS = ("bert", "roberta", "causal")
CPU_TOKENS, GPU_TOKENS = 1024, 65_536  # that run together, padding included

Prepare = Callable[[Any], None]  # what is done to a network before it is trained, such as adding adapters


@dataclass(frozen=True, slots=True)
class Base:
    """What is trained: the reference it was named by, its folder, and how it is read in training and afterwards.

    `parts` are those of its checkpoint that it was trained with already, such as a pooler.
    """

    reference: Reference
    folder: Path
    trains: Bundle
    serves: Bundle
    parts: frozenset[str] = frozenset()

    @property
    def causal(self) -> bool:
        return checkpoints.is_causal(self.folder)


def base(name: str | Path, recipe: Recipe, *, trust: bool = False) -> Base:
    """What `name` is, under the templates of `recipe` where it names none itself.

    Raises NotFound, and UsageError for an ONNX encoder, or where the recipe has no template for such a model.
    """
    reference = Reference.parse(name)
    folder = bundles.find(reference.model, reference.revision)
    learned: frozenset[str] = frozenset()
    if (folder / bundles.MANIFEST).is_file():
        saved = bundles.read(folder)
        if saved.weights.endswith(bundles.ONNX):
            raise UsageError(
                f"{reference.model} is an exported encoder: ONNX weights cannot be trained.",
                "Name the model it was made from: a folder with config.json and model.safetensors.",
            )
        learned = methods.make(saved.method, saved.options).needs
        if not reference.template and not recipe.trains:
            return Base(reference, folder, saved, saved, learned)
    kind = family(loading.architecture(folder, trust=trust))
    entry = bundles.catalogue().get(reference.model, {}).get("template")
    trains, serves = (
        checkpoints.describe(folder, _under(reference, told, kind, entry), name=reference.model, trust=trust)
        for told in (recipe.trains, recipe.serves or recipe.trains)
    )
    return Base(reference, folder, trains, serves, learned)


def _under(reference: Reference, templates: Any, kind: str, usual: str | None) -> Reference:
    if reference.template or not templates:
        return reference if reference.template or not usual else reference.with_(template=usual)
    if kind not in templates:
        raise UsageError(
            f"this way of training has no template for {reference.model}, a model of the kind {kind}.",
            f"It trains models of the kind {' or '.join(templates)}; or name a template: {reference.model}#TEMPLATE",
        )
    return reference.with_(template=templates[kind])


def family(architecture: tuple[str, bool]) -> str:
    """bert, roberta or causal: which templates of the papers suit a model."""
    kind, decodes = architecture
    return "causal" if decodes else "roberta" if kind in ROBERTA else "bert"


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
        engine = CausalEncoder if base.causal else TorchEncoder
        self.engine = engine(base.serves, device=device, trust=trust, network=self.network)
        if prepare is not None:
            prepare(self.network)
        self._hold()
        self._tokenizers: dict[Prompt, tuple[Tokenizer, Frame]] = {}

    @property
    def shape(self) -> Shape:
        """What an objective has to know; the columns are the data's."""
        config = self.network.model.config
        spread = float(getattr(config, "initializer_range", None) or getattr(config, "init_std", None) or 0.02)
        width, depth = self.network.width, self.network.depth
        kind = family(loading.architecture(self.base.folder))
        return Shape(kind=kind, width=width, depth=depth, dim=self.engine.dim, spread=spread)

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """Those that learn, by name."""
        return {name: value for name, value in self.network.named_parameters() if value.requires_grad}

    def train(self) -> None:
        """Dropout on."""
        self.network.train()

    def encode(self, texts: Sequence[str]) -> Any:
        """(n, d) unit rows as the trained encoder will give them, without dropout."""
        self.network.train(False)
        self.engine.forget()
        return self.engine.encode(texts, role="passage")

    def rows(self, view: View, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of `texts` under the view's prompt."""
        return self._reader(view)[0].ids(texts, self.prompt(view))

    def prompt(self, view: View) -> Prompt:
        return view.prompt if view.prompt is not None else self.base.trains.prompts["passage"]

    def parts(self, view: View, rows: Sequence[Sequence[int]], most_texts: int) -> Iterator[Any]:
        """Places of rows that run together, of like length."""
        budget = CPU_TOKENS if self.device == "cpu" else GPU_TOKENS
        yield from by_length([len(row) for row in rows], most_texts=most_texts or len(rows), most_tokens=budget)

    def vectors(self, view: View, rows: Sequence[Sequence[int]]) -> Tensor:
        """What `view` sees in these rows, float32: (n, d) with gradients, or (n, layers + 1, h) of the frozen copy."""
        ids, mask = (torch.from_numpy(each).to(self.device) for each in padded(rows))
        with self._autocast():
            if view.of == "layers":
                return self._layers(view, ids, mask).float()
            batch = Batch(ids, mask, self._reader(view)[1])
            return self.method.embed(self.network, batch).float()

    @torch.no_grad()
    def _layers(self, view: View, ids: Tensor, mask: Tensor) -> Tensor:
        if self.frozen is None:
            raise UsageError("this objective needs a frozen copy of the network.", "Train with frozen_copy.")
        pool = {"mean": pooling.mean_pool, "max": pooling.max_pool}[view.pool]
        states = self.frozen.states(Inputs(ids, mask), tuple(range(self.network.depth + 1)))
        return torch.stack([pool(hidden, mask) for hidden in states], dim=1)

    def save(self, out: Path, told: dict[str, Any]) -> Bundle:
        """Write the encoder as it is now into the empty folder `out`; its manifest, with `told` of how it was made."""
        saving.save(self.network, self.base.folder, out, pipeline=self.base.serves.method == "sentence_transformer")
        tokenizer = self.base.serves.path("tokenizer")
        (out / bundles.TOKENIZER).write_bytes(tokenizer.read_bytes())
        return bundles.write(described(self.base, out, self.engine.dim, told), out)

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

    def _reader(self, view: View) -> tuple[Tokenizer, Frame]:
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


def described(base: Base, out: Path, dim: int, told: dict[str, Any]) -> Bundle:
    """The manifest of the trained encoder whose files lie in `out`."""
    written = checkpoints.describe(out, Reference(str(out)), name=out.name)
    serves = base.serves
    return replace(
        written,
        name=out.name,
        method=serves.method,
        options=serves.options,
        layer=serves.layer,
        pooling=serves.pooling,
        normalize=serves.normalize,
        prompts=serves.prompts,
        max_tokens=serves.max_tokens,
        tokens=serves.tokens,
        dim=dim,
        licence=serves.licence,
        source=serves.source,
        origin=told,
    )
