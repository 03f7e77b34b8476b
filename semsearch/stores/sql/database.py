"""An open database, as what all stores on SQL share sees it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from semsearch.errors import Corrupt
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.types import Ids

ROWS_PER_QUERY = 10_000
T = TypeVar("T")
Row: TypeAlias = Any  # a tuple: its columns depend on the statement


class Database(ABC):
    """Statements mark their values with `?`. `title`: of the index in messages; `repair`: what to do about damage.

    `among`: the condition that a column is one of the ids in a value that `packed` makes.
    """

    name: str
    location: Path
    title: str
    repair: ClassVar[str]
    among: ClassVar[str]

    @abstractmethod
    def packed(self, ids: Sequence[int]) -> object:
        """Ids as the value for `among`."""

    @abstractmethod
    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a statement that reads, or inside `transaction()` of one that returns what it changes."""

    @abstractmethod
    def rows_in(self, sql: str, texts: Sequence[str], *before: object) -> Iterator[Row]:
        """All rows of a SELECT that ends with a column to be one of the texts, after the values `before`."""

    @abstractmethod
    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        """Run a statement that changes rows, inside `transaction()`; how many it changed."""

    @abstractmethod
    def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement once for each row, inside `transaction()`."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read inside is of one moment. May be nested."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All inside is on disk when the outermost one ends, or none of it. An inner one that fails is undone alone."""

    @abstractmethod
    def count(self, counter: str) -> int:
        """A counter. Raises Corrupt."""

    @abstractmethod
    def add(self, counter: str, change: int) -> None:
        """Raise a counter, inside `transaction()`."""

    @abstractmethod
    def hold(self, name: str, *, alone: bool = False) -> None:
        """Until this transaction ends, no other writer holds `name` alone; alone: none holds it at all."""

    def insert(self, table: str, values: Mapping[str, object], conflict: str = "") -> int | None:
        """Insert a row, inside `transaction()`; its id, None where `conflict` keeps it out."""
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks}) {conflict} RETURNING id"
        return next((int(number) for (number,) in self.rows(sql, list(values.values()))), None)

    def update(self, table: str, number: int, values: Mapping[str, object]) -> bool:
        """Change columns of the row with this id, inside `transaction()`; whether there is one."""
        columns = ", ".join(f"{column} = ?" for column in values)
        return bool(self.execute(f"UPDATE {table} SET {columns} WHERE id = ?", (*values.values(), number)))

    def rows_of(self, sql: str, ids: Sequence[int], *before: object) -> Iterator[Row]:
        """All rows of a SELECT that ends with a column to be one of the ids, after the values `before`."""
        for piece in pieces(ids, ROWS_PER_QUERY):
            yield from self.rows(f"{sql} {self.among}", (*before, self.packed(piece)))

    def pages(self, sql: str, column: str, at: int, after: int | str, *values: object) -> Iterator[Row]:
        """All rows of a SELECT that ends before a condition, by ascending `column`, which is its column number `at`.

        after: what all values are above.
        """
        sql = f"{sql} {column} > ? ORDER BY {column} LIMIT {ROWS_PER_QUERY}"
        while rows := self.rows(sql, (*values, after)):
            yield from rows
            after = rows[-1][at]

    def ids(self, table: str, column: str, condition: str = "1 = 1") -> Ids:
        """All values of a column of ids in rows of a table, ascending; few at a time are Python's."""
        sql = (
            f"SELECT {column} FROM {table} WHERE {condition} AND {column} > ? ORDER BY {column} LIMIT {ROWS_PER_QUERY}"
        )
        parts = [np.zeros(1, np.int64)]
        while rows := self.rows(sql, (int(parts[-1][-1]),)):
            parts.append(np.array(rows, dtype=np.int64)[:, 0])
        return np.concatenate(parts)[1:]

    def document_ids(self, uris: Iterable[str]) -> list[int]:
        """Row ids of the documents that exist."""
        return [number for (number,) in self.rows_in("SELECT id FROM documents WHERE uri", list(uris))]

    def parsed(self, packed: str) -> Any:
        """A stored JSON value. Raises Corrupt."""
        try:
            return json.loads(packed)
        except (TypeError, ValueError) as error:
            raise Corrupt(f"{self.title} is damaged: {str(packed)[:40]!r} is not JSON.", self.repair) from error


def pieces(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """`values` in runs of at most `size`."""
    return (values[at : at + size] for at in range(0, len(values), size))
