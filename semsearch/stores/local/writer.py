"""The local store, open for writing: each change is one transaction with texts, vectors, checksums and counters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import SemsearchError
from semsearch.stores.entry_checks import checked
from semsearch.stores.local.database import checksums, sqlite
from semsearch.stores.local.database.checksums import NOTES
from semsearch.stores.local.database.connection import Connection
from semsearch.stores.local.database.steps import Steps, watched
from semsearch.stores.local.full_text import sealing
from semsearch.stores.local.location import require_store
from semsearch.stores.local.reader import LocalReader
from semsearch.stores.local.rows import FULL_TEXT, RowWriter
from semsearch.stores.local.space_vectors import SpaceVectors
from semsearch.stores.local.space_vectors import sweep as sweep_caches
from semsearch.stores.records import Entry, Source, to_json
from semsearch.stores.sql.rows import notes_value, source_values
from semsearch.stores.sql.writer import SqlWriter
from semsearch.types import Progress
from semsearch.utils.atomic_write import sweep
from semsearch.utils.vectors import check_storable
from semsearch.utils.writer_lock import WriterLock
from semsearch.vector_index.cache_files import CacheFile

if TYPE_CHECKING:
    from semsearch.stores.protocol import Rebuild
    from semsearch.stores.records import Numbered
    from semsearch.types import Ids, JsonObject, Vectors
    from semsearch.utils.strength import NullDistribution


class LocalWriter(SqlWriter):
    """A store that is open for writing; it has the writer's lock until `close()`.

    Threads may share one: transactions and snapshots take turns.
    """

    reader: LocalReader

    def __init__(self, connection: Connection, lock: WriterLock) -> None:
        super().__init__(connection)
        self.connection = connection
        self.reader = LocalReader(connection)
        self._rows = RowWriter(connection)
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
        self.connection.close()
        self._lock.release()

    def alone(self, purpose: str) -> AbstractContextManager[None]:
        return nullcontext()  # the lock of the folder keeps all others out

    # ---- documents and their sources

    def replace(self, entries: Sequence[Entry], space: int) -> None:
        """Of two entries with one id the last counts. Raises SemsearchError for passages or vectors that do not fit."""
        dim = SpaceVectors(self.connection, space).dim
        latest = {entry.document.id: checked(entry, dim) for entry in entries}
        with self._db.transaction():
            self._check_sources(latest.values())
            self._rows.remove(self._db.document_ids(latest))
            self._rows.insert(list(latest.values()), space)

    def delete(self, uris: Iterable[str] = (), *, sources: Iterable[int] = ()) -> int:
        numbers = [int(source) for source in sources]
        with self._db.transaction():
            of_sources = [
                document for (document,) in self._db.rows_of("SELECT id FROM documents WHERE source", numbers)
            ]
            removed = self._rows.remove([*self._db.document_ids(list(uris)), *of_sources])
            packed = (self._db.packed(numbers),)
            self._db.execute(f"DELETE FROM sources WHERE id {self._db.among}", packed)
            sql = f"DELETE FROM meta WHERE key IN (SELECT '{NOTES}' || value FROM json_each(?))"
            self._db.execute(sql, packed)
            return removed

    def _rename_passages(self, document: int, uri: str) -> None:
        self._db.execute("UPDATE passages SET identity = '' WHERE document = ?", (document,))

    def _put_source(self, source: Source) -> int:
        sql = "SELECT id, mtime_ns, loader FROM sources WHERE root = ? AND path = ?"
        for recorded in self._db.rows(sql, source.key):
            self._update_source(source, *recorded)
            return int(recorded[0])
        number = self._rows.next_id("sources")
        self._put_notes(number, source)
        self._db.insert("sources", {"id": number, **source_values(source)})
        return number

    def _update_source(self, source: Source, number: int, mtime_ns: int, loader: str) -> None:
        """Its documents have copies of time and loader. They are updated only on a change: a file of a million records
        is recorded again with each batch.
        """
        self._put_notes(number, source)
        self._db.update("sources", number, source_values(source))
        if (source.mtime_ns, source.loader) != (mtime_ns, loader):
            sql = "UPDATE documents SET mtime = ?, loader = ? WHERE source = ?"
            self._db.execute(sql, (source.mtime_ns, source.loader, number))

    def _put_notes(self, number: int, source: Source) -> None:
        """Before the row of the file, whose checksum covers it."""
        key = f"{NOTES}{number}"
        if (notes := notes_value(source)) is None:
            self._db.execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, notes))

    # ---- the whole

    def _put_recipe(self, recipe: JsonObject) -> None:
        self._db.execute("DELETE FROM recipe")
        rows = [(key, to_json(value)) for key, value in recipe.items()]
        self._db.execute_many("INSERT INTO recipe (key, value) VALUES (?, ?)", rows)
        checksums.renew(self.connection.raw, "recipe", "true")

    def compact(self, progress: Callable[[Progress], None] = lambda _: None) -> None:
        """Needs as much disk space again for a moment."""
        from sqlite_utils import Database  # 1 s to import beside pandas, and only maintenance needs it

        steps = Steps(progress, "steps", "merging the full-text index", "rewriting the database")
        steps.begin()
        with self.transaction(), watched(self.connection.raw, steps.repeat):
            for table, *_ in FULL_TEXT:
                self._db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        steps.begin()
        with self.connection.exclusive() as connection:
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

    # ---- spaces and their vectors

    def _measured(self, null_distribution: NullDistribution) -> JsonObject:
        packed = np.asarray(null_distribution.numbers, dtype="<f8").tobytes()
        return {"background": packed, "background_count": null_distribution.passages}

    def drop_space(self, space: int) -> None:
        super().drop_space(space)
        self.reader.close_cache(space)
        if not self.connection.is_writing:  # else the cache files stay until the next writer is opened
            sweep_caches(self.connection)

    def _remove_vectors(self, space: int) -> None:
        for table in ("vectors", "caches"):
            self._db.execute(f"DELETE FROM {table} WHERE space = ?", (space,))

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        here = SpaceVectors(self.connection, space)
        rows = check_storable(vectors, len(ids), here.dim, what="a passage")
        with self._db.transaction():
            there = here.existing(ids)
            passages = np.asarray(ids, dtype=np.int64)[there].tolist()
            before = f"DELETE FROM vectors WHERE space = ? AND passage {self._db.among}"
            replaced = self._db.execute(before, (space, self._db.packed(passages)))
            self._rows.insert_vectors(space, passages, [rows[there]])
            self._rows.count_vectors(space, len(passages) - replaced)
            for record in here.caches():
                if record.highest_id >= min(passages, default=record.highest_id + 1):  # it would never find them
                    self.drop_cache(record.id)

    def update_vector_index(self, space: int, backend: str, *, when: Rebuild = "due") -> None:
        """Raises UnknownName for a backend that does not exist.

        SemsearchError where the file cannot be written; the present cache is untouched then.
        """
        self._seal()
        vectors = SpaceVectors(self.connection, space)
        if not vectors.is_due(backend, when):
            return
        self.reader.close_cache(space)  # beside the new one there would be two in memory
        with LocalReader.open(self.connection.folder) as reader:  # threads that share this writer go on meanwhile
            built = SpaceVectors(reader.connection, space).build_cache(backend)
        with self._db.transaction():
            for record in vectors.outdated_caches():
                self.drop_cache(record.id)
            self.add_cache(built)
        sweep_caches(self.connection)

    def _seal(self) -> None:
        """Bring the postings of frequent words up to date, a segment in each transaction."""
        while True:
            with self._db.snapshot():
                if not sealing.is_due(self.connection.raw):
                    return
            with self._db.transaction():
                sealing.seal(self.connection.raw)

    def add_cache(self, record: CacheFile) -> CacheFile:
        """Record a finished cache file; the commit switches to it. `record.id` is ignored."""
        with self._db.transaction():
            number = self._db.insert("caches", {**asdict(record), "id": None})
            return replace(record, id=number or 0)

    def drop_cache(self, cache: int) -> None:
        """Remove the record of a cache; its file stays."""
        with self._db.transaction():
            self._db.execute("DELETE FROM caches WHERE id = ?", (cache,))


open_writer = LocalWriter.open
