"""The vectors of a space: read, compared, counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores.milvus import rows
from semsearch.stores.milvus.server.calls import MOST_ROWS, effort
from semsearch.stores.protocol import Dense
from semsearch.utils import vectors as checks

if TYPE_CHECKING:
    from semsearch.stores.milvus.index_tables import IndexTables
    from semsearch.stores.milvus.server.calls import Row
    from semsearch.stores.milvus.server.tables import Table
    from semsearch.stores.records import Space
    from semsearch.types import Ids, JsonObject, Vectors

QUERIES = 100  # in one search
READ = 1_000  # vectors asked for by id at a time


def read(table: Table, *, after: int, ids: Ids | None, chunk: int) -> Iterator[tuple[Ids, Vectors]]:
    """(ids (m,) ascending, vectors (m, d)) in pieces of at most `chunk`."""
    held: list[tuple[int, list[float]]] = []
    for piece in _found(table, after, ids):
        held += [(row["id"], row["vector"]) for row in piece]
        while len(held) >= chunk:
            yield _arrays(held[:chunk])
            held = held[chunk:]
    if held:
        yield _arrays(held)


def _found(table: Table, after: int, ids: Ids | None) -> Iterator[list[Row]]:
    if ids is None:
        yield from table.scan(["vector"], after=after)
        return
    wanted = sorted(one for one in {*np.asarray(ids, dtype=np.int64).tolist()} if one > after)
    for at in range(0, len(wanted), READ):
        found = table.get(wanted[at : at + READ], ["vector"])
        yield [found[one] for one in wanted[at : at + READ] if one in found]


def _arrays(held: Sequence[tuple[int, list[float]]]) -> tuple[Ids, Vectors]:
    return rows.array([one for one, _ in held]), np.array([row for _, row in held], dtype=np.float32)


def ids(table: Table) -> Ids:
    """The passages that have a vector, ascending."""
    return rows.array([row["id"] for piece in table.scan(["id"]) for row in piece])


def missing(tables: IndexTables, table: Table, *, after: int, limit: int) -> Ids:
    """The first passages above `after` without a vector, ascending."""
    found: list[int] = []
    for piece in tables.passages.scan(["id"], after=after):
        here = [row["id"] for row in piece]
        have = table.get(here, ["id"])
        found += [one for one in here if one not in have]
        if 0 <= limit <= len(found):
            return rows.array(found[:limit])
    return rows.array(found)


def nearest(
    tables: IndexTables, space: int, queries: Vectors, k: int, conditions: Sequence[str] | None, *, exact: bool
) -> Dense:
    """The nearest passages of unit queries (q, d) among those that fit any of the conditions."""
    record = tables.space_record(space)
    table, index = tables.vectors(space, record["dim"]), record["index"]
    asked = checks.check(queries, dim=table.columns[-1].size, what="query")
    found = [Best(k) for _ in asked]
    streamed = k > MOST_ROWS or (exact and index != "FLAT")
    for condition in ("",) if conditions is None else conditions:
        if streamed:
            _compare_all(table, asked, found, condition)
        elif k > 0:
            for at in range(0, len(asked), QUERIES):
                hits = tables.server.nearest(
                    table.collection, asked[at : at + QUERIES].tolist(), k, condition, effort(index, k)
                )
                for best, ranked in zip(found[at : at + QUERIES], hits, strict=True):
                    best.add(ranked)
    columns = [best.arrays() for best in found]
    shape = len(asked), k
    way = "exact" if streamed or index == "FLAT" or tables.server.address.is_file else index.lower()
    return Dense(
        np.array([one for one, _ in columns], dtype=np.int64).reshape(shape),
        np.array([cosines for _, cosines in columns], dtype=np.float32).reshape(shape),
        {"store": "milvus", "pass": way, "index": index, "conditions": len(conditions or ())},
    )


class Best:
    """The k best of the hits that are added."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._hits: dict[int, float] = {}

    def add(self, hits: Sequence[tuple[int, float]]) -> None:
        self._hits |= dict(hits)
        if len(self._hits) > 4 * max(self._k, 1_000):
            self._hits = dict(self._sorted())

    def arrays(self) -> tuple[list[int], list[float]]:
        """Ids and cosines, padded with -1 and -inf."""
        best = self._sorted()
        pad = self._k - len(best)
        return [one for one, _ in best] + [-1] * pad, [cosine for _, cosine in best] + [-np.inf] * pad

    def _sorted(self) -> list[tuple[int, float]]:
        return sorted(self._hits.items(), key=lambda hit: (-hit[1], hit[0]))[: self._k]


def _compare_all(table: Table, queries: Vectors, found: Sequence[Best], condition: str) -> None:
    pieces = table.fitting([condition], ["vector"]) if condition else table.scan(["vector"])
    for piece in pieces:
        if not piece:
            continue
        known, matrix = _arrays([(row["id"], row["vector"]) for row in piece])
        for best, cosines in zip(found, queries @ matrix.T, strict=True):
            best.add(list(zip(known.tolist(), cosines.tolist(), strict=True)))


def info(tables: IndexTables, space: Space, count: int) -> JsonObject:
    """The entry of a space in `info`."""
    index = tables.space_record(space.id)["index"]
    encoder = {key: value for key, value in space.info.items() if key != "background"}
    return {
        "id": space.id,
        "encoder": {**encoder, "name": space.name, "fingerprint": space.fingerprint},
        "dim": space.dim,
        "vectors": count,
        "backend": f"milvus {index}",
        "why": f"chosen by the address it was made with; consistency {tables.server.address.consistency}",
        "cache": None,
        "newer_than_cache": 0,
    }
