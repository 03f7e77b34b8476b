"""Scores of passages by place, added up over the terms of a query, and the best of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.stores.local.full_text.segments import Places
    from semsearch.stores.sql.bm25 import Scores


MANY = 8  # where one passage in so many has a word, the sums of all are looked at
_LEAST = sys.float_info.min  # every score is higher


class Found:
    """Scores of passages: places (n,) ascending, scores (n,), of so many passages in all."""

    def __init__(self, places: Places, scores: Scores, passages: int) -> None:
        self.places = places
        self.scores = scores
        self._passages = passages

    def __len__(self) -> int:
        return len(self.places)

    def __add__(self, other: Self) -> Self:
        if not len(other):
            return self
        values = np.zeros(self._passages)
        values[self.places] = self.scores
        values[other.places] += other.scores
        places = np.flatnonzero(values > 0)
        return type(self)(places, values[places], self._passages)

    def __or__(self, other: Self) -> Self:
        if not len(other):
            return self
        places = np.union1d(self.places, other.places)
        scores = np.zeros(len(places))
        scores[np.searchsorted(places, self.places)] = self.scores
        at = np.searchsorted(places, other.places)
        scores[at] = np.maximum(scores[at], other.scores)
        return type(self)(places, scores, self._passages)

    def best(self, k: int) -> Self:
        """The k highest; of equal ones the first."""
        if len(self.places) <= k:
            return self
        least = _least_of_best(self.scores, k)
        above, equal = np.flatnonzero(self.scores > least), np.flatnonzero(self.scores == least)
        kept = np.sort(np.concatenate([above, equal[: k - len(above)]]))
        return type(self)(self.places[kept], self.scores[kept], self._passages)


def best_sums(parts: Sequence[tuple[Places, Scores]], k: int, sums: Scores) -> Found:
    """The k best places by their scores in all parts together, added up in the order of the parts.

    `sums` has a number for each passage, which is 0 before and after. The k-th best place of one part is no better than
    the k-th best of all, so what is worse than that is left out before places are sorted.
    """
    if not parts:
        return Found(np.zeros(0, dtype=np.int64), np.zeros(0), len(sums))
    try:
        for places, scores in parts:
            sums[places] += scores
        long = [places for places, _ in parts if len(places) > k]
        least = _least_of_best(sums[min(long, key=len)], k) if long else _LEAST
        places = _at_least(least, [places for places, _ in parts], sums)
        return Found(places, sums[places], len(sums)).best(k)
    finally:
        for places, _ in parts:
            sums[places] = 0.0


def _at_least(least: float, parts: Sequence[Places], sums: Scores) -> Places:
    """The places, ascending, in any of the parts that have at least such a sum."""
    if MANY * sum(map(len, parts)) > len(sums):
        return np.flatnonzero(sums >= least)
    return np.unique(np.concatenate([places[sums[places] >= least] for places in parts]))


def _least_of_best(scores: Scores, k: int) -> float:
    """The k-th highest of more than k scores."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
