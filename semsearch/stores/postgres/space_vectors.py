"""The vectors of one space: a table, searched by the server, exactly or with an HNSW index (Malkov, Yashunin 2016) of
pgvector, which the server keeps up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from semsearch.errors import NotFound
from semsearch.stores.postgres.allowed import AllowedPassages
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.postgres.server.schema import vectors_table
from semsearch.stores.postgres.server.vector_types import Kind, unpacked, written
from semsearch.stores.remote.space_vectors import Hits, RemoteVectors

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

MOST_DIM = {"vector": 2_000, "halfvec": 4_000}  # of an HNSW index in pgvector
M, EF_CONSTRUCTION = 16, 128  # edges of a node, and candidates while it is inserted: pgvector's 16, twice its 64
LEAST_MEMORY, MOST_MEMORY = 64, 1024  # megabytes of the server while an index is built
LEAST_EF, MOST_EF = 400, 1_000  # candidates of a search: 99.6 % of the ten nearest of 29,333; the second is the limit
BREADTH = 4  # candidates for each hit
_MEMORY = "pg_size_bytes(current_setting('maintenance_work_mem')) / 1048576"


class SpaceVectors(RemoteVectors[AllowedPassages]):
    """Raises NotFound for an unknown space."""

    INDEX, SUBSET_SHARE, MOST_HITS = "hnsw", 0.05, MOST_EF
    INDEXED_FROM = 10_000  # vectors: comparing them all takes the server 10 ms at 384 dimensions

    def __init__(self, connection: Connection, space: int) -> None:
        rows = connection.rows("SELECT dim, kind FROM spaces WHERE id = ?", (space,))
        if not rows:
            raise NotFound(f"index {connection.name} has no space {space}.")
        self._db = connection
        self._space = space
        self.table = vectors_table(space)
        self.dim, self.kind = int(rows[0][0]), cast(Kind, rows[0][1])

    @property
    def counter(self) -> str:
        """The name of the counter of its vectors."""
        return f"vectors {self._space}"

    @property
    def index(self) -> str:
        """The name of its HNSW index."""
        return f"{self.table}_hnsw"

    def count(self) -> int:
        """The number of vectors, from a counter."""
        return self._db.count(self.counter)

    def is_indexed(self) -> bool:
        """Whether there is a finished HNSW index."""
        return bool(
            self._db.rows("SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(?) AND indisvalid", (self.index,))
        )

    def ids(self) -> Ids:
        """The passages with a vector, ascending."""
        return self._db.ids(self.table, "passage")

    def vectors(self, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192) -> Iterator[tuple[Ids, Vectors]]:
        """(passage ids (m,) ascending, their unit vectors (m, dim)) in pieces of at most `chunk`."""
        if ids is not None:
            chosen = sorted({one for one in np.asarray(ids, dtype=np.int64).tolist() if one > after})
            for at in range(0, len(chosen), chunk):
                rows = self._rows("passage = ANY(?::bigint[]) ORDER BY passage", chosen[at : at + chunk])
                if rows:
                    yield self._unpacked(rows)
            return
        while rows := self._rows("passage > ? ORDER BY passage LIMIT ?", after, chunk):
            yield self._unpacked(rows)
            after = rows[-1][0]

    # ---- search

    def _of(self, allowed: AllowedPassages, chunk: int) -> Iterator[tuple[Ids, Vectors]]:
        for ids, stored in self.vectors(chunk=chunk):
            here = allowed.inside(ids)
            yield ids[here], stored[here]

    def _nearest(self, query: Vectors, k: int, allowed: AllowedPassages | None, *, indexed: bool) -> Hits:
        if not indexed:
            return self._exact(query, k, allowed)
        ef = min(MOST_EF, max(LEAST_EF, BREADTH * k)) if allowed is None else MOST_EF
        self._db.set_local("hnsw.ef_search", ef)
        only, values = _only(allowed)
        text = written(query)
        inner = f"SELECT passage, vector FROM {self.table} ORDER BY vector <=> ?::{self.kind}({self.dim}) LIMIT ?"
        sql = f"""WITH near AS MATERIALIZED ({inner})
                  SELECT passage, 1 - (vector::vector <=> ?::vector) AS cosine FROM near {only}
                  ORDER BY cosine DESC, passage LIMIT ?"""
        return self._db.rows(sql, [text, ef, text, *values, k])

    def _exact(self, query: Vectors, k: int, allowed: AllowedPassages | None) -> Hits:
        """Every vector is compared. The sum keeps an index out of it."""
        only, values = _only(allowed)
        near = "(vector::vector <=> ?::vector)"
        sql = f"SELECT passage, 1 - {near} FROM {self.table} {only} ORDER BY {near} + 0, passage LIMIT ?"
        text = written(query)
        return self._db.rows(sql, [text, *values, text, k])

    # ---- the index

    def _build(self) -> None:
        was = self.is_indexed()
        self._run(self._building(), lambda: not was and self.is_indexed())

    def _drop(self) -> None:
        self._run([f"DROP INDEX IF EXISTS {self.index}"], lambda: False)

    def _reason(self, *, indexed: bool) -> str:
        if indexed:
            return f"an index of pgvector ({self.kind}, m={M}, ef_construction={EF_CONSTRUCTION})"
        return f"pgvector has no index for a width of {self.dim:,}" if self.dim > MOST_DIM[self.kind] else ""

    def _building(self) -> list[str]:
        """Build an index beside the present one, which searches use until the new one has its name."""
        new, old = f"{self.index}_new", f"{self.index}_old"
        over = f"USING hnsw (vector {self.kind}_cosine_ops)"
        return [
            *(f"DROP INDEX IF EXISTS {name}" for name in (new, old)),  # of a run that was interrupted
            f"SELECT set_config('maintenance_work_mem', greatest({self._memory()}, {_MEMORY}) || 'MB', false)",
            f"CREATE INDEX {new} ON {self.table} {over} WITH (m = {M}, ef_construction = {EF_CONSTRUCTION})",
            f"ALTER INDEX IF EXISTS {self.index} RENAME TO {old}; ALTER INDEX {new} RENAME TO {self.index}",
            f"DROP INDEX IF EXISTS {old}",
        ]

    def _memory(self) -> int:
        """Megabytes in which the whole graph is built, up to MOST_MEMORY; beyond what it has, pgvector is slow."""
        a_vector = 4 * self.dim + 16 * M + 200
        return min(MOST_MEMORY, max(LEAST_MEMORY, self.count() * a_vector * 5 // 4 // 2**20))

    def _run(self, statements: list[str], is_done: Callable[[], bool]) -> None:
        """In the transaction that goes on; else one by one, so that others read and write meanwhile.

        Of several machines at the end of their runs, one builds the index.
        """
        if self._db.is_writing:
            for statement in "; ".join(statements).split("; "):
                self._db.execute(statement)
            return
        with self._db.alone("vector index") as run:
            if run is None or is_done():
                return
            for statement in statements:
                beside = statement.startswith(("CREATE INDEX ", "DROP INDEX "))
                run(statement.replace("INDEX ", "INDEX CONCURRENTLY ", 1) if beside else statement)

    def _rows(self, condition: str, *parameters: object) -> list[tuple[int, bytes]]:
        return self._db.rows(f"SELECT passage, vector FROM {self.table} WHERE {condition}", parameters)

    def _unpacked(self, rows: Sequence[tuple[int, bytes]]) -> tuple[Ids, Vectors]:
        ids, packed = zip(*rows, strict=True)
        return np.array(ids, dtype=np.int64), unpacked(packed, self.dim, self.kind)


def _only(allowed: AllowedPassages | None) -> tuple[str, list[object]]:
    return ("", []) if allowed is None else (f"WHERE passage IN ({allowed.sql})", allowed.values)
