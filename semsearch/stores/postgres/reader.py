"""The PostgreSQL store, open for reading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from semsearch.stores import machine_recipes
from semsearch.stores.postgres import verification
from semsearch.stores.postgres.allowed import AllowedPassages, allowed
from semsearch.stores.postgres.filter_sql import PostgresFilters
from semsearch.stores.postgres.full_text.matching import PostgresMatching
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.postgres.server.schema import MACHINE
from semsearch.stores.postgres.space_vectors import SpaceVectors
from semsearch.stores.protocol import Allowed, Dense, of_this_store
from semsearch.stores.sql import facet_counts
from semsearch.stores.sql.reader import SqlReader
from semsearch.utils.strength import NullDistribution

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.stores.records import Space
    from semsearch.types import Facet, Ids, JsonObject, Progress, Vectors

_FACETS = "SELECT d.metadata, s.loader, s.mtime_ns FROM documents d LEFT JOIN sources s ON s.id = d.source"
_SIZE = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
           WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind = 'r'"""


class PostgresReader(SqlReader):
    """A collection that is open for reading. No call waits for a writer, or sees half a document.

    Threads may share one: each call, and each snapshot of a thread, has a connection of its own.
    """

    TEXT = "body"
    MEASURED = "quantiles, measured"
    OWN = "machine = ?"
    ROOT = "CASE WHEN s.machine = ? THEN s.root END"  # a file of another machine cannot be opened here
    ALLOWED = AllowedPassages

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.connection = connection

    @property
    def own(self) -> tuple[str, ...]:
        return (machine_recipes.name(),)

    def close(self) -> None:
        self.connection.close()

    def _vector_counts(self, spaces: Sequence[Space]) -> dict[int, int]:
        return {space.id: self._db.count(f"vectors {space.id}") for space in spaces}

    def _recipe(self) -> JsonObject:
        sql = "SELECT key, value FROM meta WHERE key = 'recipe' OR starts_with(key, ?)"
        recipes = {key: self._db.parsed(value) for key, value in self._db.rows(sql, (MACHINE,))}
        shared, own = recipes.pop("recipe", {}), recipes.pop(MACHINE + machine_recipes.name(), {})
        return machine_recipes.whole(shared, own, recipes.values())

    def _null_distribution(self, numbers: Any, passages: int) -> NullDistribution | None:
        return NullDistribution.recorded(numbers, passages)

    def _size(self) -> int:
        return int(self._db.rows(_SIZE)[0][0])

    def _server(self) -> str:
        return f"postgres:{self.connection.server.where}"

    def _text(self, body: Any) -> str:
        return str(body)

    def _space(self, space: int) -> SpaceVectors:
        return SpaceVectors(self.connection, space)

    # ---- search

    def _filters(self) -> PostgresFilters:
        return PostgresFilters(self.connection)

    def allowed(
        self, condition: Filter | None, must: Sequence[str] = (), *, ids: Ids | None = None
    ) -> AllowedPassages | None:
        if condition is None and not must and ids is None:
            return None
        with self._db.snapshot():
            return allowed(self.connection, condition, must, ids)

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self._db.snapshot():
            return self._space(space).search(queries, k, of_this_store(allowed, AllowedPassages), exact=exact)

    def _matching(self, allowed: AllowedPassages | None) -> PostgresMatching:
        return PostgresMatching(self.connection, None if allowed is None else allowed.inside)

    def facets(self) -> list[Facet]:
        with self._db.snapshot():
            return facet_counts.counted(self._db.rows(_FACETS))

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        with self._db.snapshot():
            return verification.verify(self.connection, progress)
