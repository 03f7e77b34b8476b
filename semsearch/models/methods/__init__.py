"""One encoder method per file: how hidden states become the vector of a text.

`methods/<name>.py` has a frozen dataclass `Method`, whose fields are the method's options; what it does in `embed` is
trained, run in Torch and traced for ONNX alike, so that there is no second implementation. Its prompts are data, in
semsearch.prompts. Which templates use which method is said there.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from semsearch.errors import UnknownName, UsageError
from semsearch.types import JsonObject
from semsearch.utils import plugins
from semsearch.utils.options import check_options

if TYPE_CHECKING:
    from torch import Tensor

    from semsearch.models.tokenization import PromptTokens


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts under one prompt: ids and mask (n, t), padded on the right, and the prompt's own tokens.

    `bias` (l, h) is the vector of the prompt around l = 0, 1, … tokens of nothing; without it, a method that takes
    it away computes the rows it needs, with gradients. `past` holds the keys and values of a prefix that every row
    shares; ids and mask are then what follows it. Only methods of kind "causal" are given one.
    """

    ids: Tensor
    mask: Tensor
    frame: PromptTokens
    bias: Tensor | None = None
    past: Any = None

    @property
    def lengths(self) -> Tensor:
        """Tokens of each sentence alone: (n,)."""
        return self.mask.sum(1) - len(self.frame)


class Method(Protocol):
    """`kind`: "masked" runs on encoders alone, "causal" on decoders alone, "any" on both.

    `masks`: how many [MASK]s its prompt needs; None for one or more, 0 for a prompt without. `needs` names parts of
    the checkpoint: transform, decoder, pooler, prompt, folders of modules. `denoises`: whether a bias is taken away.
    """

    kind: ClassVar[str]

    @property
    def masks(self) -> int | None: ...
    @property
    def needs(self) -> frozenset[str]: ...
    @property
    def denoises(self) -> bool: ...
    def embed(self, network: Any, batch: Batch) -> Tensor:
        """(n, d), differentiable, not of length 1."""
        ...

    def bias(self, network: Any, frame: PromptTokens, lengths: Tensor) -> Tensor:
        """The vector of the prompt around `lengths` (l,) tokens of nothing: (l, d). Only where `denoises`."""
        ...


def make(name: str, options: Mapping[str, Any] | None = None) -> Method:
    """The method called `name` with these options. Raises UnknownName for either, UsageError for a wrong value."""
    method: Method = _class(name)(**check_options(f"method {name}", options or {}, options_of(name)))
    return method


def check_name(name: str) -> str:
    """`name`, where there is a method of that name. Raises UnknownName, without importing the method."""
    known = plugins.names(sys.modules[__name__])
    if name not in known:
        raise UnknownName("method", name, known)
    return name


def options_of(name: str) -> JsonObject:
    """What the method called `name` can be told, and what holds where it is not."""
    return {field.name: field.default for field in fields(_class(name))}


def _class(name: str) -> Any:
    return plugins.load(sys.modules[__name__], name).Method


def chosen(option: str, value: str, choices: tuple[str, ...]) -> None:
    """UsageError where an option's value is none of `choices`."""
    if value not in choices:
        listed = ", ".join(choice or "''" for choice in choices)
        raise UsageError(f"{option} cannot be {value!r}.", f"Choose from: {listed}.")
