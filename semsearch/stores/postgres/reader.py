"""The PostgreSQL store, open for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from semsearch.stores import base, keyword_search, machine
from semsearch.stores.postgres import facets, verification
from semsearch.stores.postgres.allowed import AllowedPassages, allowed
from semsearch.stores.postgres.escapes import restored, stored, stored_all
from semsearch.stores.postgres.filter_sql import PostgresFilters
from semsearch.stores.postgres.full_text.matching import PostgresMatching
from semsearch.stores.postgres.reading.documents import DocumentReader, this_machine
from semsearch.stores.postgres.reading.passages import PassageReader
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.postgres.server.schema import MACHINE
from semsearch.stores.postgres.space_vectors import SpaceVectors
from semsearch.stores.protocol import Allowed, Dense, Lexical, of_this_store
from semsearch.stores.query_words import terms
from semsearch.stores.records import Space, StoreState
from semsearch.stores.sql import filters
from semsearch.stores.sql.filters import SQL
from semsearch.types import Facet, JsonObject, Progress
from semsearch.utils.strength import NullDistribution

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.types import Ids, Vectors

_SPACES = """FROM spaces ORDER BY id = (SELECT value::integer FROM meta WHERE key = 'space') DESC NULLS LAST, id"""
_SIZE = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
           WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind = 'r'"""


class PostgresReader(DocumentReader, PassageReader):
    """A collection that is open for reading. No call waits for a writer, or sees half a document.

    Threads may share one: each call, and each snapshot of a thread, has a connection of its own. The methods are
    described in `stores.protocol.StoreReader`.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.name, self.location = connection.name, connection.location
        self._db = connection

    def close(self) -> None:
        """Close the connections. Every later call raises SemsearchError."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the whole

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        with self._db.snapshot():
            yield self._db.count("version")

    def state(self) -> StoreState:
        with self._db.snapshot():
            spaces = self.spaces()
            return StoreState(
                self._db.count("documents"),
                self._db.count("passages"),
                {space.id: self._db.count(f"vectors {space.id}") for space in spaces},
                bool(self._db.rows("SELECT 1 FROM meta WHERE key = 'updating'")),
                int(self._db.rows("SELECT coalesce(max(id), 0) FROM documents")[0][0]),
                self._recipe(),
                spaces,
            )

    def _recipe(self) -> JsonObject:
        rows = dict(
            self._db.rows("SELECT key, value FROM meta WHERE key = 'recipe' OR starts_with(key, %s)", (MACHINE,))
        )
        shared = self._db.parsed(rows.pop("recipe", "{}"))
        own = self._db.parsed(rows.pop(MACHINE + this_machine(), "{}"))
        return machine.whole(shared, own, map(self._db.parsed, rows.values()))

    def runs(self) -> Iterator[JsonObject]:
        for (number,) in self._db.rows("SELECT id FROM runs ORDER BY id DESC"):  # each may name thousands of files
            for (report,) in self._db.rows("SELECT report FROM runs WHERE id = %s", (number,)):
                yield self._db.parsed(report)

    def spaces(self) -> list[Space]:
        """As in `state`."""
        rows = self._db.rows(f"SELECT id, fingerprint, name, dim, info, quantiles, measured {_SPACES}")
        return [
            Space(
                number,
                restored(fingerprint),
                restored(name),
                dim,
                self._db.parsed(info),
                NullDistribution.recorded(quantiles, count),
            )
            for number, fingerprint, name, dim, info, quantiles, count in rows
        ]

    def info(self) -> JsonObject:
        with self.snapshot():
            ((size,),) = self._db.rows(_SIZE)
            described = {space.id: SpaceVectors(self._db, space.id).backend() for space in self.spaces()}
            return base.info(self, size, described, f"postgres:{self._db.server.where}")

    # ---- search

    def allowed(
        self, condition: Filter | None, must: Sequence[str] = (), *, ids: Ids | None = None
    ) -> AllowedPassages | None:
        if condition is None and not must and ids is None:
            return None
        with self._db.snapshot():
            return allowed(self._db, condition, must, ids)

    def document_ids(
        self, condition: Filter | None, *, ids: Sequence[str] | None = None, after: str = "", limit: int = -1
    ) -> list[str]:
        with self._db.snapshot():
            here: SQL = ("d.uri = ANY(%s::text[])", [stored_all(ids)]) if ids is not None else filters.EVERYTHING
            return list(
                map(restored, filters.document_ids(PostgresFilters(self._db), condition, stored(after), limit, here))
            )

    def count_documents(self, condition: Filter | None) -> int:
        with self._db.snapshot():
            if condition is None:
                return self._db.count("documents")
            return filters.count_documents(PostgresFilters(self._db), condition)

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self._db.snapshot():
            here = of_this_store(allowed, AllowedPassages)
            return SpaceVectors(self._db, space).search(queries, k, here, exact=exact)

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        here, words = of_this_store(allowed, AllowedPassages), terms(text)
        with self._db.snapshot():
            if k < 1 or not words or (here is not None and not len(here)):
                return keyword_search.nothing()
            return keyword_search.search(PostgresMatching(self._db, None if here is None else here.inside), words, k)

    def facets(self) -> list[Facet]:
        with self._db.snapshot():
            return facets.facets(self._db)

    # ---- verification

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        with self._db.snapshot():
            return verification.verify(self._db, progress)
