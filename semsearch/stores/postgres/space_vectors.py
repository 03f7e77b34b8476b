"""The vectors of one space: read in pieces, and searched by the server, exactly or with an HNSW index.

Which way is the planner's choice: few vectors are compared one by one, from HNSW_FROM on an index of pgvector is built
(Malkov, Yashunin 2016), which the server keeps up to date. Its candidates are ordered by their cosines with the stored
vectors. Where it finds too few, because a filter or deletions take them away, every vector is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from semsearch.errors import NotFound, UnknownName
from semsearch.stores.postgres.allowed import AllowedPassages
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.postgres.server.schema import kind_of_vectors, vectors_table
from semsearch.stores.postgres.server.vector_types import Kind, unpacked, written
from semsearch.stores.protocol import Dense
from semsearch.utils import plugins
from semsearch.utils import vectors as vector_checks
from semsearch.vector_index import backends
from semsearch.vector_index.backends import _top

if TYPE_CHECKING:
    from semsearch.stores.protocol import Rebuild
    from semsearch.types import Ids, JsonObject, Vectors

HNSW_FROM = 10_000  # vectors: comparing them all takes the server 10 ms at 384 dimensions
MOST_DIM = {"vector": 2_000, "halfvec": 4_000}  # of an HNSW index in pgvector
M, EF_CONSTRUCTION = 16, 128  # edges of a node, and candidates while it is inserted: pgvector's 16, twice its 64
LEAST_MEMORY, MOST_MEMORY = 64, 1024  # megabytes of the server while an index is built
LEAST_EF, MOST_EF = 400, 1_000  # candidates of a search: 99.6 % of the ten nearest of 29,333; the second is the limit
BREADTH = 4  # candidates for each hit
SUBSET_SHARE = 0.05  # of the vectors; fewer allowed passages are compared one by one
MANY_QUERIES = 8  # from so many on, vectors are read once and compared here
IDS_PER_QUERY = 100_000
_MEMORY = "pg_size_bytes(current_setting('maintenance_work_mem')) / 1048576"
COMPARED = ("exact", "flat")  # back ends without an index; all others stand for HNSW here


class SpaceVectors:
    """Raises NotFound for an unknown space."""

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

    @property
    def next_kind(self) -> Kind:
        """The type of the vectors in the next HNSW index; a table keeps the type that it was made with."""
        return "halfvec" if self.kind == "halfvec" else kind_of_vectors(self._db.pgvector)

    def index_kind(self) -> Kind | None:
        """The type of the vectors in the HNSW index; None where there is no finished one."""
        sql = """SELECT o.opcname FROM pg_index i JOIN pg_opclass o ON o.oid = i.indclass[0]
                 WHERE indexrelid = to_regclass(?) AND indisvalid"""
        rows = self._db.rows(sql, (self.index,))
        return cast(Kind, rows[0][0].removesuffix("_cosine_ops")) if rows else None

    def as_indexed(self, kind: Kind) -> str:
        """What an index of vectors of this type is over."""
        return "vector" if kind == self.kind else f"(vector::{kind}({self.dim}))"

    def ids(self) -> Ids:
        """The passages with a vector, ascending."""
        sql = f"SELECT passage FROM {self.table} WHERE passage > ? ORDER BY passage LIMIT ?"
        parts = [np.zeros(1, np.int64)]
        while rows := self._db.rows(sql, (int(parts[-1][-1]), IDS_PER_QUERY)):
            parts.append(np.array(rows, dtype=np.int64)[:, 0])
        return np.concatenate(parts)[1:]

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

    def search(self, queries: Vectors, k: int, allowed: AllowedPassages | None, *, exact: bool) -> Dense:
        """The nearest passages of unit queries (q, d). Call it inside a snapshot."""
        rows = vector_checks.check(queries, dim=self.dim, what="query")
        if allowed is not None and not len(allowed):
            return Dense(*_top.nothing(len(rows), k), _plan("exact subset", "exact", allowed))
        if not exact and self._is_indexed(k, allowed) and (kind := self.index_kind()):
            return self._by_index(rows, k, allowed, kind)
        plan = _plan("exact" if allowed is None else "exact subset", "exact", allowed)
        if len(rows) >= MANY_QUERIES:
            return Dense(*self._compared_here(rows, k, allowed), plan)
        return Dense(*_stacked([self._exact(query, k, allowed) for query in rows], k), plan)

    def _is_indexed(self, k: int, allowed: AllowedPassages | None) -> bool:
        few = allowed is not None and len(allowed) <= SUBSET_SHARE * self.count()
        return k <= MOST_EF and not few

    def _exact(self, query: Vectors, k: int, allowed: AllowedPassages | None) -> list[tuple[int, float]]:
        """(passage, cosine) of the k nearest, every vector compared. The sum keeps an index out of it."""
        only, values = _only(allowed)
        near = "(vector::vector <=> ?::vector)"
        sql = f"SELECT passage, 1 - {near} FROM {self.table} {only} ORDER BY {near} + 0, passage LIMIT ?"
        text = written(query)
        return self._db.rows(sql, [text, *values, text, k])

    def _by_index(self, queries: Vectors, k: int, allowed: AllowedPassages | None, kind: Kind) -> Dense:
        ef = min(MOST_EF, max(LEAST_EF, BREADTH * k)) if allowed is None else MOST_EF
        self._db.set_local("hnsw.ef_search", ef)
        enough = min(k, len(allowed) if allowed is not None else self.count())
        nearest, plan = [], {**_plan("hnsw", "hnsw", allowed), "fetched": ef}
        for query in queries:
            near = self._nearest(query, k, ef, allowed, kind)
            if len(near) < enough:
                near = self._exact(query, k, allowed)
                plan["pass"] = "hnsw, then exact"
            nearest.append(near)
        return Dense(*_stacked(nearest, k), plan)

    def _nearest(
        self, query: Vectors, k: int, ef: int, allowed: AllowedPassages | None, kind: Kind
    ) -> list[tuple[int, float]]:
        only, values = _only(allowed)
        text = written(query)
        distance = f"{self.as_indexed(kind)} <=> ?::{kind}({self.dim})"
        inner = f"SELECT passage, vector FROM {self.table} ORDER BY {distance} LIMIT ?"
        sql = f"""WITH near AS MATERIALIZED ({inner})
                  SELECT passage, 1 - (vector::vector <=> ?::vector) AS cosine FROM near {only}
                  ORDER BY cosine DESC, passage LIMIT ?"""
        return self._db.rows(sql, [text, ef, text, *values, k])

    def _compared_here(self, queries: Vectors, k: int, allowed: AllowedPassages | None) -> tuple[Ids, Vectors]:
        nearest = _top.nothing(len(queries), k)
        for ids, stored in self.vectors(chunk=4096):
            here = slice(None) if allowed is None else allowed.inside(ids)
            best = _top.best(ids[here], queries @ stored[here].T, k)
            nearest = _top.merge([nearest, best], k)
        return nearest

    # ---- the index

    def update_index(self, backend: str, when: Rebuild) -> None:
        """Build or drop the HNSW index, where that is due: the server keeps it up to date by itself.

        Writers go on meanwhile. Raises UnknownName for a backend that does not exist.
        """
        names = ("auto", *plugins.names(backends))
        if backend not in names:
            raise UnknownName("backend", backend, names)
        has, many = self.index_kind() is not None, self.count() >= HNSW_FROM
        due = many or has if backend == "auto" else backend not in COMPARED
        needed = due and self.dim <= MOST_DIM[self.next_kind]
        if has if not needed else (has and when != "always"):
            if not needed:
                self._run([f"DROP INDEX IF EXISTS {self.index}"], lambda: False)
        elif needed:
            self._run(self._building(), lambda: not has and self.index_kind() is not None)

    def _building(self) -> list[str]:
        """Build an index beside the present one, which searches use until the new one has its name."""
        new, old = f"{self.index}_new", f"{self.index}_old"
        over = f"USING hnsw ({self.as_indexed(self.next_kind)} {self.next_kind}_cosine_ops)"
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

    # ---- for `info`

    def backend(self) -> JsonObject:
        """What searches the space, for `Index.info`: the backend and the reason for it."""
        count, indexed = self.count(), self.index_kind()
        why = f"{count:,} vectors; compared one by one up to {HNSW_FROM:,}"
        if indexed:
            why = f"{count:,} vectors; an index of pgvector ({indexed}, m={M}, ef_construction={EF_CONSTRUCTION})"
        elif self.dim > MOST_DIM[self.next_kind]:
            why = f"{count:,} vectors; pgvector has no index for a width of {self.dim:,}"
        elif count >= HNSW_FROM:
            why = f"{count:,} vectors; no index was built yet, or an exact search was asked for"
        return {
            "backend": "hnsw" if indexed else "exact",
            "why": why if count else "empty",
            "cache": None,
            "newer_than_cache": 0,
        }

    def _rows(self, condition: str, *parameters: object) -> list[tuple[int, bytes]]:
        return self._db.rows(f"SELECT passage, vector FROM {self.table} WHERE {condition}", parameters)

    def _unpacked(self, rows: Sequence[tuple[int, bytes]]) -> tuple[Ids, Vectors]:
        ids, packed = zip(*rows, strict=True)
        return np.array(ids, dtype=np.int64), unpacked(packed, self.dim, self.kind)


def _only(allowed: AllowedPassages | None) -> tuple[str, list[object]]:
    return ("", []) if allowed is None else (f"WHERE passage IN ({allowed.sql})", allowed.values)


def _stacked(nearest: Sequence[Sequence[tuple[int, float]]], k: int) -> tuple[Ids, Vectors]:
    """The hits of q queries as ids (q, k) and cosines (q, k), padded with -1 and -inf."""
    ids, cosines = _top.nothing(len(nearest), k)
    for at, hits in enumerate(nearest):
        ids[at, : len(hits)] = [passage for passage, _ in hits]
        cosines[at, : len(hits)] = [cosine for _, cosine in hits]
    return ids, cosines


def _plan(way: str, backend: str, allowed: AllowedPassages | None) -> JsonObject:
    return {"pass": way, "backend": backend, "allowed": None if allowed is None else len(allowed)}
