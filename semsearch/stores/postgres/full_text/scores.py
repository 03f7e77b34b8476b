"""Scores of passages by id, added up over the words of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from semsearch.stores.bm25 import Scores
    from semsearch.types import Ids


@dataclass(frozen=True, slots=True)
class ScoredPassages:
    """ids (n,) ascending, scores (n,)."""

    ids: Ids
    scores: Scores

    @classmethod
    def none(cls) -> Self:
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0))

    @classmethod
    def of(cls, ids: Ids, scores: Scores) -> Self:
        """From ids in any order, each once."""
        order = np.argsort(ids, kind="stable")
        return cls(ids[order], scores[order])

    def __len__(self) -> int:
        return len(self.ids)

    def __add__(self, other: Self) -> Self:
        ids = np.union1d(self.ids, other.ids)
        sums = np.zeros(len(ids))
        sums[np.searchsorted(ids, self.ids)] = self.scores
        sums[np.searchsorted(ids, other.ids)] += other.scores
        return type(self)(ids, sums)

    def __or__(self, other: Self) -> Self:
        """The higher of both scores of each passage."""
        ids = np.union1d(self.ids, other.ids)
        highest = np.zeros(len(ids))
        highest[np.searchsorted(ids, self.ids)] = self.scores
        at = np.searchsorted(ids, other.ids)
        highest[at] = np.maximum(highest[at], other.scores)
        return type(self)(ids, highest)

    def best(self, k: int) -> Self:
        """The k highest; of equal ones those with the lowest ids. The highest comes first."""
        order = np.lexsort((self.ids, -self.scores))[:k]
        return type(self)(self.ids[order], self.scores[order])

    def at_least(self, least: float) -> Self:
        """Those with at least this score."""
        kept = self.scores >= least
        return type(self)(self.ids[kept], self.scores[kept])

    def kth(self, k: int) -> float:
        """The k-th highest score; minus infinity where there are fewer."""
        if len(self) < k:
            return float("-inf")
        return float(np.partition(self.scores, len(self) - k)[len(self) - k])
