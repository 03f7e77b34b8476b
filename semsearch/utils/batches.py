"""Items in lists, for what costs less for several of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(
    items: Iterable[T], most: int, *, weight: Callable[[T], int] = lambda _: 0, heaviest: int = 1
) -> Iterator[list[T]]:
    """The items in lists of at most `most`; a list ends once its weight is `heaviest`.

    What was read before an exception is in a list too.

    >>> list(batches("abcad", 2)), list(batches([1, 4, 2, 9, 1], 9, weight=int, heaviest=5))
    ([['a', 'b'], ['c', 'a'], ['d']], [[1, 4], [2, 9], [1]])
    """
    batch: list[T] = []
    heavy = 0
    try:
        for item in items:
            batch.append(item)
            heavy += weight(item)
            if len(batch) >= most or heavy >= heaviest:  # at once: the next item is not read before
                yield batch
                batch, heavy = [], 0
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
