"""Fitting a flow: the invertible network under which a sample of vectors is likeliest to be Gaussian.

Source: Li et al. 2020, BERT-flow, https://arxiv.org/abs/2011.05864, with the settings of its authors' code: rate 1e-3
without a schedule, decay 0.01, gradients clipped at 1, batches of 32, one epoch. The encoder stays as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from semsearch.errors import UsageError
from semsearch.models.networks.flow import DEPTH, LEVELS, WIDTH, Flow

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATE, DECAY, EPSILON, CLIP = 1e-3, 0.01, 1e-6, 1.0
BATCH, EPOCHS = 32, 1
MEASURED = 2048  # vectors by which likelihood is told


@dataclass(frozen=True, slots=True)
class Fitted:
    """A flow, and -log2 p(u) of a sample by its d numbers before the first step and after the last: less is better."""

    flow: Flow
    before: float
    after: float


def fit(
    vectors: NDArray[np.float32],
    *,
    levels: int = LEVELS,
    depth: int = DEPTH,
    width: int = WIDTH,
    epochs: int = EPOCHS,
    seed: int = 0,
) -> Fitted:
    """The flow of vectors (n, d), which are shuffled. The first batch gives scales and shifts their start.

    Raises UsageError where there are fewer than two batches, or too few numbers to halve.
    """
    if len(vectors) < 2 * BATCH:
        raise UsageError(
            f"a flow learns from batches of {BATCH}, and {len(vectors)} texts were given.",
            f"Give {2 * BATCH} or more; some thousands are better.",
        )
    chance = torch.Generator().manual_seed(seed)
    rows = torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32))
    order = torch.randperm(len(rows), generator=chance)
    flow = Flow(rows.shape[1], levels, depth, width)
    flow.start(rows[order[:BATCH]], chance)
    sample = rows[order[:MEASURED]]
    before = _bits(flow, sample)
    optimiser = torch.optim.AdamW(flow.parameters(), lr=RATE, weight_decay=DECAY, eps=EPSILON)
    for _ in range(epochs):
        for batch in torch.split(order, BATCH):
            loss = -flow.log_likelihood(rows[batch]).mean() / (rows.shape[1] * math.log(2))
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(flow.parameters(), CLIP)
            optimiser.step()
        order = torch.randperm(len(rows), generator=chance)
    return Fitted(flow.train(False).requires_grad_(False), before, _bits(flow, sample))


@torch.no_grad()
def _bits(flow: Flow, vectors: Tensor) -> float:
    return float(-flow.log_likelihood(vectors).mean()) / (vectors.shape[1] * math.log(2))
