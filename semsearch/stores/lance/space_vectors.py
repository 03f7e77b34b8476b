"""The vectors of one space: a column of the table, with an index of the library: IVF with RaBitQ (Gao, Long 2024), one
bit a dimension. Passages that are newer than the index are compared one by one beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import NotFound
from semsearch.stores.lance.client import Arrow
from semsearch.stores.lance.table import Table, listed, vector_column
from semsearch.stores.remote.space_vectors import Hits, RemoteVectors
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from semsearch.types import Ids, JsonObject, Vectors

NPROBES, CANDIDATES = 24, 120  # partitions that are looked into, and rows whose vectors are compared, at the least
ROWS_OF_CANDIDATES = 250_000  # indexed rows up to which these are enough: the codes of more are more often alike
MOST_TIMES = 8  # as many candidates
MORE = 10  # hits than were asked for
LEAST_ROWS = 256  # that the library trains an index on
ROWS_OF_PARTITION = 4096


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


class SpaceVectors(RemoteVectors[AllowedRows]):
    """Raises NotFound for an unknown space."""

    INDEX, SUBSET_SHARE = "ivf_rq", 0.02
    INDEXED_FROM = 50_000  # vectors: comparing them all takes 50 ms at 384 dimensions

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

    def _of(self, allowed: AllowedRows, chunk: int) -> Iterator[tuple[Ids, Vectors]]:
        return self.vectors(ids=allowed.ids(), chunk=chunk)

    def _nearest(self, query: Vectors, k: int, allowed: AllowedRows | None, *, indexed: bool) -> Hits:
        """Those of half precision, and a few more, are ordered here."""
        more = k + MORE
        near: Arrow = {"column": self.column, "q": query, "k": more, "metric": "cosine", "use_index": indexed}
        if indexed:
            near |= {"nprobes": NPROBES, "refine_factor": max(2, self._candidates() // more)}
        condition = "" if allowed is None else f"({allowed.condition}) AND {self.there}"
        rows = self._table.rows(["id", self.column, "_distance"], condition, nearest=near, prefilter=True)
        stored = unit_rows(np.array([row[self.column] for row in rows], np.float32).reshape(len(rows), self.dim))
        hits = zip((row["id"] for row in rows), (stored @ query).tolist(), strict=True)
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]

    def _candidates(self) -> int:
        """Rows that a search compares, as the index finds them; recall falls where their number stays as rows grow."""
        rows = self._table.remembered(("indexed rows", self.index), lambda: int(self._stats()["num_indexed_rows"]))
        return int(CANDIDATES * min(MOST_TIMES, max(1.0, rows / ROWS_OF_CANDIDATES)))

    # ---- the index

    @property
    def index(self) -> str:
        """The name of its index."""
        return f"{self.column}_idx"

    def is_indexed(self) -> bool:
        return any(one.name == self.index for one in self._table.now.describe_indices())

    def newer(self) -> int:
        return int(self._stats()["num_unindexed_rows"])

    def _stats(self) -> JsonObject:
        stats: JsonObject = self._table.now.stats.index_stats(self.index)
        return stats

    def _reason(self, *, indexed: bool) -> str:
        if indexed:
            return "an index of Lance (IVF with RaBitQ)"
        count = self.count()
        return "" if count >= LEAST_ROWS else f"Lance has no index for fewer than {LEAST_ROWS}"

    def _build(self) -> None:
        parts = max(1, self.count() // ROWS_OF_PARTITION)
        self._table.handle().create_index(
            self.column, "IVF_RQ", metric="cosine", num_partitions=parts, num_bits=1, replace=True
        )

    def _drop(self) -> None:
        self._table.handle().drop_index(self.index)
