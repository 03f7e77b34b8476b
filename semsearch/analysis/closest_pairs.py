"""The closest pairs among vectors, and groups of vectors that nearly agree: exact, and in the memory of one block.

All vectors are compared with all, O(n² d): some seconds for 20,000 vectors, a minute or two for 100,000 on two cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.types import Pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids, Vectors

CELLS = 8_000_000  # cosines in memory at a time
PIECE = 500_000  # pairs that are looked at, at a time


class ClosestPairs:
    """The `most` closest of the pairs that were added, of those whose cosine is at least `threshold`."""

    def __init__(self, threshold: float, most: int) -> None:
        self.least = threshold  # the cosine that another pair has to reach; it rises
        self._most = most
        self._added: list[tuple[Ids, Ids, Vectors]] = []
        self._waiting = 0  # pairs that were added since the last selection

    def add(self, first: Ids, second: Ids, cosines: Vectors) -> None:
        """Pairs (m,) and their cosines (m,). One that was added before counts once."""
        self._added.append((first, second, cosines))
        self._waiting += len(cosines)
        if self._waiting >= max(self._most, PIECE):
            self._select()

    def pairs(self) -> list[Pair[int]]:
        """The pairs, the closest first, equal ones by their members."""
        first, second, cosines = self._select()
        scores = np.clip(cosines, -1, 1).tolist()
        return [Pair(*one) for one in zip(scores, first.tolist(), second.tolist(), strict=True)]

    def _select(self) -> tuple[Ids, Ids, Vectors]:
        empty = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)
        first, second, cosines = map(np.concatenate, zip(empty, *self._added, strict=True))
        if len(cosines) > 2 * self._most:  # drop most of them before they are sorted; a pair may be there twice
            near = cosines >= np.partition(cosines, -2 * self._most)[-2 * self._most]
            first, second, cosines = first[near], second[near], cosines[near]
        order = np.lexsort((cosines, second, first))
        new = np.diff(first[order], prepend=-1).astype(bool) | np.diff(second[order], prepend=-1).astype(bool)
        order = order[new]
        order = order[np.argsort(-cosines[order], kind="stable")[: self._most]]
        first, second, cosines = first[order], second[order], cosines[order]
        self._added, self._waiting = [(first, second, cosines)], 0
        if len(cosines) == self._most:
            self.least = max(self.least, float(cosines[-1]))
        return first, second, cosines


def closest_pairs(vectors: Vectors, groups: Sequence[object] | None, closest: ClosestPairs) -> None:
    """Add the pairs of rows of unit vectors (n, d), smaller row first, to `closest`; none within one of `groups`."""
    group = np.arange(len(vectors)) if groups is None else _numbered(groups)
    for start, cosines in blocks(vectors):
        flat = cosines.ravel()
        reached = np.flatnonzero(flat >= closest.least)
        for at in range(0, len(reached), PIECE):
            some = reached[at : at + PIECE]
            first, second = np.divmod(some[flat[some] >= closest.least], cosines.shape[1])
            apart = (second > first) & (group[first + start] != group[second + start])
            first, second = first[apart], second[apart]
            closest.add(first + start, second + start, cosines[first, second])


def near_groups(
    vectors: Vectors,
    threshold: float,
    *,
    alike: Callable[[int, Ids], NDArray[np.bool_]] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[list[int]]:
    """Rows of unit vectors (n, d) in groups: two with a cosine of at least `threshold` are in the same one.

    Only groups of two or more, the largest first, each ascending. `alike` says of a row and others (m,) which of them
    (m,) may be in one group beside their cosine. `progress` gets the number of rows that were compared.
    """
    labels = np.arange(len(vectors))
    for start, cosines in blocks(vectors):
        progress(start)
        for row, close in enumerate(cosines >= threshold):
            here = start + row
            others = np.flatnonzero(close[row + 1 :]) + here + 1
            if alike and len(others):
                others = others[alike(here, others)]
            members = np.append(others, here)
            joined = np.unique(labels[members])
            if len(joined) > 1:
                labels[np.isin(labels, joined)] = joined[0]
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return sorted((group.tolist() for group in groups if len(group) > 1), key=len, reverse=True)


def blocks(vectors: Vectors) -> Iterator[tuple[int, Vectors]]:
    """(start, cosines (b, n - start)): of b rows from `start` on with these and all that follow."""
    size = max(1, CELLS // max(1, len(vectors)))
    for start in range(0, len(vectors), size):
        rest = vectors[start:]
        yield start, rest[:size] @ rest.T


def _numbered(groups: Sequence[object]) -> NDArray[np.int64]:
    """(n,) the same number for the same group."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(group, len(numbers)) for group in groups], np.int64)
