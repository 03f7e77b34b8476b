"""One training objective per file: which encodings of a text it compares, and the loss on them.

`objectives/<name>.py` has a class `Objective`; the keywords of its constructor are its options. `semsearch train
--method NAME` trains by it (`_` is written `-`). An objective never sees the network: it says in `views` what has to
be encoded, and gets the vectors. So it can be held against the formula of its paper, and the step that computes the
vectors may take them in parts (gradient caching).
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from torch import Tensor, nn

from semsearch.errors import UsageError
from semsearch.prompts import library
from semsearch.utils import plugins
from semsearch.utils.options import check_options

if TYPE_CHECKING:
    from semsearch.prompts import Prompt

ANCHOR, POSITIVE, NEGATIVE = "anchor", "positive", "negative"
SAME = "same"  # in place of a template: the anchor's own
ABOVE_ZERO = ("temperature", "scale", "rank", "alpha")  # options that are divided by, or that 0 makes nothing of
ANY_SIGN = ("hard_weight",)  # added to a logit
Labels = Literal["none", "score", "class", "teacher"]


@dataclass(frozen=True, slots=True)
class View:
    """One encoding that a loss needs: the texts of `column` under `prompt` (None: the encoder's own).

    `of` is "tuned" for the vector that the method gives, (n, d), with gradients; "layers" for what every layer of a
    frozen copy of the network says, pooled over tokens as `pool` ("mean", "max"): (n, layers + 1, h), without.
    """

    column: str = ANCHOR
    prompt: Prompt | None = None
    of: Literal["tuned", "layers"] = "tuned"
    pool: str = "mean"


@dataclass(frozen=True, slots=True)
class Shape:
    """What an objective has to know of the network: its kind (bert, roberta, causal), width h, layers, the size d of
    the method's vector, the spread of fresh weights; and of the data: its columns, and how many classes its labels
    name."""

    kind: str = "bert"
    width: int = 0
    depth: int = 0
    dim: int = 0
    spread: float = 0.02
    columns: tuple[str, ...] = (ANCHOR,)
    classes: int = 0


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the paper trains with. Every figure can be told otherwise.

    `trains` and `serves` name, by kind of network, the template that a text is read under in training, and the one
    that the trained encoder is saved with; "" is the base's own. `tokens`: of a sentence, in training. `warmup` is a
    share of the steps, or steps where it is above 1. `average` is the decay of a mean of the weights, which is then
    what is judged and saved; 0 is none. `frozen` are beginnings of names of parameters that stay as they are;
    `learns`, where it is given, of the only ones that change. `fresh` names parts that begin anew where the method
    reads them, and the base is no encoder that was trained with them: "pooler" (random), "prompt" (the vectors of the
    template's own words). `dropout`: whether the network drops out what its configuration says while it learns.
    """

    batch: int
    rate: float
    epochs: float = 1
    tokens: int = 32
    warmup: float = 0.0
    schedule: Literal["linear", "constant"] = "linear"
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    clip: float = 1.0
    eval_every: int = 125
    average: float = 0.0
    trains: Mapping[str, str] = field(default_factory=dict)
    serves: Mapping[str, str] = field(default_factory=dict)
    frozen: tuple[str, ...] = ()
    learns: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()
    dropout: bool = True


class Base(nn.Module):
    """What an objective is unless it says otherwise. Its own parameters, such as a head, learn and are then dropped.

    `labels`: none, or what the data's mean. `frozen_copy`: whether the network as it began is kept, for View "layers".
    """

    recipe: ClassVar[Recipe]
    labels: ClassVar[Labels] = "none"
    frozen_copy: ClassVar[bool] = False

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape

    @property
    def views(self) -> tuple[View, ...]:
        """What is encoded, in the order in which `loss` gets it."""
        raise NotImplementedError

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """The loss of a batch, a number: one (n, d) a view, and labels (n,) where there are any."""
        raise NotImplementedError

    def penalty(self, tuned: nn.Module, frozen: nn.Module | None) -> Tensor | None:
        """What is added for the parameters themselves; None for nothing. `frozen` is the network as it began."""
        return None

    def teaches(self, labels: Sequence[float]) -> bool:
        """Whether a batch with these labels can teach anything."""
        return True

    @classmethod
    def weights(cls, device: str, options: Mapping[str, Any]) -> str:
        """The precision that the base's weights are loaded in, of networks.loading. All of them learn in fp32."""
        return "fp32"

    @classmethod
    def prepare(cls, network: Any, options: Mapping[str, Any]) -> None:
        """Change the network before it learns, such as by adding adapters. `options` are all of the objective's."""


def make(name: str, shape: Shape, options: Mapping[str, Any] | None = None) -> Base:
    """The objective called `name` with these options. Raises UnknownName for either, UsageError for a wrong value."""
    made: Base = kind(name)(shape, **checked(name, options or {}))
    return made


def kind(name: str) -> Any:
    """The class of the objective called `name`. Raises UnknownName."""
    return plugins.load(sys.modules[__name__], name.replace("-", "_")).Objective


def options_of(name: str) -> dict[str, Any]:
    """What the objective called `name` can be told, and what holds where it is not. Raises UnknownName."""
    told = inspect.signature(kind(name).__init__).parameters.values()
    return {each.name: each.default for each in told if each.kind is inspect.Parameter.KEYWORD_ONLY}


def checked(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """`options` as the objective called `name` takes them. Raises UnknownName, and UsageError for a wrong value."""
    found = check_options(f"training method {name}", options, options_of(name))
    for option, value in found.items():
        if type(value) in (int, float) and not _is_possible(option, value):
            expected = "above 0" if option in ABOVE_ZERO else "finite" if option in ANY_SIGN else "0 or more"
            raise UsageError(f"option {option} of {name} cannot be {value!r}.", f"It has to be {expected}.")
    return found


def classes(labels: Sequence[float]) -> int:
    """How many classes 0, 1, … these labels name. Raises UsageError where they are something else.

    >>> classes([0, 2, 1, 0])
    3
    """
    wrong = next((each for each in labels if each < 0 or each != int(each)), None)
    if wrong is not None:
        raise UsageError(
            f"a label of the data is {wrong}, which is no class.",
            "Classes are 0, 1, 2, …; for scores: --method cosent.",
        )
    return 1 + int(max(labels, default=0))


def _is_possible(option: str, value: float) -> bool:
    if not math.isfinite(value):
        return False
    return value > 0 if option in ABOVE_ZERO else value >= 0 or option in ANY_SIGN


def another(template: str, usual: str) -> View:
    """The anchor's text once more: under `template`, under `usual` where that is "", or as it was where it is "same".

    What is read twice in the same way differs by dropout alone.
    """
    return View() if template == SAME else View(prompt=named(template or usual))


def named(name: str) -> Prompt:
    """The template that `name` means, as passages are read under it: of the library, a file's, or a text with [X]."""
    return library.resolve(name).prompts["passage"]
