"""The rows that a user's statement of SQL is answered with, whatever the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from sys import getsizeof

from semsearch.errors import UsageError
from semsearch.types import SqlValue

MOST_ROWS = 1_000_000
MOST_BYTES = 1 << 29  # of all rows, since they are in memory together


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names of columns, of which a repeated one gets a number, so that no value is lost.

    >>> distinct(["id", "text", "id", "id_2"])
    ('id', 'text', 'id_3', 'id_2')
    """
    made: list[str] = []
    for name in names:
        number, free = 1, name
        while free in made or (number > 1 and free in names):
            number += 1
            free = f"{name}_{number}"
        made.append(free)
    return tuple(made)


def fetched(rows: Iterable[tuple[SqlValue, ...]]) -> list[tuple[SqlValue, ...]]:
    """All rows. Raises UsageError where they are too many, or take too much memory."""
    taken: list[tuple[SqlValue, ...]] = []
    size = 0
    for row in rows:
        taken.append(row)
        size += getsizeof(row) + sum(map(getsizeof, row))
        if size > MOST_BYTES:
            raise UsageError(f"the rows take more than {MOST_BYTES >> 20} MB.", "Select fewer columns, or add a LIMIT.")
        if len(taken) > MOST_ROWS:
            raise UsageError(f"there are more than {MOST_ROWS:,} rows.", "Add a LIMIT.")
    return taken
