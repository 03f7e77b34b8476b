"""Queries with exact answers, found while an index is built, to measure recall with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semsearch.utils.vectors import unit_rows
from semsearch.vector_index.backends import _top

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

SEED = 20240  # any fixed number: the same vectors give the same index
QUERIES = 200
NEIGHBOURS = 10
FILTERED = 20  # every so many-th vector is in the smaller set


class Truth:
    """The nearest positions of queries among all vectors, and among every twentieth of them.

    Half of the queries are vectors of the sample (m, d), half are between two of them, which is harder.
    """

    def __init__(self, sample: Vectors) -> None:
        random = np.random.default_rng(SEED)
        pairs = sample[random.integers(0, len(sample), (2, QUERIES))]
        self.queries = unit_rows(pairs[0] + np.where(np.arange(QUERIES) % 2, 0.0, 1.0)[:, None] * pairs[1])
        self.seen = 0
        self._all = self._some = _top.nothing(QUERIES, NEIGHBOURS)

    def see(self, vectors: Vectors) -> None:
        """The next vectors (n, d) of the index."""
        positions = np.arange(self.seen, self.seen + len(vectors))
        scores = self.queries @ vectors.T
        some = positions % FILTERED == 0
        self._all = _top.merge([self._all, _top.best(positions, scores, NEIGHBOURS)], NEIGHBOURS)
        self._some = _top.merge([self._some, _top.best(positions[some], scores[:, some], NEIGHBOURS)], NEIGHBOURS)
        self.seen += len(vectors)

    def filtered(self) -> Ids:
        """The positions of the smaller set."""
        return np.arange(0, self.seen, FILTERED)

    def recall(self, answers: Ids, *, filtered: bool = False) -> float:
        """The share of the right answers that are in `answers`, positions (q, c) in any order.

        filtered: the right answers are those of the smaller set.
        """
        right = self._some[0] if filtered else self._all[0]
        there = right >= 0
        hits = (right[:, :, None] == answers[:, None, :]).any(axis=2) & there
        return int(hits.sum()) / max(1, int(there.sum()))
