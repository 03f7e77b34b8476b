"""Contrast within a batch: cross-entropy of cosines divided by a temperature, the own positive being the class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

TEMPERATURE = 0.05  # SimCSE, table D.1; PromptBERT and CoT-BERT keep it


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
    """SimCSE eq. 5: the hard negatives of all texts too. `weight` is added to the logit of a text's own negative.

    The released code's `hard_negative_weight`; the paper multiplies by α^1[i = j], which is α = exp(weight).
    """
    scores = logits([(anchors, positives), (anchors, negatives)], temperature)
    if weight:
        n = len(anchors)
        own_negative = torch.cat([torch.zeros_like(scores[:, :n]), torch.eye(n, device=scores.device)], dim=1)
        scores = scores + weight * own_negative.to(scores.dtype)
    return own(scores)


def extended(
    anchors: Tensor, positives: Tensor, negatives: Tensor, temperature: float = TEMPERATURE, *, third: bool = True
) -> Tensor:
    """CoT-BERT eq. 3: anchor to positive, anchor to negative, and (`third`) positive to negative."""
    blocks = [(anchors, positives), (anchors, negatives), *([(positives, negatives)] if third else [])]
    return own(logits(blocks, temperature))


def tanh_head(dim: int, spread: float = 0.02) -> nn.Module:
    """Linear and Tanh, as SimCSE, PromptBERT and CoT-BERT put them behind the vector while they train."""
    return nn.Sequential(linear(dim, dim, spread), nn.Tanh())


def linear(given: int, made: int, spread: float, *, bias: bool = True) -> nn.Linear:
    """A layer that begins as BERT's do: weights of N(0, spread²), biases of 0."""
    layer = nn.Linear(given, made, bias=bias)
    nn.init.normal_(layer.weight, std=spread)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
