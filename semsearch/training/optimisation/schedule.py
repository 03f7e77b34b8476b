"""The schedule of a run: its number of steps, the examples of each step, and the learning rate of each step."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from semsearch.errors import UsageError
from semsearch.training.datasets.dataset import Dataset
from semsearch.training.hyperparameters import Hyperparameters


@dataclass(frozen=True, slots=True)
class Schedule:
    """`steps` in all, `batch_size` examples per step, `grad_cache_size` texts encoded at once (0: all), the `seed`."""

    steps: int
    batch_size: int
    grad_cache_size: int
    seed: int


def plan(
    dataset: Dataset, hyperparameters: Hyperparameters, *, steps: int = 0, grad_cache_size: int = 0, seed: int = 0
) -> Schedule:
    """As many steps as `epochs` over the dataset take, or `steps`. An incomplete last batch is left out.

    Raises UsageError where there are fewer than two examples.
    """
    if len(dataset) < 2:
        raise UsageError(
            f"{dataset.source or 'the data'} has {len(dataset)} usable examples.", "Training needs two or more."
        )
    batch_size = min(hyperparameters.batch_size, len(dataset))
    in_epochs = max(1, round(hyperparameters.epochs * (len(dataset) // batch_size)))
    cache = grad_cache_size if 0 < grad_cache_size < batch_size else 0
    return Schedule(steps or in_epochs, batch_size, cache, seed)


@functools.lru_cache(maxsize=1)  # every step of an epoch needs it
def order(examples: int, seed: int, epoch: int) -> list[int]:
    """The indices of the examples in the order of an epoch, which follows from the seed."""
    indices: list[int] = np.random.default_rng([seed, epoch]).permutation(examples).tolist()
    return indices


def learning_rate(hyperparameters: Hyperparameters, step: int, steps: int) -> float:
    """The learning rate of a step, counted from 0: linear warm-up from 0, then linear decay to 0.

    >>> half = Hyperparameters(batch_size=1, learning_rate=1.0, warmup=0.5)
    >>> [round(learning_rate(half, step, 4), 2) for step in range(4)]
    [0.0, 0.5, 1.0, 0.5]
    """
    peak, warmup = hyperparameters.learning_rate, hyperparameters.warmup
    warmup_steps = warmup if warmup > 1 else math.ceil(warmup * steps)
    if step < warmup_steps:
        return peak * step / warmup_steps
    if hyperparameters.schedule == "constant":
        return peak
    return peak * max(0.0, (steps - step) / max(1.0, steps - warmup_steps))
