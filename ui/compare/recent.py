"""A mapping that keeps what was set last."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class RecentDict(OrderedDict[K, V]):
    """A dict of at most `size` items: setting one makes it the newest, and the oldest goes.

    >>> recent = RecentDict[str, int](2)
    >>> recent["a"], recent["b"], recent["a"], recent["c"] = 1, 2, 3, 4
    >>> dict(recent)
    {'a': 3, 'c': 4}
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self.size:
            self.popitem(last=False)
