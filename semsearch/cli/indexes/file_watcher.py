"""Watcher of the files that an index follows: uses `watchfiles` where it is installed, else polls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import chain
from pathlib import Path

import semsearch
from semsearch.documents.walk import FoundFile, files
from semsearch.errors import NotFound
from semsearch.indexing.sources import Root, Roots
from semsearch.stores import drivers

POLL_SECONDS = 2.0


def changes(folder: Path) -> Iterator[None]:
    """Yield at once, and whenever a file that the index in `folder` follows has changed. Never ends.

    The state of the files is read before each yield, so a change while the caller works is found the next time.
    """
    seen = None
    for _ in chain([None], _wakeups(folder)):
        if seen != (now := _state(folder)):
            seen = now
            yield


def _wakeups(folder: Path) -> Iterator[object]:
    """An item whenever it is time to look again."""
    try:
        watch = import_module("watchfiles").watch
    except ImportError:
        while True:
            time.sleep(POLL_SECONDS)
            yield None
    paths = [path for path in (Path(root.path) for root in _roots(folder)) if path.exists()]
    yield from watch(*paths, raise_interrupt=True, debounce=500)


def _roots(folder: Path) -> tuple[Root, ...]:
    with semsearch.Index.open(folder) as index:
        return Roots.of(index.info()["recipe"]).roots


def _state(folder: Path) -> frozenset[tuple[str, int, int]]:
    """Path, size and modification time of every followed file."""
    found = set()
    for root in _roots(folder):
        with suppress(NotFound):  # a root may be absent for a while, or vanish while it is read
            for item in files(Path(root.path), root.rules, drivers.exists):
                if isinstance(item, FoundFile):
                    found.add((str(item.path), item.size, item.mtime_ns))
    return frozenset(found)
