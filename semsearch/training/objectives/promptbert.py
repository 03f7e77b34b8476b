"""PromptBERT and PromptRoBERTa without labels: a text under two templates, each freed of its own bias.

Source: Jiang et al. 2022, https://arxiv.org/abs/2201.04337: eq. 5, sections 4.3 and 4.4, tables 14 and 15. The bias is
taken away by the method (denoise=position), and only in training. For table 8: a base that names a template without
denoising (BASE#promptbert) trains without it, and `positive="same"` contrasts one template with itself, under dropout;
any other `positive` is a template.

The paper does not say that Linear and Tanh stand behind the difference while it is trained; the released code has
them, and drops them afterwards. It gives RoBERTa's bias the positions 0, 1, … in place of 2, 3, … (the template
promptroberta-denoised-released), computes a table of 50 biases in place of the lengths that there are, fails beyond,
takes them away in the scores that choose a checkpoint too, and puts no full stop behind a sentence in training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import BaseObjective, Shape, View, template_view
from semsearch.training.objectives._contrastive import TEMPERATURE, info_nce, tanh_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

SECOND = {"bert": "promptbert-t2", "roberta": "promptroberta-t2"}


@dataclass(frozen=True, slots=True)
class Options:
    temperature: float = TEMPERATURE
    positive: str = ""
    head: bool = True


class Objective(BaseObjective):
    hyperparameters = Hyperparameters(
        batch_size=256,
        learning_rate=1e-5,
        training_templates={"bert": "promptbert-denoised", "roberta": "promptroberta-denoised"},
        inference_templates={"bert": "promptbert", "roberta": "promptroberta"},
    )

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape)
        self.options = options
        self.head = tanh_head(shape.dim, shape.spread) if options.head else nn.Identity()

    @property
    def views(self) -> tuple[View, ...]:
        return View(), template_view(self.options.positive, SECOND.get(self.shape.kind, SECOND["bert"]))

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """Two (n, d), less their templates' biases, before the head."""
        anchors, positives = (self.head(each) for each in vectors)
        return info_nce(anchors, positives, self.options.temperature)
