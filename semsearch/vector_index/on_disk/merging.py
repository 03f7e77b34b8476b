"""Puts parts together into the file of lists, a bounded number of bytes at a time, each list by ascending ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.utils.atomic_write import sync_file
from semsearch.vector_index.on_disk.parts import row_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

CENTROIDS, SIZES, LISTS = "centroids.npy", "sizes.npy", "lists.data"
BLOCK_BYTES = 1 << 28  # of rows in memory


def merge(parts: Sequence[Path], learned: Vectors, folder: Path, tell: Callable[[int, int], None]) -> None:
    """Write the lists of `parts`, .npy files in the order of their ids, into `folder`. tell: lists done, of all."""
    opened = [np.load(part, mmap_mode="r", allow_pickle=False) for part in parts]
    count, dim = learned.shape
    sizes = np.zeros(count, np.int64)
    for part in opened:
        sizes += np.bincount(part["list"], minlength=count)
    np.save(folder / CENTROIDS, learned, allow_pickle=False)
    np.save(folder / SIZES, sizes, allow_pickle=False)
    ends = _ends(sizes, max(1, BLOCK_BYTES // row_type(dim).itemsize))
    cuts = [np.searchsorted(part["list"], [0, *ends]) for part in opened]
    with (folder / LISTS).open("wb") as file:
        for block, end in enumerate(ends):
            some = [part[cut[block] : cut[block + 1]] for part, cut in zip(opened, cuts, strict=True)]
            for one in _lists(np.concatenate([np.empty(0, row_type(dim)), *some])):
                file.write(np.ascontiguousarray(one["code"]).tobytes())
                file.write(np.ascontiguousarray(one["id"]).tobytes())
            tell(end, count)
    for name in (CENTROIDS, SIZES, LISTS):
        sync_file(folder / name)


def _ends(sizes: NDArray[np.int64], most: int) -> list[int]:
    """Where to cut the lists, so that a block has at most `most` rows, or one list.

    >>> _ends(np.array([3, 3, 9, 1, 1]), 6)
    [2, 3, 5]
    """
    ends, rows = [], 0
    for at, size in enumerate(sizes.tolist()):
        if rows and rows + size > most:
            ends.append(at)
            rows = 0
        rows += size
    return [*ends, len(sizes)]


def _lists(rows: NDArray[np.void]) -> Iterator[NDArray[np.void]]:
    """The rows of each list that has some, in the order of the parts."""
    ordered = rows[np.argsort(rows["list"], kind="stable")]
    starts = np.flatnonzero(np.diff(ordered["list"], prepend=-1))
    yield from np.split(ordered, starts[1:]) if len(ordered) else ()
