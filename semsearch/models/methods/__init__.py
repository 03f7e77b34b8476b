"""One encoder method per file: how hidden states become the vector of a text.

`methods/<name>.py` has a frozen dataclass `Method(BaseMethod)`, whose fields are the method's options; its `embed`
serves training, inference in PyTorch and the ONNX export alike, so there is no second implementation. The templates
that use a method are data, in semsearch.prompts.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from semsearch.errors import UnknownName, UsageError
from semsearch.prompts import Prompt, parse
from semsearch.types import JsonMapping, JsonObject
from semsearch.utils import plugins
from semsearch.utils.plugins import check_options

if TYPE_CHECKING:
    from torch import Tensor

    from semsearch.models.networks.causal import Past
    from semsearch.models.networks.masked import Inputs
    from semsearch.models.tokenization import PromptTokens


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts under one prompt: ids and mask (n, t), padded on the right, and the prompt's own tokens.

    `bias` (l, h) is the vector of the empty prompt for sentence lengths l = 0, 1, …; without it, a method that
    subtracts it computes the rows it needs, with gradients. `past` has the keys and values of a prefix that every
    row shares; ids and mask are then those after it. It is set for methods of kind "causal" only. `others` are the same
    texts under the other prompts of BaseMethod.readings().
    """

    ids: Tensor
    mask: Tensor
    frame: PromptTokens
    bias: Tensor | None = None
    past: Past | None = None
    others: tuple[Batch, ...] = ()

    @property
    def lengths(self) -> Tensor:
        """Tokens of each sentence alone: (n,)."""
        return self.mask.sum(1) - len(self.frame)


class BaseMethod:
    """Base class of methods. By default a method runs on any network and needs no [MASK], no head and no bias.

    `kind`: "masked" runs on encoders only, "causal" on decoders only, "any" on both. `placeholder`: whether its prompts
    have a [PST] before the sentence.
    """

    __slots__ = ()
    kind: ClassVar[str] = "any"
    placeholder: ClassVar[bool] = False

    @property
    def masks(self) -> int | None:
        """The number of [MASK]s in its prompt; None for one or more."""
        return 0

    @property
    def needs(self) -> frozenset[str]:
        """Required parts of the checkpoint: transform, decoder, pooler, prompt, folders of modules."""
        return frozenset()

    @property
    def denoises(self) -> bool:
        """Whether it subtracts the prompt's bias, as chosen by its option `denoise`."""
        return bool(getattr(self, "denoise", ""))

    def readings(self, prompt: Prompt) -> tuple[Prompt, ...]:
        """The prompts under which each text is read for one vector: `prompt`, and those of Batch.others."""
        return (prompt,)

    def shared(self, frame: PromptTokens) -> int | None:
        """How many tokens at the beginning of a decoder's prompt do not depend on the sentence; None: all before it."""
        return None

    def embed(self, network: Any, batch: Batch) -> Tensor:
        """(n, d), differentiable, not normalised."""
        raise NotImplementedError

    def empty(self, network: Any, frame: PromptTokens, lengths: Tensor) -> Inputs:
        """The empty prompt as it is run for each sentence length in `lengths` (l,): l rows. Only if `denoises`."""
        raise NotImplementedError

    def bias(self, network: Any, frame: PromptTokens, lengths: Tensor) -> Tensor:
        """The vector of the empty prompt for each sentence length in `lengths` (l,): (l, d). Only if `denoises`."""
        raise NotImplementedError


def make(name: str, options: JsonMapping | None = None) -> BaseMethod:
    """The method called `name` with these options. Raises UnknownName for either, UsageError for an invalid value."""
    method: BaseMethod = _class(name)(**check_options(f"method {name}", options or {}, options_of(name)))
    return method


def check_name(name: str) -> str:
    """`name` itself. Raises UnknownName if no method has it; the method is not imported."""
    choices = plugins.names(sys.modules[__name__])
    if name not in choices:
        raise UnknownName("method", name, choices)
    return name


def options_of(name: str) -> JsonObject:
    """The options of the method called `name`, with their defaults."""
    return {field.name: field.default for field in fields(_class(name))}


def under(prompt: Prompt, text: str) -> Prompt:
    """The template `text` with the rules of `prompt`. Raises UsageError for a text without exactly one slot."""
    parsed = parse(text)
    return replace(prompt, before=parsed.before, after=parsed.after)


def check_architecture(what: str, kind: str, model: str, model_type: str, *, causal: bool) -> None:
    """UsageError if `what`, a template or method of this `kind` (see BaseMethod), does not fit `model`."""
    if kind == "masked" and causal:
        kinds, actual, names = "encoders", "a decoder", "prompteol, pretended-cot, knowledge-enhancement or mean"
    elif kind == "causal" and not causal:
        kinds, actual = "decoders", "an encoder"
        names = "promptbert, cot-bert or mean, or a model such as OPT, LLaMA or Mistral"
    else:
        return
    raise UsageError(
        f"{what} is for {kinds}, and {model} ({model_type}) is {actual}.",
        f"Use the template {names}.",
        f"Use --template {names}.",
    )


def _class(name: str) -> Any:
    return plugins.load(sys.modules[__name__], name).Method


def chosen(option: str, value: str, choices: tuple[str, ...]) -> None:
    """Raises UsageError if an option's value is not one of `choices`."""
    if value not in choices:
        listed = ", ".join(choice or "''" for choice in choices)
        raise UsageError(f"{option} cannot be {value!r}.", f"Choose from: {listed}.")
