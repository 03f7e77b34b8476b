"""Contrast of labelled pairs, with hard negatives where the data has them; shared by supervised and qlora."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semsearch.training.datasets.dataset import ANCHOR, NEGATIVE, POSITIVE
from semsearch.training.objectives._base import BaseObjective, Shape, View
from semsearch.training.objectives._contrastive import info_nce, with_negatives

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


class PairObjective(BaseObjective):
    """InfoNCE of anchors and positives, or of anchors, positives and hard negatives."""

    def __init__(self, shape: Shape, temperature: float, hard_weight: float) -> None:
        super().__init__(shape)
        self.temperature, self.hard_weight = temperature, hard_weight

    @property
    def views(self) -> tuple[View, ...]:
        hard = (View(NEGATIVE),) if NEGATIVE in self.shape.columns else ()
        return View(ANCHOR), View(POSITIVE), *hard

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """Anchors, positives, and negatives where there are any: (n, d) each."""
        anchors, positives, *negatives = vectors
        if not negatives:
            return info_nce(anchors, positives, self.temperature)
        return with_negatives(anchors, positives, negatives[0], self.temperature, self.hard_weight)
