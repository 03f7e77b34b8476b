"""Watcher of the files that an index follows: by the system's events where watchfiles can have them, else by looking.

A folder that vanishes is waited for, and followed again once it is back. Events can be lost, as when the system's queue
of them overflows, so that the watcher also looks by itself every now and then, and says so where that has found more.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TypeAlias

import semsearch
from semsearch.documents.walk import FileEntry, files
from semsearch.errors import NotFound, install_command
from semsearch.indexing.sources import Root, Roots
from semsearch.stores import drivers
from semsearch.utils.quantities import count

POLL_SECONDS = 0.5
LOOKS = 4  # times as long as a look at all files has taken, the watcher rests before the next one
CHECK_SECONDS = 1.0  # until a folder that has come back is seen
RESCAN_SECONDS = 60.0  # until changes are found whose events were lost
QUIET_MS, BURST_MS = 100, 500  # a burst ends when nothing has happened for so long, and after so long in any case
Identity: TypeAlias = "tuple[int, int] | None"  # device and inode of a folder, which may come back as another; or away


def changes(folder: Path, *, poll: bool = False, warn: Callable[[str], None] = lambda _: None) -> Iterator[bool]:
    """Yield at once, and whenever a file that the index in `folder` follows has changed. Never ends.

    What it yields says whether `warn` knows of a folder that is away.

    The state of the files is read before each yield, so a change while the caller works is found the next time.
    `warn` is told what a person should know: lost events, folders that are away, no events at all.
    """
    followed = _Followed(folder)
    seen = None
    for announced in _wakeups(followed, poll, warn):
        if seen != (now := followed.state()):
            if not announced and seen is not None:
                warn(f"{count(len(seen ^ now), 'change')} found by looking: the system has lost the events.")
            seen = now
            yield followed.warned


class _Followed:
    """The files that an index follows. `seconds` is what the last look at them has taken; `warned`: of folders away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seconds = 0.0
        self.warned = False

    def roots(self) -> tuple[Root, ...]:
        with semsearch.Index.open(self.folder) as index:
            return Roots.of(index.info()["recipe"]).roots

    def state(self) -> frozenset[tuple[str, int, int]]:
        """Path, size and modification time of every file."""
        began, entries = time.monotonic(), set()
        for root in self.roots():
            with suppress(NotFound):  # a root may be absent for a while, or vanish while it is read
                for item in files(Path(root.path), root.rules, drivers.exists):
                    if isinstance(item, FileEntry):
                        entries.add((str(item.path), item.size, item.mtime_ns))
        self.seconds = time.monotonic() - began
        return frozenset(entries)


def _wakeups(followed: _Followed, poll: bool, warn: Callable[[str], None]) -> Iterator[bool]:
    """An item whenever it is time to look again: whether there was a reason, or only time has passed."""
    if not poll:
        with suppress(_NoEvents):
            yield from _announced(followed, warn)
    while True:
        yield True
        time.sleep(max(POLL_SECONDS, LOOKS * followed.seconds))


class _NoEvents(Exception):
    """The system has no events for these files."""


def _announced(followed: _Followed, warn: Callable[[str], None]) -> Iterator[bool]:
    """As `_wakeups`, by the events of the system. Raises _NoEvents, and has told why."""
    warned: set[str] = set()
    while True:
        paths = [root.path for root in followed.roots()]
        there = _identities(paths)
        away = {path for path, identity in there.items() if identity is None}
        for path in sorted(away - warned):
            warn(f"{path} is away; its documents stay in the index, and it is followed again once it is back.")
        warned, followed.warned = away, bool(away)
        watch = _Watch([path for path in paths if path not in away], followed.folder)
        try:
            yield True
            yield from _until_moved(watch, there)
        except (OSError, ImportError, RuntimeError) as error:
            if there != _identities(paths):  # one of them went while the watch began
                continue
            reason = f"{error}. Install it: {install_command('watch')}" if isinstance(error, ImportError) else error
            followed.warned = False
            warn(f"no events of the file system, so the files are looked at every {POLL_SECONDS:g} s: {reason}")
            raise _NoEvents from error
        finally:
            watch.stop()


def _until_moved(watch: _Watch, there: Mapping[str, Identity]) -> Iterator[bool]:
    """As `_wakeups`, until a folder that is watched is away or another one, or one that was away is back."""
    looked = time.monotonic()
    while True:
        event = watch.wait(CHECK_SECONDS)
        if _identities(there) != there:
            return
        if event or time.monotonic() - looked > RESCAN_SECONDS:
            yield event
            looked = time.monotonic()


def _identities(paths: Iterable[str]) -> dict[str, Identity]:
    identities: dict[str, Identity] = dict.fromkeys(paths)
    for path in identities:
        with suppress(OSError):
            status = Path(path).stat()
            identities[path] = status.st_dev, status.st_ino
    return identities


class _Watch:
    """Events below some paths. They are waited for in a thread, as watchfiles takes SIGTERM for Ctrl-C."""

    def __init__(self, paths: list[str], folder: Path) -> None:
        self._paths = paths
        self._own = os.path.realpath(folder) + os.sep
        self._changes: SimpleQueue[Exception | None] = SimpleQueue()
        self._end = Event()
        if paths:
            Thread(target=self._run, name="semsearch-watch", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Whether something has happened within so many seconds. Raises what the watch has failed with."""
        try:
            failed = self._changes.get(timeout=seconds)
        except Empty:
            return False
        if failed is not None:
            raise failed
        return True

    def stop(self) -> None:
        """End the thread, soon."""
        self._end.set()

    def _run(self) -> None:
        try:
            watch = import_module("watchfiles").watch
            begun = False
            for changes in watch(
                *self._paths,
                watch_filter=lambda _, path: not os.path.realpath(path).startswith(self._own),
                debounce=BURST_MS,
                step=QUIET_MS,
                rust_timeout=1000,
                yield_on_timeout=True,
                stop_event=self._end,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                if changes or not begun:  # what happened before it began had no event
                    self._changes.put(None)
                begun = True
        except Exception as error:  # no watchfiles, no inotify, too few watches, a folder that has gone meanwhile
            self._changes.put(error)
