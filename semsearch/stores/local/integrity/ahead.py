"""Two readings side by side: one asks by ascending key for what the other has of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """Values by ascending key, for a reader who asks for ascending keys too; those in between are dropped."""

    def __init__(self, items: Iterator[tuple[int, T]]) -> None:
        self._items = items
        self._next = next(items, None)

    def at(self, key: int) -> list[T]:
        """The values of a key."""
        values = []
        while self._next is not None and self._next[0] <= key:
            if self._next[0] == key:
                values.append(self._next[1])
            self._next = next(self._items, None)
        return values
