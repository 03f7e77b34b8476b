"""What a collection needs beside its rows: the HNSW index of a space, and the room of deleted rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from semsearch.errors import UnknownName
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.postgres.server.schema import vectors_table
from semsearch.stores.postgres.space_vectors import EF_CONSTRUCTION, HNSW_FROM, MOST_DIM, M, SpaceVectors
from semsearch.types import Progress
from semsearch.utils import plugins
from semsearch.vector_index import backends

if TYPE_CHECKING:
    from semsearch.stores.protocol import Rebuild

COMPARED = ("exact", "flat")  # back ends without an index; all others stand for HNSW here
_TABLES = ("documents", "passages", "words", "sources", "vocabulary", "counters", "meta", "runs", "spaces")


def update_vector_index(connection: Connection, space: SpaceVectors, backend: str, when: Rebuild) -> None:
    """Build or drop the HNSW index of a space, where that is due: the server keeps it up to date by itself.

    Writers go on meanwhile. Raises UnknownName for a backend that does not exist.
    """
    known = ("auto", *plugins.names(backends))
    if backend not in known:
        raise UnknownName("backend", backend, known)
    has, many = space.index_kind() is not None, space.count() >= HNSW_FROM
    wanted = space.dim <= MOST_DIM[space.next_kind] and (many or has if backend == "auto" else backend not in COMPARED)
    drop = f"DROP INDEX IF EXISTS {space.index}"
    over = f"{space.as_indexed(space.next_kind)} {space.next_kind}_cosine_ops"
    build = f"{space.index} ON {space.table} USING hnsw ({over}) WITH (m = {M}, ef_construction = {EF_CONSTRUCTION})"
    if has if not wanted else (has and when != "always"):
        if not wanted:
            _run(connection, [drop], lambda: False)
    elif wanted:
        _run(connection, [drop, f"CREATE INDEX {build}"], lambda: not has and space.index_kind() is not None)


def _run(connection: Connection, statements: list[str], is_done: Callable[[], bool]) -> None:
    """In the transaction that goes on; else one by one, so that others read and write meanwhile.

    Of several machines at the end of their runs, one builds the index.
    """
    if connection.is_writing:
        for statement in statements:
            connection.execute(statement)
        return
    with connection.alone("vector index") as run:
        if run is None or is_done():
            return
        for statement in statements:
            run(statement.replace("INDEX ", "INDEX CONCURRENTLY ", 1))


def compact(connection: Connection, progress: Callable[[Progress], None]) -> None:
    """Let new rows have the room of deleted ones, and renew the statistics."""
    spaces = [vectors_table(space) for (space,) in connection.rows("SELECT id FROM spaces ORDER BY id")]
    tables = [*_TABLES, *spaces]
    with connection.alone("vacuum") as run:
        for at, table in enumerate(tables):
            progress(Progress(at, len(tables), "steps", table))
            if run is not None:
                run(f"VACUUM (ANALYZE) {table}")
