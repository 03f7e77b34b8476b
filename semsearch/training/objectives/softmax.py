"""A classifier of pairs on both vectors and their difference, the baseline of CoSENT.

Sources: InferSent, Conneau et al. 2017, https://arxiv.org/abs/1705.02364, section 3.1; Sentence-BERT, Reimers and
Gurevych 2019, https://arxiv.org/abs/1908.10084, section 3: softmax(W(u, v, |u − v|)), without a bias. The classifier
is dropped after training, and texts are compared by cosine. The settings are Sentence-BERT's (section 3.1); it takes
the mean over tokens, here the base decides how a text is read. InferSent's u · v is left out, as in Sentence-BERT
(its table 6); the code of sentence-transformers has a bias, which the paper does not mention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from semsearch.errors import UsageError
from semsearch.training.datasets.dataset import ANCHOR, POSITIVE
from semsearch.training.hyperparameters import Hyperparameters, Shape
from semsearch.training.objectives._base import BaseObjective, View
from semsearch.training.objectives._contrastive import linear


@dataclass(frozen=True, slots=True)
class Options:
    """None."""


class Objective(BaseObjective):
    hyperparameters = Hyperparameters(batch_size=16, learning_rate=2e-5, max_length=126, warmup=0.1)
    labels = "class"
    views = (View(ANCHOR), View(POSITIVE))

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape, options)
        if shape.classes < 2:
            raise UsageError(
                f"the labels name {shape.classes} classes, and a classifier needs two.",
                "Give pairs with labels 0, 1, …, or choose a method without labels: supervised.",
            )
        self.classifier = linear(3 * shape.dim, shape.classes, shape.spread, bias=False)

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """The two sides of every pair, (n, d) each, and a class for each pair (n,)."""
        assert labels is not None  # the loop passes labels to an objective that declares `labels`
        one, other = vectors
        scores = self.classifier(torch.cat([one, other, (one - other).abs()], dim=-1))
        return functional.cross_entropy(scores, labels.long())
