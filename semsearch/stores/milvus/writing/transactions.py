"""Transactions of a writer of Milvus: changes that are gathered, and written when it ends."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from semsearch.stores import links, machine
from semsearch.stores.milvus import rows
from semsearch.stores.milvus.commit import Committer
from semsearch.stores.milvus.index_tables import IndexTables
from semsearch.stores.milvus.reader import MilvusReader


class Transactions:
    """The changes of one writer, and the numbers of its documents and runs. Threads take turns."""

    def __init__(self, location: Path, tables: IndexTables) -> None:
        self.reader = MilvusReader(location, tables)
        self._turn = threading.RLock()
        self._name = rows.digest(machine.name(), socket.gethostname(), location.absolute(), _made_at(location))
        self._committer = Committer(tables, self._name)
        self._depth = 0
        self._updating: bool | None = None
        self._last = 0
        self._highest: int | None = None  # number of a document of any writer, when the transaction first asked
        self._after: list[Callable[[], None]] = []  # once the transaction is written
        tables.server.begin_moment()
        self._committer.clear_stale()

    @property
    def _tables(self) -> IndexTables:
        return self.reader.tables

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._turn:
            before = self._tables.changes(), self._updating, self._last, list(self._after)
            self._depth += 1
            if self._depth == 1:
                self._highest = None
            try:
                yield
                if self._depth == 1:
                    self._commit()
            except BaseException:
                changes, self._updating, self._last, self._after = before
                self._tables.set_changes(changes)
                raise
            finally:
                self._depth -= 1

    def _commit(self) -> None:
        self._committer.commit(self._updating, self._last)
        after, self._after, self._updating = self._after, [], None
        self._tables.set_changes({})
        for call in after:
            call()

    def _next_number(self) -> int:
        """Higher than all before, also those of writers whose clocks are ahead: a run tells its documents by that."""
        if self._highest is None:
            self._highest = self.reader.highest_document()
        known = max(self._last, self._highest)
        self._last = max(known + 1, (time.time_ns() // 1_000_000 << 22) | self._low_bits())
        return self._last

    def _low_bits(self) -> int:
        """Bits in which the numbers of writers differ, so that no two documents have the same."""
        return int(self._name, 16) & 0x3FFFFF


def _made_at(location: Path) -> int:
    """When the link was made, which tells writers apart whose hosts have one name; 0 before it is."""
    file = location / links.FILE
    return file.stat().st_mtime_ns if file.exists() else 0
