"""Contrast within a batch: cross-entropy of cosines divided by a temperature, each text's own positive as its class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from semsearch.training.datasets.dataset import ANCHOR, NEGATIVE, POSITIVE
from semsearch.training.hyperparameters import Shape
from semsearch.training.objectives._base import BaseObjective, View

TEMPERATURE = 0.05  # SimCSE, table D.1; also in PromptBERT and CoT-BERT


class ContrastiveObjective(BaseObjective):
    """InfoNCE of two views of each text, after a head. By default the views differ by dropout alone."""

    def __init__(self, shape: Shape, options: Any) -> None:
        super().__init__(shape, options)
        self.head = self.make_head()

    @property
    def views(self) -> tuple[View, ...]:
        return View(), View()

    def make_head(self) -> nn.Module:
        """Linear and Tanh, which SimCSE, PromptBERT and CoT-BERT append to the encoder while it is trained."""
        size = self.shape.dim
        return nn.Sequential(linear(size, size, self.shape.spread), nn.Tanh()) if self.options.head else nn.Identity()

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """Two (n, d) of the same texts, before the head."""
        anchors, positives = (self.head(each) for each in vectors)
        return info_nce(anchors, positives, self.options.temperature)


class PairObjective(BaseObjective):
    """InfoNCE of anchors and positives, with hard negatives where the data has them."""

    @property
    def views(self) -> tuple[View, ...]:
        hard = (View(NEGATIVE),) if NEGATIVE in self.shape.columns else ()
        return View(ANCHOR), View(POSITIVE), *hard

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """Anchors, positives, and negatives where there are any: (n, d) each."""
        anchors, positives, *negatives = vectors
        if not negatives:
            return info_nce(anchors, positives, self.options.temperature)
        return with_negatives(anchors, positives, negatives[0], self.options.temperature, self.options.hard_weight)


def cosines(a: Tensor, b: Tensor) -> Tensor:
    """Every row of `a` (n, d) against every row of `b` (m, d): (n, m). A zero vector has cosine 0 with everything."""
    return functional.normalize(a, dim=-1) @ functional.normalize(b, dim=-1).T


def logits(blocks: Sequence[tuple[Tensor, Tensor]], temperature: float) -> Tensor:
    """Cosines of each pair of (n, d) blocks side by side, divided by the temperature: (n, n · blocks)."""
    return torch.cat([cosines(a, b) for a, b in blocks], dim=1) / temperature


def own(scores: Tensor) -> Tensor:
    """Cross-entropy where the class of row i is column i, the mean over rows: (n, m) -> ()."""
    return functional.cross_entropy(scores, torch.arange(len(scores), device=scores.device))


def info_nce(anchors: Tensor, positives: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    """SimCSE eq. 4, one direction: each anchor against the positives of all texts of the batch."""
    return own(logits([(anchors, positives)], temperature))


def with_negatives(
    anchors: Tensor, positives: Tensor, negatives: Tensor, temperature: float = TEMPERATURE, weight: float = 0.0
) -> Tensor:
    """SimCSE eq. 5: also against the hard negatives of all texts. `weight` is added to a text's own negative's logit.

    It is `hard_negative_weight` of the released code; the paper multiplies by α^1[i = j], where α = exp(weight).
    """
    scores = logits([(anchors, positives), (anchors, negatives)], temperature)
    if weight:
        n = len(anchors)
        own_negative = torch.cat([torch.zeros_like(scores[:, :n]), torch.eye(n, device=scores.device)], dim=1)
        scores = scores + weight * own_negative.to(scores.dtype)
    return own(scores)


def linear(inputs: int, outputs: int, spread: float, *, bias: bool = True) -> nn.Linear:
    """A layer initialised as in BERT: weights from N(0, spread²), biases 0."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    nn.init.normal_(layer.weight, std=spread)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
