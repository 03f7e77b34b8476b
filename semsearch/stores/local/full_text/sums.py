"""The passages with the best sums of scores over the terms of a query, by place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from semsearch.stores.sql.scored_passages import ScoredPassages, kth
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.stores.local.full_text.segments import Places
    from semsearch.stores.sql.bm25 import Scores


MANY = 8  # where one passage in so many has a word, the sums of all are looked at
_LEAST = sys.float_info.min  # every score is higher


def best_sums(parts: Sequence[tuple[Places, Scores]], k: int, sums: Scores) -> ScoredPassages:
    """The k best places by their scores in all parts together, added up in the order of the parts.

    `sums` has a number for each passage, which is 0 before and after. The k-th best place of one part is no better than
    the k-th best of all, so what is worse than that is left out before places are sorted.
    """
    if not parts:
        return ScoredPassages.none()
    try:
        for places, scores in parts:
            sums[places] += scores
        long = [places for places, _ in parts if len(places) > k]
        least = kth(sums[min(long, key=len)], k) if long else _LEAST
        places = _at_least(least, [places for places, _ in parts], sums)
        return ScoredPassages(places, sums[places]).best(k)
    finally:
        for places, _ in parts:
            sums[places] = 0.0


def _at_least(least: float, parts: Sequence[Places], sums: Scores) -> Places:
    """The places, ascending, in any of the parts that have at least such a sum."""
    if MANY * sum(map(len, parts)) > len(sums):
        return np.flatnonzero(sums >= least)
    return np.unique(np.concatenate([places[sums[places] >= least] for places in parts]))
