"""BM25 as FTS5's bm25() computes it, with the same rounding (Robertson, Zaragoza 2009)."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, TypeAlias

from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scores: TypeAlias = NDArray[np.float64]
    Sizes: TypeAlias = NDArray[np.integer]

K1, B = 1.2, 0.75
MANY = 10  # times as many passages as there are lengths


def idf(size: int, having: int) -> float:
    """The weight of a term that `having` of `size` passages have; of one in most passages, FTS5's least weight."""
    return max(1e-6, log(max(size - having + 0.5, 0.5) / (having + 0.5)))


def scores(weight: float, counts: Sizes, lengths: Sizes, mean: float) -> Scores:
    """The part of one term in bm25: (n,) from how often passages have it, their lengths, and the mean length of all.

    Many passages that have it once are scored by their length, from a table.
    """
    longest = int(lengths.max(initial=0))
    if len(lengths) < MANY * longest:
        return _scores(weight, counts, lengths, mean)
    every = np.arange(longest + 1)
    scores = _scores(weight, np.ones_like(every), every, mean)[lengths]
    several = np.flatnonzero(counts > 1)
    scores[several] = _scores(weight, counts[several], lengths[several], mean)
    return scores


def _scores(weight: float, counts: Sizes, lengths: Sizes, mean: float) -> Scores:
    scores: Scores = weight * ((counts * (K1 + 1.0)) / (counts + K1 * (1 - B + B * lengths / mean)))
    return scores
