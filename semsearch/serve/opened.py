"""The indexes that are open: each is opened by the first request, and the least recently used is closed."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from semsearch.encoders.encoder_pool import EncoderPool
from semsearch.errors import NotFound
from semsearch.index import Index, admin
from semsearch.serve.batching import BatchedEncoder, StoppableEncoder

LONGEST_ANSWER = 2**26  # bytes, besides its longest item


@dataclass(slots=True)
class _Open:
    """An open index, how many requests use it, and whether it is to be closed after the last of them."""

    index: Index
    identity: tuple[int, int]
    users: int = 0
    retired: bool = False


class OpenIndexes:
    """At most `most` indexes of the folder `home` stay open beside those in use. Threads may share it.

    They have their encoders from `encoders`, and read no files for queries. Another process may write to them, remove
    them and create them again: a request sees what is there when it comes.
    """

    def __init__(self, home: Path, most: int, encoders: EncoderPool, stopping: threading.Event | None = None) -> None:
        """`stopping`: once it is set, a write ends with an error where it would encode more."""
        self.home = home
        self._stopping = stopping or threading.Event()
        self._most, self._encoders = most, encoders
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._lock = threading.Lock()
        self._opening: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def names(self) -> list[str]:
        """The indexes that there are, sorted."""
        return admin.names(self.home)

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
        """An index to write to. It has the writer's lock for no longer than this. Raises NotFound, Locked.

        Its passages are encoded beside the queries of others, not in turn with them.
        """
        with self.reading(name) as index:
            encoder = index.encoder
            own = StoppableEncoder(encoder.model, self._stopping) if isinstance(encoder, BatchedEncoder) else None
            with self._turns[name], Index.open(name, home=self.home, encoder=own) as writer:
                yield writer

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def close(self) -> None:
        """Close all, those in use after their last request."""
        with self._lock:
            idle = [used for name in list(self._open) if (used := self._retire(name))]
        for each in idle:
            each.index.close()

    def _used(self, name: str) -> _Open:
        if name not in self._open and name not in self.names():  # a name with a slash would be a path
            raise _missing(name)
        try:
            identity = admin.identity(name, self.home)
        except NotFound:  # its message has the path
            raise _missing(name) from None
        with self._opening[name]:  # an index on a server that does not answer holds up no other
            with self._lock:
                used = self._open.get(name)
                if used is not None and used.identity == identity:
                    used.users += 1
                    self._open.move_to_end(name)
                    return used
                old = None if used is None else self._retire(name)
            if old is not None:
                old.index.close()
            used = _Open(self._opened(name), identity, users=1)
            with self._lock:
                self._open[name] = used
                idle = [self._retire(next(iter(self._open))) for _ in range(len(self._open) - self._most)]
        for each in filter(None, idle):
            each.index.close()
        return used

    def _opened(self, name: str) -> Index:
        return Index.open(
            name, home=self.home, like_files=False, encoders=self._encoders, most_characters=LONGEST_ANSWER
        )

    def _retire(self, name: str) -> _Open | None:
        """Forget an index; itself, if nobody uses it and it is to be closed now."""
        used = self._open.pop(name)
        used.retired = True
        return None if used.users else used


def _missing(name: str) -> NotFound:
    return NotFound(f"there is no index called {name!r}.", "GET /indexes lists them.")
