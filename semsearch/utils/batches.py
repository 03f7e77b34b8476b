"""Items in lists, for what costs less for several of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(
    items: Iterable[T],
    most: int,
    *,
    weight: Callable[[T], int] = lambda _: 0,
    heaviest: int = 1,
    key: Callable[[T], str | None] = lambda _: None,
) -> Iterator[list[T]]:
    """The items in lists of at most `most`; a list ends once its weight is `heaviest`, and before a key comes again.

    What was read before an exception is in a list too.

    >>> list(batches("abcad", 2)), list(batches("abcad", 9, key=str))
    ([['a', 'b'], ['c', 'a'], ['d']], [['a', 'b', 'c'], ['a', 'd']])
    >>> list(batches([1, 4, 2, 9, 1], 9, weight=int, heaviest=5))
    [[1, 4], [2, 9], [1]]
    """
    batch: list[T] = []
    keys: set[str] = set()
    heavy = 0
    try:
        for item in items:
            name = key(item)
            if name in keys:
                yield batch
                batch, keys, heavy = [], set(), 0
            batch.append(item)
            heavy += weight(item)
            if name is not None:
                keys.add(name)
            if len(batch) >= most or heavy >= heaviest:  # at once: the next item is not read before
                yield batch
                batch, keys, heavy = [], set(), 0
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
