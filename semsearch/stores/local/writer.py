"""The local store, open for writing: each change is one transaction with texts, vectors, checksums and counters.

Full-text rows and counters are updated by `_insert` and `_remove`, in the same transaction (`schema` explains why not
by triggers). Passage ids are never used twice, not even when a document is replaced: an outdated cache can miss a
passage, but it cannot name one whose text has changed since.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.stores.entries import checked, keywords
from semsearch.stores.local import sqlite
from semsearch.stores.local.connection import Connection
from semsearch.stores.local.full_text import sealing
from semsearch.stores.local.full_text.segments import last_sealed
from semsearch.stores.local.location import require_store
from semsearch.stores.local.reader import BOOKMARK, LocalReader
from semsearch.stores.local.row_checksums import COLUMNS, passage_crc
from semsearch.stores.local.schema import FLOAT16, SPACES, body, vector_crc
from semsearch.stores.local.space_vectors import SpaceVectors
from semsearch.stores.local.space_vectors import sweep as sweep_caches
from semsearch.stores.local.steps import Steps, watched
from semsearch.stores.records import (
    MOST_RUNS,
    Bookmark,
    Entry,
    Source,
    Space,
    check_document,
    meta_hash,
    text_hash,
    to_json,
)
from semsearch.types import Document, Passage, Progress
from semsearch.utils.atomic_write import sweep
from semsearch.utils.vectors import check_storable
from semsearch.utils.writer_lock import WriterLock
from semsearch.utils.writing_systems import CJK
from semsearch.vector_index.cache_files import CacheFile

if TYPE_CHECKING:
    from semsearch.stores.copying import Numbered
    from semsearch.stores.protocol import Rebuild
    from semsearch.types import Ids, JsonObject, Metadata, Vectors
    from semsearch.utils.strength import NullDistribution

_THESE = "IN (SELECT value FROM json_each(?))"
_CJK = re.compile(f"[{CJK}]")
_OURS = f"document {_THESE}"
_FULL_TEXT = (("passages_fts", "text, keywords", ""), ("passages_cjk", "text", "AND cjk = 1"))  # columns, rows
_SOURCE_COLUMNS = "root, path, mtime_ns, size, sha256, loader"
_DOCUMENT_COLUMNS = "id, uri, source, sha256, meta_sha256, mtime, size, loader, lines, title, metadata, marks, body"
_PLACES = {name: f"?{at}" for at, name in enumerate(_DOCUMENT_COLUMNS.split(", "), start=1)}
_DOCUMENT_CRC = ", ".join(_PLACES[name] for name in COLUMNS["documents"].split(", "))
_DOCUMENT_VALUES = f"{', '.join(_PLACES.values())}, row_crc({_DOCUMENT_CRC})"
_PASSAGE_COLUMNS = 'id, document, position, start, "end", page, line, heading, crc, identity, cjk, text, keywords'


class LocalWriter:
    """A store that is open for writing; it has the writer's lock until `close()`.

    Threads may share one: transactions and snapshots take turns. The methods are described in
    `stores.protocol.StoreWriter`.
    """

    dry_run = False

    def __init__(self, connection: Connection, lock: WriterLock) -> None:
        self.connection = connection
        self.reader = LocalReader(connection)
        self._db = connection
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

    # ---- documents

    def replace(self, entries: Sequence[Entry], space: int) -> None:
        """Of two entries with one id the last counts. Raises SemsearchError for passages or vectors that do not fit."""
        dim = SpaceVectors(self._db, space).dim
        latest = {entry.document.id: checked(entry, dim) for entry in entries}
        with self.transaction():
            self._remove(self._db.document_ids(latest))
            self._insert(list(latest.values()), space)

    def delete(self, uris: Iterable[str]) -> int:
        with self.transaction():
            return self._remove(self._db.document_ids(uris))

    def rename(self, old_uri: str, new_uri: str) -> None:
        with self.transaction():
            known = dict(self._db.rows("SELECT uri, id FROM documents WHERE uri IN (?, ?)", (old_uri, new_uri)))
            if old_uri not in known:
                raise NotFound(f"{self._db.folder} has no document {old_uri!r}.")
            if old_uri == new_uri:
                return
            if new_uri in known:
                raise UsageError(f"{self._db.folder} already has a document {new_uri!r}.", "Delete it first.")
            self._db.execute("UPDATE documents SET uri = ? WHERE id = ?", (new_uri, known[old_uri]))
            self._db.renew_checksum("documents", "id = ?", known[old_uri])
            self._db.execute("UPDATE passages SET identity = '' WHERE document = ?", (known[old_uri],))

    def refresh(self, uri: str, metadata: Metadata, title: str | None) -> None:
        check_document(Document(uri, "", metadata, title))
        packed = to_json(dict(metadata))
        sql = "UPDATE documents SET metadata = ?, title = ?, meta_sha256 = ? WHERE uri = ?"
        with self.transaction():
            if not self._db.execute(sql, (packed, title, meta_hash(title, metadata), uri)):
                raise NotFound(f"{self._db.folder} has no document {uri!r}.")
            self._db.renew_checksum("documents", "uri = ?", uri)

    # ---- sources

    def put_source(self, source: Source) -> int:
        with self.transaction():
            sql = "SELECT id, mtime_ns, loader FROM sources WHERE root = ? AND path = ?"
            for known, *recorded in self._db.rows(sql, (source.root, source.path)):
                self._update_source(known, source, recorded)
                return int(known)
            self._db.execute(f"INSERT INTO sources ({_SOURCE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", _source_row(source))
            self._put_bookmark(known := self._next_id("sources") - 1, source.bookmark)
            return known

    def move_source(self, source_id: int, source: Source) -> None:
        with self.transaction():
            taken = self._db.rows("SELECT id FROM sources WHERE root = ? AND path = ?", (source.root, source.path))
            if taken and taken[0][0] != source_id:
                raise UsageError(f"{self._db.folder} already has a file {source.path!r}.", "Drop it first.")
            known = self._db.rows("SELECT mtime_ns, loader FROM sources WHERE id = ?", (source_id,))
            if not known:
                raise NotFound(f"{self._db.folder} has no source {source_id}.")
            self._update_source(source_id, source, known[0])

    def _update_source(self, source_id: int, source: Source, recorded: Sequence[object]) -> None:
        """Record the new state of a file. `recorded`: time and loader until now.

        Its documents have copies of both, for filters. They are updated only on a change: a file of a million records
        is recorded again with each batch.
        """
        sql = f"UPDATE sources SET ({_SOURCE_COLUMNS}) = (?, ?, ?, ?, ?, ?) WHERE id = ?"
        self._db.execute(sql, (*_source_row(source), source_id))
        self._put_bookmark(source_id, source.bookmark)
        if [source.mtime_ns, source.loader] != list(recorded):
            sql = "UPDATE documents SET mtime = ?, loader = ? WHERE source = ?"
            self._db.execute(sql, (source.mtime_ns, source.loader, source_id))

    def _put_bookmark(self, source_id: int, bookmark: Bookmark | None) -> None:
        key = f"{BOOKMARK}{source_id}"
        if bookmark is None:
            self._db.execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, to_json(asdict(bookmark))))
        self._db.renew_checksum("sources", "id = ?", source_id)  # it covers the bookmark

    def drop_sources(self, ids: Iterable[int]) -> int:
        wanted = json.dumps([int(source) for source in ids])
        with self.transaction():
            sql = f"SELECT id FROM documents WHERE source {_THESE}"
            removed = self._remove([document for (document,) in self._db.rows(sql, (wanted,))])
            self._db.execute(f"DELETE FROM sources WHERE id {_THESE}", (wanted,))
            sql = f"DELETE FROM meta WHERE key IN (SELECT '{BOOKMARK}' || value FROM json_each(?))"
            self._db.execute(sql, (wanted,))
            return removed

    # ---- the rest

    def alone(self, purpose: str) -> AbstractContextManager[None]:
        return nullcontext()  # the lock of the folder keeps all others out

    def latest_recipe(self) -> JsonObject:
        return self.reader.recipe()

    def set_recipe(self, recipe: Mapping[str, object]) -> None:
        rows = [(key, to_json(value)) for key, value in recipe.items()]
        with self.transaction():
            self._db.execute("DELETE FROM recipe")
            self._db.execute_many("INSERT INTO recipe (key, value) VALUES (?, ?)", rows)
            self._db.renew_checksum("recipe", "true")

    def add_space(self, fingerprint: str, name: str, dim: int, info: Mapping[str, object]) -> Space:
        sql = "INSERT INTO spaces (fingerprint, name, dim, info) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        with self.transaction():
            self._db.execute(sql, (fingerprint, name, dim, to_json(dict(info))))
            self._db.renew_checksum("spaces", "fingerprint = ?", fingerprint)
            return next(space for space in self.reader.spaces() if space.fingerprint == fingerprint)

    def use_space(self, space: int) -> None:
        with self.transaction():
            self._known_spaces(space)
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('space', ?)", (space,))

    def drop_space(self, space: int) -> None:
        with self.transaction():
            if self._known_spaces(space)[0] == space:
                raise UsageError(f"space {space} of {self._db.folder} is in use.", "Use another one first.")
            for table, key in (("vectors", "space"), ("caches", "space"), ("spaces", "id")):
                self._db.execute(f"DELETE FROM {table} WHERE {key} = ?", (space,))
        self.reader.close_cache(space)
        if not self._db.is_writing:  # else the cache files stay until the next writer is opened
            sweep_caches(self._db)

    def _known_spaces(self, space: int) -> list[int]:
        """The ids of all spaces, the current one first. Raises NotFound unless `space` is among them."""
        known = [each for (each,) in self._db.rows(f"SELECT id {SPACES}")]
        if space not in known:
            raise NotFound(f"{self._db.folder} has no space {space}.")
        return known

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        here = SpaceVectors(self._db, space)
        rows = check_storable(vectors, len(ids), here.dim, what="a passage")
        with self.transaction():
            there = here.existing(ids)
            passages = np.asarray(ids, dtype=np.int64)[there].tolist()
            before = f"DELETE FROM vectors WHERE space = ? AND passage {_THESE}"
            replaced = self._db.execute(before, (space, json.dumps(passages)))
            self._insert_vectors(space, passages, rows[there])
            self._count_vectors(space, len(passages) - replaced)
            for record in here.caches():
                if record.highest_id >= min(passages, default=record.highest_id + 1):  # it would never find them
                    self.drop_cache(record.id)

    def set_null_distribution(self, space: int, measured: NullDistribution) -> None:
        packed = np.asarray(measured.quantiles, dtype="<f8").tobytes()
        with self.transaction():
            sql = "UPDATE spaces SET background = ?, background_count = ? WHERE id = ?"
            self._db.execute(sql, (packed, measured.passages, space))
            self._db.renew_checksum("spaces", "id = ?", space)

    def update_vector_index(self, space: int, backend: str, *, when: Rebuild = "due") -> None:
        """Raises UnknownName for a backend that does not exist.

        SemsearchError where the file cannot be written; the present cache is untouched then.
        """
        self._seal()
        vectors = SpaceVectors(self._db, space)
        if not vectors.is_due(backend, when):
            return
        self.reader.close_cache(space)  # beside the new one there would be two in memory
        with LocalReader.open(self._db.folder) as reader:  # threads that share this writer go on meanwhile
            built = SpaceVectors(reader.connection, space).build_cache(backend)
        with self.transaction():
            for record in vectors.outdated_caches():
                self.drop_cache(record.id)
            self.add_cache(built)
        sweep_caches(self._db)

    def _seal(self) -> None:
        """Bring the postings of frequent words up to date, a segment in each transaction."""
        while True:
            with self._db.snapshot():
                if not sealing.is_due(self._db.raw):
                    return
            with self.transaction():
                sealing.seal(self._db.raw)

    def add_cache(self, record: CacheFile) -> CacheFile:
        """Record a finished cache file; the commit switches to it. `record.id` is ignored."""
        sql = """INSERT INTO caches (space, file, bytes, sha256, highest_id, count, spec, faiss_version, why)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
        with self.transaction():
            self._db.execute(sql, astuple(record)[1:])
            added = replace(record, id=self._next_id("caches") - 1)
            self._db.renew_checksum("caches", "id = ?", added.id)
            return added

    def drop_cache(self, cache: int) -> None:
        """Remove the record of a cache; its file stays."""
        with self.transaction():
            self._db.execute("DELETE FROM caches WHERE id = ?", (cache,))

    def begin_run(self) -> None:
        with self.transaction():
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('updating', 1)")

    def add_run(self, report: Mapping[str, object]) -> None:
        """Record what a run of `index` did, and that it has ended. The last 100 runs stay."""
        with self.transaction():
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
            for table, *_ in _FULL_TEXT:
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

    # ---- rows

    def _remove(self, documents: Sequence[int]) -> int:
        """Delete documents (row ids) with passages, vectors, full text and counters; nothing else deletes them."""
        if not documents:
            return 0
        wanted = (json.dumps(documents),)
        for table, columns, only in _FULL_TEXT:  # 'delete' needs the very text that was inserted
            gone = f"SELECT 'delete', id, {columns} FROM passages WHERE {_OURS} {only}"
            self._db.execute(f"INSERT INTO {table} ({table}, rowid, {columns}) {gone}", wanted)
        sealed = f"SELECT id FROM passages WHERE {_OURS} AND id <= {last_sealed(self._db.raw)}"
        self._db.execute(f"INSERT INTO postings_gone {sealed}", wanted)
        for (space,) in self._db.rows("SELECT id FROM spaces"):
            sql = f"DELETE FROM vectors WHERE space = ? AND passage IN (SELECT id FROM passages WHERE {_OURS})"
            self._count_vectors(space, -self._db.execute(sql, (space, *wanted)))
        passages = self._db.execute(f"DELETE FROM passages WHERE {_OURS}", wanted)
        removed = self._db.execute(f"DELETE FROM documents WHERE id {_THESE}", wanted)
        self._db.add("passages", -passages)
        self._db.add("documents", -removed)
        return removed

    def _insert(self, entries: Sequence[Entry], space: int) -> None:
        """Insert new documents with everything that belongs to them; nothing else inserts them."""
        first = self._next_id("passages")
        sources = self._sources_of(entries)
        documents: list[tuple[object, ...]] = []
        passages: list[tuple[object, ...]] = []
        for number, entry in enumerate(entries, start=self._next_id("documents")):
            documents.append(_document_row(number, entry, sources.get(entry.source)))
            passages += _passage_rows(first + len(passages), number, entry)
        put = self._db.execute_many
        put(f"INSERT INTO documents ({_DOCUMENT_COLUMNS}, crc) VALUES ({_DOCUMENT_VALUES})", documents)
        put(f"INSERT INTO passages ({_PASSAGE_COLUMNS}) VALUES (?{', ?' * 12})", passages)
        for table, columns, only in _FULL_TEXT:
            new = f"SELECT id, {columns} FROM passages WHERE id >= ? {only} ORDER BY id"
            self._db.execute(f"INSERT INTO {table} (rowid, {columns}) {new}", (first,))
        if passages:
            vectors = np.concatenate([entry.vectors for entry in entries])
            self._insert_vectors(space, [first + at for at in range(len(passages))], vectors)
        self._count_vectors(space, len(passages))
        self._db.add("documents", len(documents))
        self._db.add("passages", len(passages))

    def _count_vectors(self, space: int, change: int) -> None:
        self._db.execute("UPDATE spaces SET vectors = vectors + ? WHERE id = ?", (change, space))

    def _insert_vectors(self, space: int, passages: Sequence[int], vectors: Vectors) -> None:
        width = vectors.shape[1] * FLOAT16.itemsize
        packed = vectors.astype(FLOAT16).tobytes()
        blobs = (packed[at : at + width] for at in range(0, len(packed), width))
        rows = [(row_id, space, vector_crc(row_id, blob), blob) for row_id, blob in zip(passages, blobs, strict=True)]
        self._db.execute_many("INSERT INTO vectors (passage, space, crc, vector) VALUES (?, ?, ?, ?)", rows)

    def _next_id(self, table: str) -> int:
        """The id that AUTOINCREMENT would choose next, so that all rows of a batch are inserted by one statement."""
        rows = self._db.rows("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
        return int(rows[0][0]) + 1 if rows else 1

    def _sources_of(self, entries: Iterable[Entry]) -> dict[int | None, Source]:
        wanted = {entry.source for entry in entries if entry.source is not None}
        rows = self._db.rows(
            f"SELECT {_SOURCE_COLUMNS}, id FROM sources WHERE id {_THESE}", (json.dumps(list(wanted)),)
        )
        found: dict[int | None, Source] = {row[-1]: Source(*row) for row in rows}
        if missing := wanted - found.keys():
            raise NotFound(f"{self._db.folder} has no source {min(missing)}.")
        return found


def _source_row(source: Source) -> tuple[object, ...]:
    return source.root, source.path, source.mtime_ns, source.size, source.sha256, source.loader


def _document_row(number: int, entry: Entry, source: Source | None) -> tuple[object, ...]:
    document = entry.document
    return (
        number,
        document.id,
        source.id if source else None,
        text_hash(document.text),
        meta_hash(document.title, document.metadata),
        source.mtime_ns if source else None,
        len(document.text.encode()),
        source.loader if source else None,
        int(document.lines),
        document.title,
        to_json(dict(document.metadata)),
        to_json([[mark.start, mark.page, mark.heading] for mark in document.marks]),
        body(document.text, entry.passages),
    )


def _crc(number: int, document: int, passage: Passage) -> int:
    place = passage.start, passage.end, passage.page, passage.line, passage.heading
    return passage_crc(number, document, *place, passage.text)


def _passage_rows(first: int, document: int, entry: Entry) -> list[tuple[object, ...]]:
    return [
        (
            first + position,
            document,
            position,
            passage.start,
            passage.end,
            passage.page,
            passage.line,
            passage.heading,
            _crc(first + position, document, passage),
            "",
            int(_CJK.search(passage.text) is not None),
            passage.text,
            keywords(entry.document, passage),
        )
        for position, passage in enumerate(entry.passages)
    ]


open_writer = LocalWriter.open
