"""SG-OPT: the tuned [CLS] should be close to every layer's view of its text, and far from those of other texts.

Source: Kim et al. 2021, https://arxiv.org/abs/2106.07345: L^opt of section 3.2, settings of table 8; options as in SG.
`ablation` is a step on the way to it (table 5): "opt1" no longer separates the frozen views from each other, "opt2"
not the tuned vectors either; both see one random layer for each text. "opt2-released" is opt2 as in the released code,
which leaves out one of the other texts. The other differences of that code are listed in SG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from semsearch.models.methods import chosen
from semsearch.training.hyperparameters import Shape
from semsearch.training.objectives import _self_guided
from semsearch.training.objectives._contrastive import info_nce
from semsearch.training.objectives._self_guided import SelfGuidedObjective, opt1, opt2_released, opt3, sampled

Loss = Callable[[Tensor, Tensor, float], Tensor]
ABLATIONS: dict[str, Loss] = {"opt1": opt1, "opt2": info_nce, "opt2-released": opt2_released}


@dataclass(frozen=True, slots=True)
class Options(_self_guided.Options):
    ablation: str = ""


class Objective(SelfGuidedObjective):
    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape, options)
        chosen("ablation", options.ablation, ("", *ABLATIONS))

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """The tuned vectors (b, d), and every layer's views (b, l + 1, d)."""
        tuned, views = self.projected(vectors)
        if not self.options.ablation:
            return opt3(tuned, views, self.options.temperature)
        return ABLATIONS[self.options.ablation](tuned, sampled(views), self.options.temperature)
