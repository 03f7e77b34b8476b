"""A classifier on two vectors and their difference, whose class is the pair's label: what CoSENT is compared with.

Sources: InferSent, Conneau et al. 2017, https://arxiv.org/abs/1705.02364, section 3.1; Sentence-BERT, Reimers and
Gurevych 2019, https://arxiv.org/abs/1908.10084, section 3: softmax(W(u, v, |u − v|)), without a bias. The classifier
is dropped afterwards, and texts are compared by cosine. Settings are Sentence-BERT's (section 3.1); it reads the mean
over tokens, and here a text is read as the base says. InferSent's u · v is left out, as Sentence-BERT leaves it out
(its table 6); the code of sentence-transformers adds a bias, which the paper has not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn import functional

from semsearch.errors import UsageError
from semsearch.training.datasets.dataset import ANCHOR, POSITIVE
from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import BaseObjective, Labels, Shape, View
from semsearch.training.objectives._contrastive import linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Options:
    """None."""


class Objective(BaseObjective):
    hyperparameters = Hyperparameters(batch_size=16, learning_rate=2e-5, max_length=126, warmup=0.1)
    labels: ClassVar[Labels] = "class"

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape)
        if shape.classes < 2:
            raise UsageError(
                f"the labels name {shape.classes} classes, and a classifier needs two.",
                "Give pairs with labels 0, 1, …, or choose a method without labels: supervised.",
            )
        self.classifier = linear(3 * shape.dim, shape.classes, shape.spread, bias=False)

    @property
    def views(self) -> tuple[View, ...]:
        return View(ANCHOR), View(POSITIVE)

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """The two sides of every pair, (n, d) each, and a class for each pair (n,)."""
        assert labels is not None  # the loop hands none to an objective that has `labels`
        one, other = vectors
        scores = self.classifier(torch.cat([one, other, (one - other).abs()], dim=-1))
        return functional.cross_entropy(scores, labels.long())
