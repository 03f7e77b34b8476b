"""When the files that an index follows have changed. watchfiles wakes us where it is installed, else the clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

EVERY_S = 2.0


def changes(folder: Path) -> Iterator[None]:
    """Yields at once, and each time a file that the index in `folder` follows has changed. Never ends.

    The files are looked at before each yield, so what changes while the caller is busy is seen the next time.
    """
    seen = _signature(folder)
    yield
    for _ in _wakes(folder):
        now = _signature(folder)
        if now != seen:
            seen = now
            yield


def _wakes(folder: Path) -> Iterator[Any]:
    """A reason to look again, or the time for it."""
    try:
        watch = import_module("watchfiles").watch
    except ImportError:
        while True:
            time.sleep(EVERY_S)
            yield None
    yield from watch(*_roots(folder), raise_interrupt=True, debounce=500)


def _roots(folder: Path) -> list[Path]:
    return [path for path in (Path(root.path) for root in _followed(folder)) if path.exists()]


def _followed(folder: Path) -> Any:
    from semsearch.index import Index
    from semsearch.indexing.sources import Roots

    with Index.open(folder) as index:
        return Roots.of(index.info()["recipe"]).roots


def _signature(folder: Path) -> frozenset[tuple[str, int, int]]:
    """Name, size and time of every file that is followed."""
    return frozenset(stamp for root in _followed(folder) for stamp in _stamps(root))


def _stamps(root: Any) -> Iterator[tuple[str, int, int]]:
    """Those below one root; none while it is away, and it may go while it is looked through."""
    from semsearch.documents.walk import FoundFile, files
    from semsearch.errors import NotFound

    try:
        for item in files(Path(root.path), root.rules):
            if isinstance(item, FoundFile):
                yield str(item.path), item.size, item.mtime_ns
    except NotFound:
        return
