"""The folder beside an index with texts and vectors that a job on a cluster has embedded for it, until they are in it.

`scale.jobs` fills it. It goes the way of its index: it is renamed and removed with it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from semsearch.utils.writer_lock import WriterLock


def folder(index: Path) -> Path:
    """The place of that folder, which is there during a job and after one that did not end."""
    return index.parent / f".{index.name}.embedding"


@contextmanager
def no_job(index: Path) -> Iterator[None]:
    """Keep jobs away from the index meanwhile. Raises Locked while one is at work."""
    place = folder(index)
    lock = WriterLock(place) if place.is_dir() else None
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def remove(index: Path) -> None:
    """Remove what waits for an index that is gone."""
    shutil.rmtree(folder(index), ignore_errors=True)


def renamed(index: Path, target: Path) -> None:
    """Follow the index to its new name; what waited for another index there is removed."""
    before, after = folder(index), folder(target)
    if not (after.exists() and before.exists() and after.samefile(before)):  # notes and Notes may be one folder
        remove(target)
    with suppress(OSError):  # the index has its new name already, and a job embeds again what it does not find
        before.rename(after)
