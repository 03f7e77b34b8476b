"""BM25 as FTS5's bm25() computes it, with the same rounding (Robertson, Zaragoza 2009)."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scores: TypeAlias = NDArray[np.float64]
    Sizes: TypeAlias = NDArray[np.int64]

K1, B = 1.2, 0.75


def idf(size: int, having: int) -> float:
    """The weight of a term that `having` of `size` passages have; of one in most passages, FTS5's least weight."""
    return max(1e-6, log(max(size - having + 0.5, 0.5) / (having + 0.5)))


def scores(weight: float, counts: Sizes, lengths: Sizes, mean: float) -> Scores:
    """The part of one term in bm25: (n,) from how often passages have it, their lengths, and the mean length of all."""
    found: Scores = weight * ((counts * (K1 + 1.0)) / (counts + K1 * (1 - B + B * lengths / mean)))
    return found
