"""PyTorch back ends, on a CPU or a GPU: token-limited batches of texts of similar length, halved if memory is full."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from semsearch.encoders import device as _device
from semsearch.encoders.base import BundleBackend
from semsearch.errors import UsageError
from semsearch.models import methods, postprocessing
from semsearch.models.batching import Rows, batches_by_length, halve_when_full, pad
from semsearch.models.bundle import Bundle
from semsearch.models.methods import Batch
from semsearch.models.networks import loading
from semsearch.models.networks import post as steps
from semsearch.models.networks.causal import CausalNetwork, Past
from semsearch.models.networks.masked import MaskedNetwork
from semsearch.models.tokenization import PromptTokens, Tokenizer
from semsearch.prompts import PLACEHOLDER, Prompt
from semsearch.types import JsonMapping, JsonObject
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from semsearch.types import Vectors

CPU_TOKENS = 1024  # in a batch, with padding; 512 to 2048 are about as fast, 256 and 4096 slower
GPU_TOKENS = 65_536
MAX_TEXTS = 512
BIAS_TEXTS = 64  # rows of a bias table that are computed at once
# Beginnings of a sentence that tokenizers merge with the text before it, or that prevent merging.
BEGINNINGS = (*"aA1\"'“(-.,:#/éЖ猫😀", "the", "The", " a", "\n")
MAX_PREFIXES = 16  # cached at a time; keys and values of 60 tokens take 31 MB in a model of 7 B parameters and fp16


class Reading(NamedTuple):
    """Texts under one prompt: the tokens of each to run, and the cached prefix before them."""

    rows: Rows
    prompt: Prompt
    past: Past | None = None


class TorchBackend(BundleBackend):
    """Runs a bundle whose weights are safetensors. `embed` takes any prompt; `vectors` does not normalise.

    `width` is the vector width before post-processing, `dim` the width after it.
    """

    runtime = "PyTorch"
    network: MaskedNetwork | CausalNetwork
    load_network: ClassVar[Callable[..., MaskedNetwork | CausalNetwork]]

    def __init__(
        self,
        bundle: Bundle,
        *,
        device: str = "auto",
        threads: int = 0,
        trust: bool = False,
        network: MaskedNetwork | CausalNetwork | None = None,
        prefix_cache: bool = True,
    ) -> None:
        """`network` is already loaded and may be in training: call clear_cache() after its weights change.

        `prefix_cache`: whether a decoder runs the prompt's prefix only once, which affects speed only.
        """
        if threads:
            torch.set_num_threads(threads)
        self.bundle, self._prefix_cache = bundle, prefix_cache
        self.method = methods.make(bundle.method, bundle.options)
        if self.method.kind != "any":
            kind, causal = loading.architecture(bundle.folder, trust=trust)
            methods.check_architecture(f"method {bundle.method}", self.method.kind, bundle.name, kind, causal=causal)
        self.clear_cache()
        self.device = _device.torch_device(device)
        options = {"needs": self.method.needs, "precision": bundle.precision, "device": self.device, "trust": trust}
        self.network = self.load_network(bundle.folder, **options) if network is None else network
        self._tokenizer = self.new_tokenizer()
        self.prompts, self.max_tokens = bundle.prompts, bundle.max_tokens
        self.post: nn.Sequential | None = None  # float32 modules, one for each step of bundle.post
        self.width = self.vectors([""], bundle.prompts["passage"]).shape[1]
        self._settle(bundle, steps.load_steps(bundle, self.device))

    def _batch(self, ids: torch.Tensor, mask: torch.Tensor, prompt: Prompt, past: Past | None) -> Batch:
        """The input of the method for one batch under one prompt."""
        return Batch(ids, mask, self._tokenizer.frame(prompt), past=past)

    def _split_by_prefix(self, readings: Sequence[Reading]) -> Iterator[tuple[NDArray[np.int64], list[Reading]]]:
        """Indices of texts that run together, and these texts under each prompt."""
        yield np.arange(len(readings[0].rows)), list(readings)

    @property
    def layer(self) -> int:
        """The layer that the method reads: its option `layer`, or the last one, -1."""
        return int({**methods.options_of(self.bundle.method), **self.bundle.options}.get("layer", -1))

    def new_tokenizer(self) -> Tokenizer:
        """A tokenizer with truncation counts of its own."""
        return Tokenizer(self.bundle.path("tokenizer"), self.bundle.max_tokens, self.bundle.tokens)

    def append_post(self, module: steps.Fitted, fitted: JsonMapping) -> TorchBackend:
        """The same back end with one more post-processing step; `fitted` describes its training data."""
        changed, bundle = copy.copy(self), self.bundle
        added = replace(bundle, post=(*bundle.post, steps.step(module, fitted)), parity={}, background=())
        changed._settle(added.with_fingerprint(), nn.Sequential(*(self.post or ()), module.to(self.device)))
        return changed

    def truncate(self, dim: int) -> TorchBackend:
        """The same back end with vectors truncated to `dim`. Raises UsageError if they are narrower."""
        if dim == self.dim:
            return self
        changed, modules = copy.copy(self), list(self.post or ())
        if modules and isinstance(modules[-1], steps.Truncation):
            modules.pop()
        changed._settle(self.bundle.truncate(dim), nn.Sequential(*modules, steps.Truncation(dim)))
        return changed

    def _settle(self, bundle: Bundle, modules: nn.Sequential) -> None:
        """Install `modules`, the post-processing steps of `bundle`, without those that change nothing."""
        active = postprocessing.settled(bundle.post, self.width)
        if len(active) < len(bundle.post):
            pairs = zip(modules, bundle.post, strict=True)
            modules = nn.Sequential(*(module for module, step in pairs if any(step is one for one in active)))
            bundle = replace(bundle, post=active).with_fingerprint()
        self.post = modules if active else None
        self.dim = active[-1].dim if active else self.width
        self.bundle = replace(bundle, dim=self.dim)
        self.name, self.fingerprint = bundle.name, bundle.fingerprint

    @abstractmethod
    def clear_cache(self) -> None:
        """Drop everything computed from the weights; to be called when they change."""

    @property
    def info(self) -> JsonObject:
        return self.bundle.describe(self.device, f"torch {torch.__version__}") | {"options": dict(self.bundle.options)}

    def embed(self, texts: Sequence[str], prompt: Prompt, batch_size: int | None = None) -> Vectors:
        return unit_rows(self.vectors(texts, prompt, batch_size))

    def vectors(self, texts: Sequence[str], prompt: Prompt, batch_size: int | None = None) -> NDArray[np.float32]:
        """n texts under `prompt` -> (n, dim) float32, after post-processing, not normalised.

        Raises UsageError if the prompt does not have as many [MASK]s as the method reads, or a [PST] that it needs.
        """
        if self.method.masks != prompt.masks and (self.method.masks is not None or not prompt.masks):
            raise UsageError(
                f"method {self.bundle.method} reads {self.method.masks} [MASK]s, and the prompt has {prompt.masks}.",
                "Use a template of that method.",
                "Use a template of that method: semsearch templates list",
            )
        if (PLACEHOLDER in prompt.before, PLACEHOLDER in prompt.after) != (self.method.placeholder, False):
            raise UsageError(
                f"{PLACEHOLDER} stands before the sentence in templates of token_prepending, and in no others; the "
                f"template {prompt.text!r} is read by {self.bundle.method}.",
                "Use a template of that method.",
                "Use a template of that method: semsearch templates list",
            )
        readings = self._readings(texts, prompt)
        tokens = CPU_TOKENS if self.device == "cpu" else GPU_TOKENS
        parts: list[tuple[NDArray[np.int64], NDArray[np.float32]]] = []
        for places, some in self._split_by_prefix(readings):
            rows = list(zip(*(each.rows for each in some), strict=True))
            lengths, most = list(map(_tokens, rows)), batch_size or MAX_TEXTS
            compute = partial(self._compute, readings=some)
            for batch in batches_by_length(lengths, max_texts=most, max_tokens=tokens, pads=self.network.pads):
                chosen = [rows[at] for at in batch]
                part = halve_when_full(compute, chosen, self.device, torch.cuda.empty_cache, size=_tokens)
                parts.append((places[batch], part))
        vectors = np.empty((len(texts), parts[0][1].shape[1] if parts else self.dim), dtype=np.float32)
        for places, part in parts:
            vectors[places] = part
        return vectors

    def _readings(self, texts: Sequence[str], prompt: Prompt) -> list[Reading]:
        """The texts under every prompt of the method; truncation is counted under the first."""
        first, *others = self.method.readings(prompt)
        readings = [Reading(self._tokenizer.ids(texts, first), first)]
        with self._uncounted():
            return readings + [Reading(self._tokenizer.ids(texts, each), each) for each in others]

    @contextmanager
    def _uncounted(self) -> Iterator[None]:
        """Texts that are tokenised inside do not change the truncation counts."""
        stats = self.truncation
        before = (stats.passages, stats.tokens)
        yield
        stats.passages, stats.tokens = before

    @torch.inference_mode()
    def _compute(self, rows: Sequence[Sequence[Sequence[int]]], readings: Sequence[Reading]) -> NDArray[np.float32]:
        """The vectors of one batch; `rows` has the tokens of each text under each prompt."""
        batches = []
        for each, some in zip(readings, zip(*rows, strict=True), strict=True):
            ids, mask = (torch.from_numpy(one).to(self.device) for one in pad(some))
            batches.append(self._batch(ids, mask, each.prompt, each.past))
        first, *others = batches
        vectors = self.method.embed(self.network, replace(first, others=tuple(others)) if others else first).float()
        vectors = vectors if self.post is None else self.post(vectors)
        return np.asarray(vectors.cpu().numpy())


class MaskedBackend(TorchBackend):
    """An encoder network (BERT, RoBERTa, any other) under any method that is not limited to decoders.

    The bias of a prompt, if the method subtracts it, is computed once for every sentence length that occurs.
    """

    network: MaskedNetwork
    load_network = staticmethod(loading.masked)

    def clear_cache(self) -> None:
        self._bias: dict[Prompt, torch.Tensor] = {}

    def _batch(self, ids: torch.Tensor, mask: torch.Tensor, prompt: Prompt, past: Past | None) -> Batch:
        frame = self._tokenizer.frame(prompt)
        return Batch(ids, mask, frame, self._bias_table(prompt, frame, mask) if self.method.denoises else None)

    def _bias_table(self, prompt: Prompt, frame: PromptTokens, mask: torch.Tensor) -> torch.Tensor:
        """The vectors of the empty prompt for sentence lengths 0, 1, … up to the longest in this batch."""
        table = self._bias.get(prompt)
        start, needed = 0 if table is None else len(table), int(mask.sum(1).max()) - len(frame) + 1
        if table is None or start < needed:
            lengths = torch.arange(start, max(needed, 1), device=self.device)
            more = [self.method.bias(self.network, frame, some) for some in torch.split(lengths, BIAS_TEXTS)]
            table = torch.cat([*([] if table is None else [table]), *more])
            self._bias[prompt] = table
        return table


class CausalBackend(TorchBackend):
    """A decoder network (OPT, LLaMA, Mistral, Qwen, Gemma, GPT) under any method that is not limited to encoders.

    The prompt's prefix is run once, and its keys and values are reused for all texts. The end of the prefix is found by
    tokenising whole texts, since tokens may merge across the border of prompt and sentence; a text whose tokens do not
    begin with the prefix is run in full.
    """

    network: CausalNetwork
    load_network = staticmethod(loading.causal)

    def clear_cache(self) -> None:
        self._prefix = lru_cache(MAX_PREFIXES)(self._find_prefix)
        layer = self.layer
        self._past = lru_cache(MAX_PREFIXES)(lambda prompt: self.network.past(self._prefix(prompt), layer))

    @property
    def info(self) -> JsonObject:
        """The facts in `semsearch info`; `prefix_tokens`: length of each prompt's cached prefix."""
        return {**super().info, "prefix_tokens": {role: len(self._prefix(each)) for role, each in self.prompts.items()}}

    def _split_by_prefix(self, readings: Sequence[Reading]) -> Iterator[tuple[NDArray[np.int64], list[Reading]]]:
        """Texts that begin with the cached prefix of every prompt, without it; then all other texts."""
        prefixes = [self._prefix(each.prompt) for each in readings]
        begins = np.ones(len(readings[0].rows), dtype=bool)
        for each, prefix in zip(readings, prefixes, strict=True):
            own = (len(row) > len(prefix) > 0 and tuple(row[: len(prefix)]) == prefix for row in each.rows)
            begins &= np.fromiter(own, bool, len(each.rows))
        shared, others = np.flatnonzero(begins), np.flatnonzero(~begins)
        if shared.size:
            yield (
                shared,
                [
                    Reading(
                        [each.rows[at][len(prefix) :] for at in shared.tolist()], each.prompt, self._past(each.prompt)
                    )
                    for each, prefix in zip(readings, prefixes, strict=True)
                ],
            )
        if others.size:
            yield others, [Reading([each.rows[at] for at in others.tolist()], each.prompt) for each in readings]

    def _find_prefix(self, prompt: Prompt) -> tuple[int, ...]:
        """The first tokens of all texts under `prompt`; empty if no prefix can be reused."""
        if not self._prefix_cache or self.method.kind != "causal" or not self.network.parts:
            return ()
        with self._uncounted():  # these texts are not the user's
            prefix = _common_prefix(self._tokenizer.ids(BEGINNINGS, prompt))
        return prefix[: self.method.shared(self._tokenizer.frame(prompt))]


def _tokens(rows: Rows) -> int:
    """Tokens of one text under all prompts."""
    return sum(map(len, rows))


def _common_prefix(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The longest common prefix of all rows.

    >>> _common_prefix([[1, 7, 5], [1, 7], [1, 7, 2, 3]])
    (1, 7)
    """
    return tuple(column[0] for column in takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False)))
