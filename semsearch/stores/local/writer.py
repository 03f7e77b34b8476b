"""The local store, open for writing: each change is one transaction with texts, vectors, checksums and counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from semsearch.errors import SemsearchError
from semsearch.stores.local.database import sqlite
from semsearch.stores.local.database.connection import Connection
from semsearch.stores.local.database.steps import Steps, watched
from semsearch.stores.local.location import require_store
from semsearch.stores.local.reader import LocalReader
from semsearch.stores.local.vectors.space_vectors import sweep as sweep_caches
from semsearch.stores.local.writing.documents import DocumentWriter
from semsearch.stores.local.writing.rows import FULL_TEXT
from semsearch.stores.local.writing.spaces import SpaceWriter
from semsearch.stores.records import MOST_RUNS, to_json
from semsearch.types import Progress
from semsearch.utils.atomic_write import sweep
from semsearch.utils.writer_lock import WriterLock

if TYPE_CHECKING:
    from semsearch.stores.copying import Numbered
    from semsearch.types import JsonObject


class LocalWriter(DocumentWriter, SpaceWriter):
    """A store that is open for writing; it has the writer's lock until `close()`.

    Threads may share one: transactions and snapshots take turns. The methods are described in
    `stores.protocol.StoreWriter`.
    """

    dry_run = False

    def __init__(self, connection: Connection, lock: WriterLock) -> None:
        super().__init__(connection)
        self.connection = connection
        self.reader = LocalReader(connection)
        self._lock = lock

    @classmethod
    def open(cls, folder: Path) -> LocalWriter:
        """The store in `folder`. Raises NotFound, Corrupt, SemsearchError for a newer schema, Locked."""
        require_store(folder)
        sweep(folder.parent)
        lock = WriterLock(folder)
        with sqlite.on_error(lock.release):
            connection = Connection(folder, write=True)
            with suppress(SemsearchError):  # what a run left that was killed; damage is told where it matters
                sweep_caches(connection)
            return cls(connection, lock)

    def close(self) -> None:
        """Fold the log into the file, close the files and release the lock. Every later call raises SemsearchError."""
        self._db.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def transaction(self) -> AbstractContextManager[None]:
        return self._db.transaction()

    def alone(self, purpose: str) -> AbstractContextManager[None]:
        return nullcontext()  # the lock of the folder keeps all others out

    def change_recipe(self, made: Callable[[JsonObject], JsonObject]) -> JsonObject:
        with self.transaction():
            latest = self.reader.state().recipe
            recipe = made(dict(latest))
            if recipe != latest:
                rows = [(key, to_json(value)) for key, value in recipe.items()]
                self._db.execute("DELETE FROM recipe")
                self._db.execute_many("INSERT INTO recipe (key, value) VALUES (?, ?)", rows)
                self._db.renew_checksum("recipe", "true")
            return recipe

    def record_run(self, report: Mapping[str, object] | None) -> None:
        with self.transaction():
            if report is None:
                self._db.execute("INSERT OR REPLACE INTO meta VALUES ('updating', 1)")
                return
            self._db.execute("DELETE FROM meta WHERE key = 'updating'")
            self._db.execute("INSERT INTO runs (report) VALUES (?)", (to_json(dict(report)),))
            self._db.renew_checksum("runs", "id = last_insert_rowid()")
            self._db.execute("DELETE FROM runs WHERE id <= (SELECT max(id) FROM runs) - ?", (MOST_RUNS,))

    def compact(self, progress: Callable[[Progress], None] = lambda _: None) -> None:
        """Needs as much disk space again for a moment."""
        from sqlite_utils import Database  # 0.2 s to import, and only maintenance needs it

        steps = Steps(progress, "steps", "merging the full-text index", "rewriting the database")
        steps.begin()
        with self.transaction(), watched(self._db.raw, steps.repeat):
            for table, *_ in FULL_TEXT:
                self._db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        steps.begin()
        with self._db.exclusive() as connection:
            with watched(connection, steps.repeat):
                Database(connection).vacuum()
            connection.execute("PRAGMA busy_timeout=0")  # a reader at work is no reason to wait: close() does it
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            connection.execute(f"PRAGMA busy_timeout={sqlite.BUSY_MS}")

    def continue_from(self, kind: Numbered, number: int) -> None:
        """The next document, passage, source or space gets this number, which is above all that were used."""
        with self.transaction():
            if not self._db.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (number - 1, kind)):
                self._db.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (kind, number - 1))


open_writer = LocalWriter.open
