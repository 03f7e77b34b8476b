"""The base class of objectives, and the views that they ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from semsearch.models.networks.masked import Network
from semsearch.prompts import Prompt, library
from semsearch.training.datasets.dataset import ANCHOR, Labels
from semsearch.training.hyperparameters import Hyperparameters, Shape

# Metadata of a numeric field of `Options`; without any, the option has to be 0 or more.
ABOVE_ZERO: Mapping[str, str] = {"range": "above 0"}  # a divisor, or an option for which 0 is meaningless
ANY_SIGN: Mapping[str, str] = {"range": "finite"}
SAME = "same"  # in place of a template: the anchor's own


@dataclass(frozen=True, slots=True)
class View:
    """One encoding that a loss needs: the texts of `column` under `prompt` (None: the encoder's own).

    `of` is "tuned" for the vector of the method, (n, d), with gradients; "denoised" for the same without the bias of
    its prompt; "layers" for every hidden layer of a frozen copy of the network, pooled over tokens by `pool` ("mean",
    "max"): (n, layers + 1, h), without gradients.
    """

    column: str = ANCHOR
    prompt: Prompt | None = None
    of: Literal["tuned", "denoised", "layers"] = "tuned"
    pool: str = "mean"


class BaseObjective(nn.Module):
    """The base class of objectives. Parameters of its own, such as a head, are trained and then dropped.

    `labels`: what `loss` takes besides vectors. `frozen_copy`: whether it needs a copy of the initial network, for
    views of "layers". `options` are the `Options` of the subclass's module.
    """

    hyperparameters: ClassVar[Hyperparameters]
    labels: ClassVar[Labels] = "none"
    frozen_copy: ClassVar[bool] = False

    def __init__(self, shape: Shape, options: Any = None) -> None:
        super().__init__()
        self.shape, self.options = shape, options

    @property
    def views(self) -> tuple[View, ...]:
        """The encodings that `loss` takes, in this order."""
        raise NotImplementedError

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """The loss of a batch, a scalar: one (n, d) per view, and labels (n,) where there are any."""
        raise NotImplementedError

    def penalty(self, tuned: nn.Module, frozen: nn.Module | None) -> Tensor | None:
        """A term on the parameters that is added to the loss, or None. `frozen` is the initial network."""
        return None

    def teaches(self, labels: Sequence[float]) -> bool:
        """Whether a batch with these labels has a gradient."""
        return True

    @classmethod
    def base_precision(cls, device: str, options: Any) -> str:
        """The precision that the base model's weights are loaded in, as networks.loading names it."""
        return "fp32"

    @classmethod
    def prepare(cls, network: Network, options: Any) -> None:
        """Change the network before training, for example by adding adapters."""


def template_view(template: str, default: str) -> View:
    """The anchor's text under another template: `template`, `default` where it is "", the anchor's own for "same".

    Two views under the same template differ by dropout alone.
    """
    return View() if template == SAME else View(prompt=passage_prompt(template or default))


def passage_prompt(name: str) -> Prompt:
    """The prompt for passages of a template: of the library, a file, or a text with [X]."""
    return library.resolve(name).prompts["passage"]
