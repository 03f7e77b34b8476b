"""Flow fitting: training an invertible network that maps vectors to a Gaussian, by maximum likelihood.

Source: Li et al. 2020, BERT-flow, https://arxiv.org/abs/2011.05864, with the settings of its authors' code: learning
rate 1e-3 without a schedule, weight decay 0.01, gradients clipped at 1, batches of 32, one epoch. The encoder itself is
not trained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from semsearch.errors import UsageError
from semsearch.models.networks.flow import Flow

LEARNING_RATE, WEIGHT_DECAY, EPSILON, CLIP = 1e-3, 0.01, 1e-6, 1.0
BATCH = 32
SAMPLE = 2048  # vectors on which the likelihood is reported


@dataclass(frozen=True, slots=True)
class FittedFlow:
    """A flow, and -log2 p(u) / d of a sample before the first step and after the last: lower is better."""

    flow: Flow
    before: float
    after: float


def fit(vectors: NDArray[np.float32], *, epochs: int = 1, seed: int = 0) -> FittedFlow:
    """The flow of vectors (n, d), which are shuffled. The first batch initialises scales and shifts.

    Raises UsageError for fewer than two batches, or too few dimensions to halve.
    """
    if len(vectors) < 2 * BATCH:
        fix = f"Use {2 * BATCH} or more; some thousands are better."
        raise UsageError(f"a flow needs two batches of {BATCH} texts, and there are {len(vectors)}.", fix)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.from_numpy(np.ascontiguousarray(vectors, dtype=np.float32))
    order = torch.randperm(len(rows), generator=generator)
    flow = Flow(rows.shape[1])
    flow.start(rows[order[:BATCH]], generator)
    sample = rows[order[:SAMPLE]]
    before = _bits(flow, sample)
    optimiser = torch.optim.AdamW(flow.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY, eps=EPSILON)
    for _ in range(epochs):
        for batch in torch.split(order, BATCH):
            loss = -flow.log_likelihood(rows[batch]).mean() / (rows.shape[1] * math.log(2))
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(flow.parameters(), CLIP)
            optimiser.step()
        order = torch.randperm(len(rows), generator=generator)
    return FittedFlow(flow.train(False).requires_grad_(False), before, _bits(flow, sample))


@torch.no_grad()
def _bits(flow: Flow, vectors: Tensor) -> float:
    return float(-flow.log_likelihood(vectors).mean()) / (vectors.shape[1] * math.log(2))
