"""Scores of passages: those of several words are added up, and the best of them are taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.stores.sql.bm25 import Scores
    from semsearch.types import Ids


@dataclass(frozen=True, slots=True)
class ScoredPassages:
    """keys (n,), ascending, which are ids or whatever else ascends with these, and scores (n,)."""

    keys: Ids
    scores: Scores

    @classmethod
    def none(cls) -> Self:
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0))

    @classmethod
    def of(cls, keys: Ids, scores: Scores) -> Self:
        """From keys in any order, each once."""
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], scores[order])

    def __len__(self) -> int:
        return len(self.keys)

    def __add__(self, other: Self) -> Self:
        return self._with(other, np.add)

    def __or__(self, other: Self) -> Self:
        """The higher of both scores of each passage."""
        return self._with(other, np.maximum)

    def _with(self, other: Self, joined: np.ufunc) -> Self:
        if not len(other):
            return self
        keys = np.union1d(self.keys, other.keys)
        scores = np.zeros(len(keys))
        scores[np.searchsorted(keys, self.keys)] = self.scores
        at = np.searchsorted(keys, other.keys)
        scores[at] = joined(scores[at], other.scores)
        return type(self)(keys, scores)

    def scaled(self, factor: float) -> Self:
        """With scores times a factor."""
        return type(self)(self.keys, self.scores * factor)

    def best(self, k: int) -> Self:
        """The k highest, in the order of their keys; of equal ones the first."""
        if len(self) <= k:
            return self
        least = self.kth(k)
        above, equal = np.flatnonzero(self.scores > least), np.flatnonzero(self.scores == least)
        kept = np.sort(np.concatenate([above, equal[: k - len(above)]]))
        return type(self)(self.keys[kept], self.scores[kept])

    def ordered(self, k: int) -> tuple[Ids, Scores]:
        """Keys and scores of the k highest, the highest first; of equal ones the first."""
        best = self.best(k)
        order = np.argsort(-best.scores, kind="stable")
        return best.keys[order], best.scores[order]

    def kth(self, k: int) -> float:
        """The k-th highest score; minus infinity where there are fewer."""
        return kth(self.scores, k) if len(self) >= k else float("-inf")


def kth(scores: Scores, k: int) -> float:
    """The k-th highest of at least k scores."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
