"""CoSENT: of two pairs of texts, the one with the higher label should have the higher cosine.

Source: Su 2022, https://kexue.fm/archives/8847: log(1 + Σ e^(λ(cos_i − cos_j))) over all i, j with label i below label
j, and λ = 20. The sum is not a mean: the loss grows with the batch. Only the order of the labels counts, of two values
(0 dissimilar, 1 similar), of NLI (contradiction 0, neutral 1, entailment 2) or graded; ties are ignored, and a batch
with a single label has loss 0 and no gradient. At least float32 is used, since bf16 loses the order of close cosines.

The settings are those of the article's code: [CLS] (name it: BASE#cls), Adam without a schedule or clipping, 64 tokens.
It trains on NLI with batches of 64. It lays out the two texts of a pair one after the other, an order that shuffling
destroyed in some ports; here a pair is one example.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional

from semsearch.training.datasets.dataset import ANCHOR, POSITIVE
from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import ABOVE_ZERO, BaseObjective, View

SCALE = 20.0  # λ, in the text below the equation


@dataclass(frozen=True, slots=True)
class Options:
    """`scale` is λ."""

    scale: float = field(default=SCALE, metadata=ABOVE_ZERO)


class Objective(BaseObjective):
    hyperparameters = Hyperparameters(
        batch_size=32, learning_rate=2e-5, epochs=5, max_length=62, schedule="constant", max_grad_norm=0.0
    )
    labels = "score"
    views = (View(ANCHOR), View(POSITIVE))

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """The two sides of every pair, (n, d) each, and a label for each pair (n,)."""
        one, other = (each.to(torch.promote_types(each.dtype, torch.float32)) for each in vectors)
        assert labels is not None  # the loop passes labels to an objective that declares `labels`
        return ordered(functional.cosine_similarity(one, other, dim=-1), labels, self.options.scale)

    def teaches(self, labels: Sequence[float]) -> bool:
        """Whether there are two labels to put in order."""
        return len(set(labels)) > 1


def ordered(cosines: Tensor, labels: Tensor, scale: float = SCALE) -> Tensor:
    """log(1 + Σ e^(scale · (cos_i − cos_j))) over all i, j with labels_i < labels_j: (n,) and (n,) -> ()."""
    below = labels[:, None] < labels[None, :]
    differences = (scale * (cosines[:, None] - cosines[None, :]))[below]
    return torch.cat([cosines.new_zeros(1), differences]).logsumexp(0)  # e^0 is the 1
