"""A collection as a table with a key, and the changes of a transaction on top of it.

Keys are parts of hashes, so they are spread evenly: a table is read in pieces of a range of keys each, ascending. No
cursor of the server is needed, and rows that are added meanwhile do no harm.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from semsearch.stores.milvus.server import schema
from semsearch.stores.milvus.server.calls import MOST_ROWS, Row, Server

Key: TypeAlias = int | str
Changes: TypeAlias = dict[Key, Row | None]  # None: deleted

PIECE = 2_000  # rows of a range, about
WITH_TEXTS = 250  # with whole documents; an answer of a server has at most 100 MB
MOST_VALUES = 500  # of one list in a condition
_LAST = 2**63 - 1
_DIGITS = 12  # of a hexadecimal key that bound a range


def among(column: str, values: Iterable[int | str]) -> list[str]:
    """Conditions that `column` is one of some values, each for a part of them. The texts are keys, or words of ours."""
    listed = [f'"{value}"' if isinstance(value, str) else str(int(value)) for value in values]
    pieces = (listed[at : at + MOST_VALUES] for at in range(0, len(listed), MOST_VALUES))
    return [f"{column} in [{', '.join(piece)}]" for piece in pieces]


class Table:
    """Rows of one collection as a reader sees them, or with the changes of an open transaction."""

    def __init__(self, server: Server, collection: str, columns: tuple[schema.Column, ...]) -> None:
        self.collection = collection
        self.columns = columns
        self.changes: Changes = {}
        self.written = 0  # rows, since somebody has set it to 0
        self._server = server
        self._key = columns[0].name
        self._names = [column.name for column in columns if column.name != "nothing"]

    def get(self, keys: Iterable[Key], columns: Sequence[str] | None = None) -> dict[Key, Row]:
        """The rows with these keys, by key."""
        wanted = list(dict.fromkeys(keys))
        stored = [key for key in wanted if key not in self.changes]
        found = {row[self._key]: row for row in self._any(among(self._key, stored), columns)}
        changed = {key: self._cut(row, columns) for key in wanted if (row := self.changes.get(key)) is not None}
        return found | changed

    def where(self, column: str, values: Iterable[Key], columns: Sequence[str] | None = None) -> list[Row]:
        """The rows whose `column` is one of some values."""
        wanted = list(dict.fromkeys(values))
        conditions, names = among(column, wanted), columns or self._names
        whole = "body" in names
        found = (
            [row for piece in self.fitting(conditions, names) for row in piece]
            if whole
            else self._any(conditions, columns)
        )
        changed = [row for row in self.changes.values() if row is not None and row[column] in wanted]
        kept = [row for row in found if row[self._key] not in self.changes]
        return kept + [self._cut(row, columns) for row in changed]

    def _cut(self, row: Row, columns: Sequence[str] | None) -> Row:
        """The columns of a row that were asked for."""
        return {name: row[name] for name in (self._key, *(columns or self._names))}

    def fitting(self, conditions: Iterable[str], columns: Sequence[str]) -> Iterator[list[Row]]:
        """The rows on the server that fit any of some conditions, which exclude each other, in pieces by key."""
        for condition in conditions:
            yield from self._ranges(condition, columns, None)

    def scan(self, columns: Sequence[str] | None = None, *, after: Key | None = None) -> Iterator[list[Row]]:
        """Every row with a key above `after`, ascending, in pieces."""
        new = sorted(key for key, row in self.changes.items() if row is not None and (after is None or key > after))  # type: ignore[operator]
        for low, high, rows in self._pieces("", columns, after):
            here = [row for row in rows if row[self._key] not in self.changes]
            added = [key for key in new if _within(key, low, high)]
            here += [row for key in added if (row := self.changes[key]) is not None]
            yield sorted(here, key=lambda row: row[self._key])

    def count(self, condition: str = "") -> int:
        """Rows on the server that fit a condition, and the changes where there is none."""
        total = self._server.count(self.collection, condition)
        if condition or not self.changes:
            return total
        known = {row[self._key] for row in self._any(among(self._key, self.changes), [self._key])}
        return total - len(known) + sum(row is not None for row in self.changes.values())

    def put(self, row: Row) -> None:
        """Change a row; `write` sends it."""
        self.changes[row[self._key]] = row

    def remove(self, keys: Iterable[Key]) -> None:
        """Delete rows; `delete` does so on the server."""
        self.changes |= dict.fromkeys(keys)

    def write(self, wanted: Callable[[Row], bool] = lambda _: True) -> None:
        """Send the rows that were put, or those of them that are wanted."""
        rows = [row for row in self.changes.values() if row is not None and wanted(row)]
        if any(column.name == "nothing" for column in self.columns):
            rows = [{**row, "nothing": schema.NO_VECTOR} for row in rows]
        if rows:
            self._server.upsert(self.collection, rows)
            self.written += len(rows)

    def delete(self) -> None:
        """Delete the rows that were removed on the server."""
        gone = [key for key, row in self.changes.items() if row is None]
        self._server.delete(self.collection, among(self._key, gone))

    def drop_rows(self, keys: Iterable[Key]) -> None:
        """Delete rows on the server at once."""
        self._server.delete(self.collection, among(self._key, keys))

    def _any(self, conditions: Iterable[str], columns: Sequence[str] | None) -> list[Row]:
        names = list(dict.fromkeys([self._key, *(columns or self._names)]))
        found: list[Row] = []
        for condition in conditions:
            rows = self._server.query(self.collection, condition, names)
            if len(rows) >= MOST_ROWS:
                rows = [row for piece in self._ranges(condition, columns, None) for row in piece]
            found += rows
        return found

    def _ranges(self, condition: str, columns: Sequence[str] | None, after: Key | None) -> Iterator[list[Row]]:
        return (rows for _, _, rows in self._pieces(condition, columns, after))

    def _pieces(
        self, condition: str, columns: Sequence[str] | None, after: Key | None
    ) -> Iterator[tuple[int, int, list[Row]]]:
        """(first place, place after the last, rows) of each range of keys; a place is what a key begins with."""
        names = list(dict.fromkeys([self._key, *(columns or self._names)]))
        at_once = WITH_TEXTS if "body" in names else PIECE
        pieces = max(1, self._server.count(self.collection, condition) // at_once)
        whole = _LAST + 1 if self._is_number() else 16**_DIGITS
        bounds = [whole * at // pieces for at in range(pieces + 1)]
        left = list(itertools.pairwise(bounds))[::-1]
        while left:
            low, high = left.pop()
            if after is not None and high <= _place(after):
                continue
            tests = [*([f"({condition})"] if condition else []), self._range(low, high)]
            tests += [f"{self._key} > {_literal(after)}"] if after is not None else []
            rows = self._server.query(self.collection, " and ".join(tests), names)
            if len(rows) >= MOST_ROWS and high - low > 1:
                left += [((low + high) // 2, high), (low, (low + high) // 2)]
            else:
                yield low, high, sorted(rows, key=lambda row: row[self._key])

    def _range(self, low: int, high: int) -> str:
        if self._is_number():
            return f"{self._key} >= {low} and {self._key} <= {high - 1}"
        upper = f' and {self._key} < "{high:0{_DIGITS}x}"' if high < 16**_DIGITS else ""
        return f'{self._key} >= "{low:0{_DIGITS}x}"{upper}'

    def _is_number(self) -> bool:
        return self.columns[0].type == "INT64"


def _place(key: Key) -> int:
    return key if isinstance(key, int) else int(key[:_DIGITS], 16)


def _within(key: Key, low: int, high: int) -> bool:
    return low <= _place(key) < high


def _literal(key: Key | None) -> str:
    return f'"{key}"' if isinstance(key, str) else str(key)
