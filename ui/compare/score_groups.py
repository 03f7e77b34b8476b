"""Predictions by gold score, as in figure 3 of CoT-BERT (https://arxiv.org/abs/2309.11143).

The cosines of an encoder are scaled to 0 … 1. On the scale of STS, 0 … 5, a box collects the scores nearest to a whole
number; any other scale is divided into six even groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WHOLE = range(6)  # STS: 0 … 5
STEPS = len(WHOLE) - 1


@dataclass(frozen=True, slots=True)
class Box:
    """The predictions of the pairs with about this score: quartiles, and whiskers of 1.5 of their distance."""

    at: float
    count: int
    least: float
    low: float
    middle: float
    high: float
    most: float


def scaled(cosines: Sequence[float]) -> list[float]:
    """Cosines as 0 (the lowest) … 1 (the highest).

    >>> scaled([0.5, 0.75, 1.0])
    [0.0, 0.5, 1.0]
    """
    low, high = min(cosines), max(cosines)
    return [(cosine - low) / (high - low) if high > low else 0.0 for cosine in cosines]


def group(scores: Sequence[float]) -> list[float]:
    """The score at the centre of each one's group.

    >>> group([0.2, 2.5, 4.8]), group([0, 0.1, 0.95, 1])
    ([0.0, 3.0, 5.0], [0.0, 0.2, 1.0, 1.0])
    """
    low, high = min(scores), max(scores)
    if low >= WHOLE[0] and high <= WHOLE[-1] and high - low > 1:
        return [float(math.floor(score + 0.5)) for score in scores]
    step = (high - low) / STEPS or 1.0
    return [round(low + step * math.floor((score - low) / step + 0.5), 9) for score in scores]


def boxes(scores: Sequence[float], predictions: Sequence[float]) -> list[Box]:
    """A box for each group of scores, the lowest scores first."""
    of = np.asarray(group(scores))
    values = np.asarray(predictions, dtype=np.float64)
    return [_box(float(at), values[of == at]) for at in np.unique(of)]


def _box(at: float, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Box:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    return Box(at, len(values), float(inside.min()), low, middle, high, float(inside.max()))
