"""An open store: its connection, its lock between threads, its snapshots, and the ways to ask it something."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from semsearch.errors import Corrupt
from semsearch.settings import STORE_FILE
from semsearch.stores.local import schema, sqlite

DATABASE = STORE_FILE
MOST_PARAMETERS = 500


class Connected:
    """A connection that only reads. Threads may share it: their calls, and their snapshots, take turns."""

    readonly = True

    def __init__(self, folder: Path, name: str = DATABASE) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._depth = 0
        self._file = folder / name
        self._unchanging: tuple[int, int] | None = None
        with sqlite.translated(folder):
            self._connection = self._connect()

    @property
    def connection(self) -> sqlite3.Connection:
        """For SELECTs of other modules. Use it inside `snapshot()`, which also turns its errors into ours."""
        return self._connection

    def close(self) -> None:
        """Let go of the files. Every later call raises SemsearchError."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is of one moment. May be nested."""
        with self._lock, sqlite.translated(self.folder):
            if self._depth == 0:
                self._renew()
                self._connection.execute("BEGIN")
            self._depth += 1
            try:
                if self._depth == 1:
                    self._connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()  # now
                yield
            finally:
                self._depth -= 1
                if self._depth == 0 and self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _connect(self) -> sqlite3.Connection:
        connection, immutable = sqlite.connect_reader(self._file)
        try:
            self._unchanging = _stamp(self._file) if immutable else None
            schema.check(connection, self.folder, write=False)
        except BaseException:
            connection.close()
            raise
        return connection

    def _renew(self) -> None:
        """An immutable connection does not notice that somebody with more rights has written: open it anew."""
        if self._unchanging is not None and (self._unchanging != _stamp(self._file) or sqlite.has_wal(self._file)):
            self._connection.close()
            self._connection = self._connect()

    def _all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        with self._lock, sqlite.translated(self.folder):
            if self._depth == 0:
                self._renew()
            return self._connection.execute(sql, parameters).fetchall()

    def _where_in(self, sql: str, values: Sequence[str]) -> Iterator[Any]:
        for piece in pieces(values, MOST_PARAMETERS):
            yield from self._all(f"{sql} ({','.join('?' * len(piece))})", piece)

    def _meta(self, key: str) -> Any:
        rows = self._all("SELECT value FROM meta WHERE key = ?", (key,))
        if not rows:
            raise Corrupt(f"{self.folder} has lost its {key!r}.", sqlite.REPAIR)
        return rows[0][0]

    def _parsed(self, value: str) -> Any:
        try:
            return json.loads(value)
        except (TypeError, ValueError) as error:
            raise Corrupt(f"{self.folder} is damaged: {str(value)[:40]!r} is not JSON.", sqlite.REPAIR) from error


def pieces(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """`values` in runs of at most `size`."""
    return (values[at : at + size] for at in range(0, len(values), size))


def _stamp(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_mtime_ns, found.st_size
