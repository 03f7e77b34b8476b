"""The rows that a user's statement of SQL is answered with, whatever the store."""

from __future__ import annotations

from collections.abc import Sequence

MOST_ROWS = 1_000_000


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
