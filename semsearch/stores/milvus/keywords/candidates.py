"""Which passages may be among the k best of a search by words, and how good each can be at most.

Milvus tells which passages have a word and how long they are, not how often they have it. Of a passage that has it
once, BM25 is known from that, and is the least that it can have; the most is the word's weight times K1 + 1. So only
passages are read whose greatest possible score reaches the k-th best one read so far, and the answer stays the same
(MaxScore: Turtle, Flood 1995, "Query evaluation: strategies and optimizations").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores import bm25

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.bm25 import Scores
    from semsearch.types import Ids

FIRST = 100  # passages that are read before others are ruled out, at least
PIECE = 500  # passages that are read at once


@dataclass(frozen=True)
class Having:
    """The passages that have a word or phrase, ascending; `once`: it is one word, and they have it once at least."""

    weight: float
    ids: Ids
    once: bool


class Candidates:
    """Passages with the least and the greatest bm25 that each can have."""

    def __init__(self, lengths: Mapping[int, int], having: Sequence[Having], mean: float) -> None:
        self.ids = np.sort(np.fromiter(lengths, dtype=np.int64, count=len(lengths)))
        sizes = np.array([lengths[one] for one in self.ids.tolist()], dtype=np.int64)
        self.least = np.zeros(len(self.ids))
        self.most = np.zeros(len(self.ids))
        for one in having:
            there = np.isin(self.ids, one.ids)
            self.most[there] += one.weight * (bm25.K1 + 1)
            if one.once:
                here = sizes[there]
                self.least[there] += bm25.scores(one.weight, np.ones_like(here), here, mean)

    def __len__(self) -> int:
        return len(self.ids)

    def kth_least(self, k: int) -> float:
        """What the k-th best has at least; 0 where there are fewer."""
        return float(np.partition(self.least, -k)[-k]) if len(self) >= k else 0.0

    def best(self, n: int) -> Ids:
        """Those n that have the most for certain, ascending."""
        chosen: Ids = np.sort(self.ids[self._order()[:n]])
        return chosen

    def reading(self, k: int, limit: int) -> Iterator[tuple[Ids, Scores]]:
        """(ids, ascending, and greatest scores) of pieces to read: the best ones, then by what they can have at most.

        The caller stops where no later one can be among its k best; after `limit` passages there are no more.
        """
        order = self._order()
        first, rest = order[: max(k, FIRST)], order[max(k, FIRST) : limit]
        rest = rest[np.argsort(-self.most[rest], kind="stable")]
        pieces = [first, *(rest[at : at + PIECE] for at in range(0, len(rest), PIECE))]
        for piece in pieces:
            yield self._piece(piece)

    def _piece(self, places: NDArray[np.int64]) -> tuple[Ids, Scores]:
        places = np.sort(places)
        return self.ids[places], self.most[places]

    def _order(self) -> NDArray[np.int64]:
        return np.argsort(-self.least, kind="stable")
