"""A connection to a store's database: its lock between threads, its snapshots and its transactions."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from semsearch.errors import Corrupt, SemsearchError
from semsearch.stores.local.database import checksums, commit_record, schema, sqlite
from semsearch.stores.local.database.commit_record import CommitRecord
from semsearch.stores.local.location import DATABASE
from semsearch.stores.records import storable
from semsearch.stores.sql.database import Database, Row, pieces

MOST_PARAMETERS = 500

LOG = logging.getLogger(__name__)


class Connection(Database):
    """One SQLite connection. Threads may share it: their calls, snapshots and transactions take turns."""

    repair = sqlite.REPAIR
    among = "IN (SELECT value FROM json_each(?))"

    def __init__(self, folder: Path, *, write: bool, database: str = DATABASE) -> None:
        self.folder = self.location = folder
        self.name, self.title = folder.name, str(folder)
        self.writable = write
        self._file = folder / database
        self._lock = threading.RLock()
        self._depth = 0  # of snapshots and transactions
        self._writing = False
        self._snapshots = 0  # so far
        self._version: list[Row] = []  # in the last snapshot, which asks for it many times
        self._record = CommitRecord(folder) if database == DATABASE else None
        self._unchanging: tuple[int, int] | None = None  # size and time of a file that is read as immutable
        with sqlite.translated(folder):
            self.raw = self._open_writer() if write else self._open_reader()
        if not write and self._record is not None:
            self._warn_of_a_loss()

    def close(self) -> None:
        """Close the files. Every later call raises SemsearchError."""
        with self._lock:
            self.raw.close()
            if self._record is not None:
                self._record.close()

    @property
    def is_writing(self) -> bool:
        """Whether a transaction of this connection goes on."""
        return self._writing

    @property
    def moment(self) -> int | None:
        """A number of the present snapshot, in which nothing changes; None outside, and while a transaction goes on."""
        return self._snapshots if self._depth and not self._writing else None

    def packed(self, ids: Sequence[int]) -> str:
        return json.dumps(ids)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        with self._lock, sqlite.translated(self.folder):
            if self._depth == 0:
                self._reopen_if_changed()
            return self.raw.execute(sql, values).fetchall()

    def rows_in(self, sql: str, texts: Sequence[str], *before: object) -> Iterator[Row]:
        """A value for each text, as SQLite's JSON functions end a text at NUL."""
        for piece in pieces(storable(texts), MOST_PARAMETERS):
            yield from self.rows(f"{sql} IN ({','.join('?' * len(piece))})", (*before, *piece))

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        return self.raw.execute(sql, values).rowcount

    def execute_many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        self.raw.executemany(sql, rows)

    def count(self, counter: str) -> int:
        with self._lock:
            known = self._version if counter == "version" and self.moment is not None else None
            rows = self.rows("SELECT value FROM meta WHERE key = ?", (counter,)) if known is None else known
        if not rows:
            raise Corrupt(f"{self.folder}: {counter!r} is missing in its database.", sqlite.REPAIR)
        return int(rows[0][0])

    def add(self, counter: str, change: int) -> None:
        self.execute("UPDATE meta SET value = value + ? WHERE key = ?", (change, counter))

    def hold(self, name: str, *, alone: bool = False) -> None:
        """The lock of the folder keeps all others out."""

    def insert(self, table: str, values: Mapping[str, object], conflict: str = "") -> int | None:
        number = super().insert(table, values, conflict)
        checksums.renew(self.raw, table, "id = ?", (number,))
        return number

    def update(self, table: str, number: int, values: Mapping[str, object]) -> bool:
        exists = super().update(table, number, values)
        checksums.renew(self.raw, table, "id = ?", (number,))
        return exists

    def schema(self) -> int:
        """The version of its tables now: another process may migrate them under a reader."""
        return int(self.rows("PRAGMA user_version")[0][0])

    @contextmanager
    def exclusive(self) -> Iterator[sqlite3.Connection]:
        """The raw connection, for statements that cannot run inside a transaction. Other threads wait."""
        with self._lock, sqlite.translated(self.folder):
            yield self.raw

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is of one moment. May be nested."""
        with self._lock, sqlite.translated(self.folder):
            if self._depth == 0:
                self._reopen_if_changed()
                self.raw.execute("BEGIN")
                self._snapshots += 1
            self._depth += 1
            try:
                if self._depth == 1:
                    sql = "SELECT value FROM meta WHERE key = 'version'"  # the moment is now
                    self._version = self.raw.execute(sql).fetchall()
                yield
            finally:
                self._depth -= 1
                if self._depth == 0 and self.raw.in_transaction:
                    self.raw.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All inside is on disk when the outermost one ends, or none of it. An inner one that fails is undone alone."""
        with self._lock, sqlite.translated(self.folder):
            if not self.writable:
                raise SemsearchError(f"{self.folder} is open for reading only.")
            with self._savepoint() if self._writing else self._outermost():
                yield

    @contextmanager
    def _outermost(self) -> Iterator[None]:
        if self._depth:
            raise SemsearchError("a write inside a snapshot would be acknowledged before it is on disk.")
        self.raw.execute("BEGIN IMMEDIATE")
        self._writing, self._depth = True, 1
        before = self.raw.total_changes
        try:
            yield
            number = 0
            if self.raw.in_transaction and self.raw.total_changes != before:
                self.add("version", 1)
                number = self.count("version")
            self.raw.execute("COMMIT")  # fails where SQLite has rolled back by itself: nothing was acknowledged
            if number and self._record is not None:
                self._record.acknowledge(number)
        except BaseException:
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK")
            raise
        finally:
            self._writing, self._depth = False, 0

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        if not self.raw.in_transaction:  # a full disk ends the whole transaction, even if the error was caught
            raise SemsearchError(f"{self.folder}: the transaction has already failed.")
        self.raw.execute("SAVEPOINT inner_one")
        try:
            yield
        except BaseException:
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK TO inner_one")
                self.raw.execute("RELEASE inner_one")
            raise
        self.raw.execute("RELEASE inner_one")

    def _open_reader(self) -> sqlite3.Connection:
        connection, immutable = sqlite.connect_reader(self._file)
        with sqlite.on_error(connection.close):
            self._unchanging = _stamp(self._file) if immutable else None
            schema.check(connection, self.folder, write=False)
        return connection

    def _warn_of_a_loss(self) -> None:
        with suppress(SemsearchError):  # what can be read stays readable; `verify` names the rest
            if loss := commit_record.loss(self.folder, self.raw):
                LOG.warning("%s %s", loss, commit_record.COMMAND)

    def _open_writer(self) -> sqlite3.Connection:
        if loss := commit_record.loss(self.folder):  # before SQLite replaces what is left of its log
            raise Corrupt(loss, commit_record.FIX, commit_record.COMMAND)
        connection = sqlite.connect(self._file, "rw")
        with sqlite.on_error(connection.close):
            schema.check(connection, self.folder, write=True)  # first: a file that is not ours stays untouched
            sqlite.make_durable(connection, self.folder)
            schema.migrate(connection)
        return connection

    def _reopen_if_changed(self) -> None:
        """An immutable connection does not notice that another program with more rights has written: open it again."""
        if self._unchanging is not None and (self._unchanging != _stamp(self._file) or sqlite.has_wal(self._file)):
            self.raw.close()
            self.raw = self._open_reader()


def _stamp(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_mtime_ns, status.st_size
