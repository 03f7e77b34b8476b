"""The passages that pass a filter: a SELECT of their ids, which becomes a part of the statements of a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores.postgres.filter_sql import PostgresFilters
from semsearch.stores.postgres.full_text.words import contains
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.sql.folding import fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.filters import Filter
    from semsearch.stores.sql.filters import SQL
    from semsearch.types import Ids


class AllowedPassages:
    """The passages that pass: the SELECT `sql` with its `values`, and their number."""

    def __init__(self, connection: Connection, sql: str, values: Sequence[object]) -> None:
        self._connection = connection
        self.sql, self.values = sql, list(values)
        self._ids: Ids | None = None
        ((self._count,),) = connection.rows(f"SELECT count(*) FROM ({sql}) allowed", self.values)

    def __len__(self) -> int:
        return int(self._count)

    def inside(self, ids: Ids) -> NDArray[np.bool_]:
        """(n,) whether each of `ids` passes."""
        if self._ids is None:
            rows = self._connection.rows(self.sql, self.values)
            self._ids = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
        return np.isin(ids, self._ids)


def allowed(connection: Connection, condition: Filter | None, must: Sequence[str], ids: Ids | None) -> AllowedPassages:
    """The passages (of `ids`) that pass the filter and contain every entry of `must`; those that are gone are left out.

    Raises as `StoreReader.allowed` does.
    """
    parts = [] if condition is None else [PostgresFilters(connection).passages(condition)]
    parts += [_containing(fold(entry)) for entry in must]
    parts += [] if ids is None else [("SELECT id FROM passages WHERE id = ANY(?::bigint[])", [ids.tolist()])]
    sql = " INTERSECT ".join(f"({part})" for part, _ in parts) if len(parts) > 1 else parts[0][0]
    return AllowedPassages(connection, sql, [value for _, values in parts for value in values])


def _containing(entry: str) -> SQL:
    condition, values = contains(entry)
    return f"SELECT passage FROM words WHERE {condition}", values
