"""A sequence over one field of a dataclass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class Items(Sequence[T]):
    """A sequence of what `_items` gives."""

    __slots__ = ()

    def _items(self) -> Sequence[T]:
        raise NotImplementedError

    @overload
    def __getitem__(self, at: int, /) -> T: ...
    @overload
    def __getitem__(self, at: slice, /) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice, /) -> T | Sequence[T]:
        return self._items()[at]

    def __len__(self) -> int:
        return len(self._items())
