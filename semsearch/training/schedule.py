"""How long a run is, which examples a step has, and how large its step is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import UsageError

if TYPE_CHECKING:
    from semsearch.training.datasets.dataset import Examples
    from semsearch.training.objectives import Recipe


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in all, texts a step, of those how many memory has to hold (0: all), and what the order follows from."""

    steps: int
    batch: int
    micro: int
    seed: int


def plan(examples: Examples, recipe: Recipe, *, steps: int = 0, micro: int = 0, seed: int = 0) -> Plan:
    """As many steps as `recipe.epochs` over the examples take, or `steps`. A last batch that is not full is left out.

    Raises UsageError where there are too few examples.
    """
    if len(examples) < 2:
        raise UsageError(
            f"{examples.source or 'the data'} has {len(examples)} usable examples.", "Training needs two or more."
        )
    batch = min(recipe.batch, len(examples))
    usual = max(1, round(recipe.epochs * (len(examples) // batch)))
    return Plan(steps or usual, batch, micro if 0 < micro < batch else 0, seed)


def order(examples: int, seed: int, epoch: int) -> list[int]:
    """The places of the examples as an epoch has them: another order each time, the same for the same seed."""
    return np.random.default_rng([seed, epoch]).permutation(examples).tolist()  # type: ignore[no-any-return]


def rate(recipe: Recipe, step: int, steps: int) -> float:
    """The learning rate of a step, counted from 0: up from 0 over the warm-up, then down to 0, in straight lines.

    >>> from semsearch.training.objectives import Recipe
    >>> [round(rate(Recipe(batch=1, rate=1.0, warmup=0.5), step, 4), 2) for step in range(4)]
    [0.0, 0.5, 1.0, 0.5]
    """
    warm = recipe.warmup if recipe.warmup > 1 else math.ceil(recipe.warmup * steps)
    if step < warm:
        return recipe.rate * step / warm
    if recipe.schedule == "constant":
        return recipe.rate
    return recipe.rate * max(0.0, (steps - step) / max(1.0, steps - warm))
