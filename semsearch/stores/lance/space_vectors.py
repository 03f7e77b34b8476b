"""The vectors of one space: a column of the table, compared one by one, or found by an index of the library.

From INDEXED_FROM vectors on that is IVF with RaBitQ (Gao, Long 2024): one bit a dimension, whose candidates are ordered
by their cosines with the stored vectors. Passages that are newer than the index are compared one by one beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import NotFound
from semsearch.stores.lance.client import Arrow
from semsearch.stores.lance.table import Table, listed, vector_column
from semsearch.stores.protocol import Dense
from semsearch.utils import vectors as vector_checks
from semsearch.utils.vectors import unit_rows
from semsearch.vector_index.backends import _top

if TYPE_CHECKING:
    from semsearch.types import Ids, JsonObject, Vectors

INDEXED_FROM = 50_000  # vectors: comparing them all takes 50 ms at 384 dimensions
SUBSET_SHARE = 0.02  # of the vectors; fewer allowed passages are compared one by one
NPROBES, REFINE = 24, 12  # partitions that are looked into, and candidates for each hit
MORE = 10  # hits than were asked for
MANY_QUERIES = 8  # from so many on, few vectors are read once and compared here


@dataclass(frozen=True)
class AllowedRows:
    """The passages that pass a condition, in the version that was read."""

    table: Table
    condition: str
    number: int

    def __len__(self) -> int:
        return self.number

    def ids(self) -> Ids:
        """Of the passages, in any order."""
        ids: Ids = self.table.column("id", self.condition).astype(np.int64)
        return ids


class SpaceVectors:
    """Raises NotFound for an unknown space."""

    def __init__(self, table: Table, space: int) -> None:
        dims = {row["number"]: row["count"] for row in table.rows(["number", "count"], "kind = 'space'")}
        if space not in dims:
            raise NotFound(f"index {table.name} has no space {space}.")
        self._table, self.column, self.dim = table, vector_column(space), int(dims[space])
        self.there = f"array_has(spaces, {int(space)})"

    def count(self) -> int:
        return self._table.count(self.there)

    def ids(self) -> Ids:
        """The passages with a vector, ascending."""
        return np.sort(self._table.column("id", self.there)).astype(np.int64)

    def vectors(self, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192) -> Iterator[tuple[Ids, Vectors]]:
        """(passage ids (m,) ascending, their unit vectors (m, dim)) in pieces of at most `chunk`."""
        chosen = self.ids() if ids is None else np.unique(np.asarray(ids, dtype=np.int64))
        chosen = chosen[chosen > after]
        for at in range(0, len(chosen), chunk):
            piece = chosen[at : at + chunk]
            condition = f"id >= {piece[0]} AND id <= {piece[-1]} AND {self.there}"
            if ids is not None and piece[-1] - piece[0] > 4 * len(piece):
                condition = f"id IN ({', '.join(map(str, piece.tolist()))}) AND {self.there}"
            numbers, rows = self._arrays(condition)
            here = np.isin(numbers, piece)
            if here.any():
                order = np.argsort(numbers[here])
                yield numbers[here][order], unit_rows(rows[here][order])

    def _arrays(self, condition: str) -> tuple[Ids, Vectors]:
        now = self._table.now
        with self._table.explained():
            table = now.to_table(columns=["id", self.column], filter=condition)
        rows = listed(table)
        numbers: Ids = np.array([row["id"] for row in rows], dtype=np.int64)
        return numbers, np.array([row[self.column] for row in rows], dtype=np.float32).reshape(len(rows), self.dim)

    # ---- search

    def search(self, queries: Vectors, k: int, allowed: AllowedRows | None, *, exact: bool) -> Dense:
        """The nearest passages of unit queries (q, d). Call it inside a snapshot."""
        rows = vector_checks.check(queries, dim=self.dim, what="query")
        count = self.count()
        among = count if allowed is None else min(count, len(allowed))
        indexed = self.is_indexed() and not exact and among > SUBSET_SHARE * count
        way = "ivf_rq" if indexed else "exact" if allowed is None else "exact subset"
        plan: JsonObject = {
            "pass": way, "backend": "ivf_rq" if indexed else "exact",
            "allowed": None if allowed is None else len(allowed),
        }  # fmt: skip
        nearest = _top.nothing(len(rows), k)
        if not among or k < 1:
            return Dense(*nearest, plan)
        if not indexed and len(rows) >= MANY_QUERIES:
            return Dense(*self._compared_here(rows, k, allowed), plan)
        for at, query in enumerate(rows):
            hits = self._nearest(query, k, allowed, indexed=indexed)
            if indexed and len(hits) < min(k, among):
                hits = self._nearest(query, k, allowed, indexed=False)
                plan["pass"] = "ivf_rq, then exact"
            for place, (passage, cosine) in enumerate(hits):
                nearest[0][at, place], nearest[1][at, place] = passage, cosine
        return Dense(*nearest, plan)

    def _nearest(
        self, query: Vectors, k: int, allowed: AllowedRows | None, *, indexed: bool
    ) -> list[tuple[int, float]]:
        """(passage, cosine) of the k nearest. Those of half precision, and a few more, are ordered here."""
        more = k + MORE
        near: Arrow = {"column": self.column, "q": query, "k": more, "metric": "cosine", "use_index": indexed}
        if indexed:
            near |= {"nprobes": NPROBES, "refine_factor": max(2, REFINE * 10 // more)}
        condition = "" if allowed is None else f"({allowed.condition}) AND {self.there}"
        rows = self._table.rows(["id", self.column, "_distance"], condition, nearest=near, prefilter=True)
        stored = unit_rows(np.array([row[self.column] for row in rows], np.float32).reshape(len(rows), self.dim))
        hits = zip((row["id"] for row in rows), (stored @ query).tolist(), strict=True)
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]

    def _compared_here(self, queries: Vectors, k: int, allowed: AllowedRows | None) -> tuple[Ids, Vectors]:
        nearest = _top.nothing(len(queries), k)
        for ids, stored in self.vectors(ids=None if allowed is None else allowed.ids()):
            nearest = _top.merge([nearest, _top.best(ids, queries @ stored.T, k)], k)
        return nearest

    # ---- the index

    @property
    def index(self) -> str:
        """The name of its index."""
        return f"{self.column}_idx"

    def is_indexed(self) -> bool:
        return any(one.name == self.index for one in self._table.now.describe_indices())

    def unindexed(self) -> int:
        """Passages that are newer than the index."""
        return int(self._table.now.stats.index_stats(self.index)["num_unindexed_rows"])

    def backend(self) -> JsonObject:
        """What searches the space, for `Index.info`: the backend and the reason for it."""
        count, indexed = self.count(), self.is_indexed()
        why = f"{count:,} vectors; compared one by one up to {INDEXED_FROM:,}"
        if indexed:
            why = f"{count:,} vectors; an index of Lance (IVF with RaBitQ)"
        elif count >= INDEXED_FROM:
            why = f"{count:,} vectors; no index was built yet, or an exact search was asked for"
        newer = self.unindexed() if indexed else 0
        return {
            "backend": "ivf_rq" if indexed else "exact",
            "why": why if count else "empty",
            "cache": None,
            "newer_than_cache": newer,
        }


def partitions(count: int) -> int:
    """Of an index of so many vectors: each has some four thousand."""
    return max(1, count // 4096)
