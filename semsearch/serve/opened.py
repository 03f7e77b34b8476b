"""The indexes that are open: each is opened by the first request, and the least recently used is closed."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from semsearch.errors import NotFound
from semsearch.index import Index


@dataclass(slots=True)
class _Open:
    """An open index, how many requests use it, and whether it is to be closed after the last of them."""

    index: Index
    identity: tuple[int, int]
    users: int = 0
    retired: bool = False


class OpenIndexes:
    """At most `most` indexes of the folder `home` stay open beside those in use. Threads may share it.

    Another process may write to them, remove them and create them again: a request sees what is there when it comes.
    """

    def __init__(self, home: Path, most: int) -> None:
        self.home = home
        self._most = most
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._lock = threading.Lock()
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def names(self) -> list[str]:
        """The indexes that there are, sorted."""
        return Index.names(self.home)

    @contextmanager
    def reading(self, name: str) -> Iterator[Index]:
        """An index to search. Raises NotFound."""
        used = self._used(name)
        try:
            yield used.index
        finally:
            with self._lock:
                used.users -= 1
                close = used.retired and not used.users
            if close:
                used.index.close()

    @contextmanager
    def writing(self, name: str) -> Iterator[Index]:
        """An index to write to. It has the writer's lock for no longer than this. Raises NotFound, Locked."""
        with self.reading(name) as index:
            encoder = index.encoder if index.info()["recipe"].get("encoder", "default") is not None else None
            with self._turns[name], Index.open(name, home=self.home, encoder=encoder) as writer:
                yield writer

    def close(self) -> None:
        """Close all, those in use after their last request."""
        with self._lock:
            idle = [used for name in list(self._open) if (used := self._retire(name))]
        for each in idle:
            each.index.close()

    def _used(self, name: str) -> _Open:
        if name not in self.names():  # a name with a slash would be a path
            raise NotFound(f"there is no index called {name!r}.", "GET /indexes lists them.")
        identity = Index.identity(name, self.home)
        idle = []
        with self._lock:
            used = self._open.get(name)
            if used is not None and used.identity != identity:
                idle.append(self._retire(name))
                used = None
            if used is None:
                used = self._open[name] = _Open(Index.open(name, home=self.home), identity)
            used.users += 1
            self._open.move_to_end(name)
            while len(self._open) > self._most:
                idle.append(self._retire(next(iter(self._open))))
        for each in idle:
            if each is not None:
                each.index.close()
        return used

    def _retire(self, name: str) -> _Open | None:
        """Forget an index; itself, if nobody uses it and it is to be closed now."""
        used = self._open.pop(name)
        used.retired = True
        return None if used.users else used
