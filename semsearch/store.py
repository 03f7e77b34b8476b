"""The one source of truth: texts, vectors and all that is known about them, in one SQLite file.

Every change is one `BEGIN IMMEDIATE … COMMIT` that holds texts, vectors, checksums, full-text rows and
counters together; a method that returns outside `transaction()` has its work on disk. Passage ids are never
used twice, also not by a document that is replaced: a cache that is behind can miss a passage, but it cannot
name one whose text has changed since.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch import schema, sqlite
from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.lock import LOCK, PID, WriterLock
from semsearch.reading import DATABASE, FLOAT16, Reader, passage_crc, vector_crc
from semsearch.rows import (
    CJK,
    CacheRow,
    Entry,
    Head,
    Source,
    Space,
    StoredPassage,
    check_document,
    meta_hash,
    text_hash,
    to_json,
)
from semsearch.vectors import check

if TYPE_CHECKING:
    from semsearch.types import Document, Ids, Metadata, Passage, Vectors

__all__ = [
    "CacheRow",
    "Entry",
    "Head",
    "Source",
    "Space",
    "Store",
    "StoredPassage",
    "check_document",
    "meta_hash",
    "text_hash",
]

RUNS_KEPT = 100
BEING_MADE = "store.new"  # becomes store.db by a rename when it is whole; alone it is no index
COMPRESSION = 6
_CJK = re.compile(f"[{CJK}]")
_OF_DOCUMENTS = "SELECT id FROM passages WHERE document IN (SELECT value FROM json_each(?))"


class Store(Reader):
    """A store in a folder. `create()` and `open(write=True)` hold the writer's lock until `close()`.

    Threads may share one Store: transactions and snapshots take turns.
    """

    def __init__(self, folder: Path, lock: WriterLock | None = None) -> None:
        self.readonly = lock is None
        self._writer = lock
        self._writing = False
        super().__init__(folder)

    @classmethod
    def create(cls, folder: Path) -> Store:
        """A new, empty store in `folder`, open for writing. Raises UsageError where something is already.

        A kill at any moment leaves a store, or a folder in which one can be created.
        """
        with _file_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            _refuse_content(folder)
            lock = WriterLock(folder)
            try:
                _refuse_content(folder)  # another process may have been faster
                _make(folder / BEING_MADE)
                (folder / BEING_MADE).rename(folder / DATABASE)
                sync_folder(folder)
                sync_folder(folder.parent)
                return cls(folder, lock)
            except BaseException:
                lock.release()
                raise

    @classmethod
    def open(cls, folder: Path, *, write: bool = False) -> Store:
        """The store in `folder`. Raises NotFound, Corrupt, SemsearchError (newer schema), and to write Locked."""
        if not (folder / DATABASE).is_file():
            raise NotFound(f"{folder} is not an index.", f"Make one: semsearch index FILES -n {folder.name}")
        if not write:
            return cls(folder)
        lock = WriterLock(folder)
        try:
            return cls(folder, lock)
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        """Fold the log into the file, let go of the files and of the lock. Every later call raises SemsearchError."""
        with self._lock:
            super().close()
            if self._writer is not None:
                self._writer.release()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it is on disk when the outermost one ends, or nothing of it. An inner one that fails is undone alone."""
        with self._lock, sqlite.translated(self.folder):
            if self.readonly:
                raise SemsearchError(f"{self.folder} is open for reading only.")
            with self._inner() if self._writing else self._outermost():
                yield

    @contextmanager
    def _outermost(self) -> Iterator[None]:
        if self._depth:
            raise SemsearchError("a write inside a snapshot would be acknowledged before it is on disk.")
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        self._writing, self._depth = True, 1
        before = connection.total_changes
        try:
            yield
            if connection.in_transaction and connection.total_changes != before:
                self._add("version", 1)
            connection.execute("COMMIT")  # fails where SQLite has rolled back by itself: nothing was acknowledged
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            self._writing, self._depth = False, 0

    @contextmanager
    def _inner(self) -> Iterator[None]:
        connection = self._connection
        if not connection.in_transaction:  # a full disk ends the whole transaction, whoever has caught the error
            raise SemsearchError(f"{self.folder}: the transaction has already failed.")
        connection.execute("SAVEPOINT inner_one")
        try:
            yield
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK TO inner_one")
                connection.execute("RELEASE inner_one")
            raise
        connection.execute("RELEASE inner_one")

    # ---- documents

    def replace(self, entries: Sequence[Entry], space: int) -> None:
        """Store these documents with their passages and vectors, each in place of what its id held before.

        Of two entries with one id the last counts. Raises Unreadable for a document that cannot be kept exactly,
        SemsearchError for passages or vectors that do not fit; nothing of the call is written then.
        """
        latest = {entry.document.id: entry for entry in entries}
        dim = self._dim(space)
        checked = [(entry, _checked(entry, dim)) for entry in latest.values()]
        with self.transaction():
            self._remove([head.id for head in self.heads(latest).values()])
            self._insert(checked, space)

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        """Give existing passages their vectors (n, dim) in another space. Raises SemsearchError for unknown ids."""
        rows = check(vectors, dim=self._dim(space), what="put_vectors")
        with self.transaction():
            if len(ids) != len(rows) or not self.alive(ids).all():
                raise SemsearchError(f"{len(rows)} vectors were given for {len(ids)} passages, or some are gone.")
            gone = "DELETE FROM vectors WHERE space = ? AND passage IN (SELECT value FROM json_each(?))"
            old = self._execute(gone, (space, json.dumps([int(id) for id in ids])))
            self._insert_vectors(space, [int(id) for id in ids], rows)
            self._count_vectors(space, len(rows) - old)

    def delete(self, uris: Iterable[str]) -> int:
        """Delete these documents; how many there were."""
        with self.transaction():
            return self._remove([head.id for head in self.heads(uris).values()])

    def rename(self, old_uri: str, new_uri: str) -> None:
        """Give a document another id; passages and vectors stay. Raises NotFound, and UsageError if it is taken."""
        with self.transaction():
            heads = self.heads([old_uri, new_uri])
            if old_uri not in heads:
                raise NotFound(f"{self.folder} has no document {old_uri!r}.")
            if old_uri == new_uri:
                return
            if new_uri in heads:
                raise UsageError(f"{self.folder} already has a document {new_uri!r}.", "Delete it first.")
            id = heads[old_uri].id
            self._execute("UPDATE documents SET uri = ? WHERE id = ?", (new_uri, id))
            rows = self._all("SELECT position, text, id FROM passages WHERE document = ?", (id,))
            self._connection.executemany(
                "UPDATE passages SET identity = ? WHERE id = ?",
                [(identity(new_uri, position, text), passage) for position, text, passage in rows],
            )

    def refresh(self, uri: str, metadata: Metadata, title: str | None) -> None:
        """New metadata and title under an unchanged text. Raises NotFound, Unreadable."""
        packed = to_json(dict(metadata))
        sql = "UPDATE documents SET metadata = ?, title = ?, meta_sha256 = ? WHERE uri = ?"
        with self.transaction():
            if not self._execute(sql, (packed, title, meta_hash(title, metadata), uri)):
                raise NotFound(f"{self.folder} has no document {uri!r}.")

    # ---- sources

    def put_source(self, source: Source) -> int:
        """Remember a file, or its new state; its id, which stays the same for the same (root, path)."""
        sql = """INSERT INTO sources (root, path, mtime_ns, size, sha256, loader) VALUES (?, ?, ?, ?, ?, ?)
                 ON CONFLICT (root, path) DO UPDATE SET mtime_ns = excluded.mtime_ns, size = excluded.size,
                 sha256 = excluded.sha256, loader = excluded.loader RETURNING id"""
        with self.transaction():
            ((id,),) = self._all(sql, _columns(source))
            self._tell_documents(id, source)
            return int(id)

    def move_source(self, id: int, source: Source) -> None:
        """A file has moved: the same documents, another place. Raises NotFound, UsageError if the place is taken."""
        sql = "UPDATE sources SET root = ?, path = ?, mtime_ns = ?, size = ?, sha256 = ?, loader = ? WHERE id = ?"
        with self.transaction():
            taken = self._all("SELECT id FROM sources WHERE root = ? AND path = ?", (source.root, source.path))
            if taken and taken[0][0] != id:
                raise UsageError(f"{self.folder} already knows a file {source.path!r}.", "Drop it first.")
            if not self._execute(sql, (*_columns(source), id)):
                raise NotFound(f"{self.folder} knows no source {id}.")
            self._tell_documents(id, source)

    def drop_sources(self, ids: Iterable[int]) -> int:
        """Forget files and delete the documents that came from them; how many documents there were."""
        wanted = json.dumps([int(id) for id in ids])
        with self.transaction():
            sql = "SELECT id FROM documents WHERE source IN (SELECT value FROM json_each(?))"
            removed = self._remove([id for (id,) in self._all(sql, (wanted,))])
            self._execute("DELETE FROM sources WHERE id IN (SELECT value FROM json_each(?))", (wanted,))
            return removed

    # ---- the rest

    def set_recipe(self, recipe: Mapping[str, Any]) -> None:
        """Remember how this index is made, in place of what was remembered before."""
        rows = [(key, to_json(value)) for key, value in recipe.items()]
        with self.transaction():
            self._execute("DELETE FROM recipe")
            self._connection.executemany("INSERT INTO recipe VALUES (?, ?)", rows)

    def add_space(self, fingerprint: str, name: str, dim: int, info: Mapping[str, Any]) -> Space:
        """The space of an encoder; a new one where its fingerprint is unknown."""
        sql = "INSERT INTO spaces (fingerprint, name, dim, info) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        with self.transaction():
            self._execute(sql, (fingerprint, name, dim, to_json(dict(info))))
            return next(space for space in self.spaces() if space.fingerprint == fingerprint)

    def set_background(self, space: int, quantiles: Sequence[float], count: int) -> None:
        """Remember the background distribution of a space, measured when it held `count` vectors."""
        packed = np.asarray(quantiles, dtype="<f8").tobytes()
        with self.transaction():
            self._execute("UPDATE spaces SET background = ?, background_count = ? WHERE id = ?", (packed, count, space))

    def add_cache(self, row: CacheRow) -> CacheRow:
        """Announce a finished cache file. Its commit is the switch. `row.id` is ignored."""
        sql = """INSERT INTO caches (space, file, bytes, sha256, highest_id, count, spec, faiss_version, why)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
        values = (row.space, row.file, row.bytes, row.sha256, row.highest_id, row.count, row.spec, row.faiss_version)
        with self.transaction():
            self._execute(sql, (*values, row.why))
            return self.caches(row.space)[0]

    def drop_cache(self, id: int) -> None:
        """Forget a cache; its file is the caller's."""
        with self.transaction():
            self._execute("DELETE FROM caches WHERE id = ?", (id,))

    def add_run(self, report: Mapping[str, Any]) -> None:
        """Remember what a run of `index` did. The last 100 are kept."""
        with self.transaction():
            self._execute("INSERT INTO runs (report) VALUES (?)", (to_json(dict(report)),))
            self._execute("DELETE FROM runs WHERE id <= (SELECT max(id) FROM runs) - ?", (RUNS_KEPT,))

    def compact(self) -> None:
        """Give back the room of what was deleted. Needs as much room again for a moment."""
        from sqlite_utils import Database  # 0.2 s to import, and only maintenance needs it

        with self.transaction():
            for table in ("passages_fts", "passages_cjk"):
                self._execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        with self._lock, sqlite.translated(self.folder):
            Database(self._connection).vacuum()
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    # ---- inside

    def _connect(self) -> sqlite3.Connection:
        if self.readonly:
            return super()._connect()
        connection = sqlite.connect_writer(self._file)
        try:
            schema.check(connection, self.folder, write=True)
            schema.migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _execute(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        return self._connection.execute(sql, parameters).rowcount

    def _add(self, counter: str, change: int) -> None:
        self._execute("UPDATE meta SET value = value + ? WHERE key = ?", (change, counter))

    def _count_vectors(self, space: int, change: int) -> None:
        self._execute("UPDATE spaces SET vectors = vectors + ? WHERE id = ?", (change, space))

    def _tell_documents(self, id: int, source: Source) -> None:
        """Filters on date, size and loader read these columns."""
        sql = "UPDATE documents SET mtime = ?, loader = ? WHERE source = ?"
        self._execute(sql, (source.mtime_ns, source.loader, id))

    def _remove(self, documents: Sequence[int]) -> int:
        """Documents by row id, with passages, vectors, full text and counters: the one place where rows go."""
        if not documents:
            return 0
        wanted = (json.dumps(documents),)
        for table, only in (("passages_fts", ""), ("passages_cjk", "AND cjk = 1")):
            self._execute(
                f"""INSERT INTO {table} ({table}, rowid, text) SELECT 'delete', id, text FROM passages
                    WHERE document IN (SELECT value FROM json_each(?)) {only}""",
                wanted,
            )
        for space in self.spaces():
            sql = f"DELETE FROM vectors WHERE space = ? AND passage IN ({_OF_DOCUMENTS})"
            self._count_vectors(space.id, -self._execute(sql, (space.id, *wanted)))
        passages = self._execute("DELETE FROM passages WHERE document IN (SELECT value FROM json_each(?))", wanted)
        removed = self._execute("DELETE FROM documents WHERE id IN (SELECT value FROM json_each(?))", wanted)
        self._add("passages", -passages)
        self._add("documents", -removed)
        return removed

    def _insert(self, checked: Sequence[tuple[Entry, Vectors]], space: int) -> None:
        """New documents with everything that belongs to them: the one place where rows come."""
        document, passage = self._next_id("documents"), self._next_id("passages")
        sources = {source.id: source for source in self._sources_of(entry for entry, _ in checked)}
        documents, passages, ids = [], [], []
        first = passage
        for number, (entry, _) in enumerate(checked, start=document):
            documents.append(_document_row(number, entry.document, sources.get(entry.source or 0)))
            rows = _passage_rows(passage, number, entry)
            passages += rows
            passage += len(rows)
            ids += [row[0] for row in rows]
        put = self._connection.executemany
        put(f"INSERT INTO documents ({_DOCUMENT_COLUMNS}) VALUES (?{', ?' * 12})", documents)
        put(f"INSERT INTO passages ({_PASSAGE_COLUMNS}) VALUES (?{', ?' * 11})", passages)
        for table, only in (("passages_fts", ""), ("passages_cjk", "AND cjk = 1")):
            sql = f"INSERT INTO {table} (rowid, text) SELECT id, text FROM passages WHERE id >= ? {only} ORDER BY id"
            self._execute(sql, (first,))
        if ids:
            self._insert_vectors(space, ids, np.concatenate([vectors for _, vectors in checked]))
        self._count_vectors(space, len(ids))
        self._add("documents", len(documents))
        self._add("passages", len(passages))

    def _insert_vectors(self, space: int, ids: Sequence[int], vectors: Vectors) -> None:
        width = vectors.shape[1] * FLOAT16.itemsize
        packed = vectors.astype(FLOAT16).tobytes()
        blobs = (packed[at : at + width] for at in range(0, len(packed), width))
        rows = [(id, space, vector_crc(id, blob), blob) for id, blob in zip(ids, blobs, strict=True)]
        self._connection.executemany("INSERT INTO vectors (passage, space, crc, vector) VALUES (?, ?, ?, ?)", rows)

    def _next_id(self, table: str) -> int:
        """What AUTOINCREMENT would give. Rows with ids that are known before they are written go in together."""
        rows = self._all("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
        return rows[0][0] + 1 if rows else 1

    def _sources_of(self, entries: Iterable[Entry]) -> list[Source]:
        wanted = sorted({entry.source for entry in entries if entry.source is not None})
        sql = """SELECT root, path, mtime_ns, size, sha256, loader, id FROM sources
                 WHERE id IN (SELECT value FROM json_each(?))"""
        found = [Source(*row) for row in self._all(sql, (json.dumps(wanted),))] if wanted else []
        if len(found) != len(wanted):
            raise NotFound(f"{self.folder} knows no source {min(set(wanted) - {source.id for source in found})}.")
        return found


_DOCUMENT_COLUMNS = "id, uri, source, sha256, meta_sha256, mtime, size, loader, lines, title, metadata, marks, body"
_PASSAGE_COLUMNS = 'id, document, position, start, "end", page, line, heading, crc, identity, cjk, text'


def _document_row(id: int, document: Document, source: Source | None) -> tuple[Any, ...]:
    body = document.text.encode()
    return (
        id,
        document.id,
        source.id if source else None,
        hashlib.sha256(body).hexdigest(),
        meta_hash(document.title, document.metadata),
        source.mtime_ns if source else None,
        len(body),
        source.loader if source else None,
        int(document.lines),
        document.title,
        to_json(dict(document.metadata)),
        to_json([[mark.start, mark.page, mark.heading] for mark in document.marks]),
        zlib.compress(body, COMPRESSION),
    )


def _passage_rows(first: int, document: int, entry: Entry) -> list[tuple[Any, ...]]:
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
            passage_crc(first + position, passage.text),
            identity(entry.document.id, position, passage.text),
            int(_CJK.search(passage.text) is not None),
            passage.text,
        )
        for position, passage in enumerate(entry.passages)
    ]


def identity(uri: str, position: int, text: str) -> str:
    """A name for a passage that is the same on every machine, unlike its row id."""
    return hashlib.sha256(f"{uri}\0{position}\0{text}".encode()).hexdigest()[:32]


def _checked(entry: Entry, dim: int) -> Vectors:
    """The vectors of an entry, when all of it can be stored. Raises Unreadable, SemsearchError."""
    check_document(entry.document)
    rows = check(entry.vectors, dim=dim, what=entry.document.id)
    if len(rows) != len(entry.passages):
        raise SemsearchError(f"{entry.document.id}: {len(rows)} vectors for {len(entry.passages)} passages.")
    for passage in entry.passages:
        if not _is_slice(passage, entry.document.text):
            raise SemsearchError(f"{entry.document.id}: the passage at {passage.start} is not a slice of its document.")
    return rows


def _is_slice(passage: Passage, text: str) -> bool:
    return 0 <= passage.start <= passage.end and text[passage.start : passage.end] == passage.text


def _columns(source: Source) -> tuple[str, str, int, int, str, str]:
    return source.root, source.path, source.mtime_ns, source.size, source.sha256, source.loader


def _make(file: Path) -> None:
    """A new, empty store in the file `file`, on disk when this returns."""
    for left in file.parent.glob(f"{file.name}*"):
        left.unlink()
    connection = sqlite.connect(file, "rwc")
    try:
        schema.create(connection)
    finally:
        connection.close()
    with file.open("rb+") as made:
        os.fsync(made.fileno())


def _refuse_content(folder: Path) -> None:
    if (folder / DATABASE).exists():
        raise UsageError(f"{folder} already holds an index.", "Open it, or choose another name.")
    ours = {LOCK, PID}
    for item in sorted(folder.iterdir()):
        if item.name not in ours and not item.name.startswith(BEING_MADE):
            raise UsageError(f"{folder} holds something else ({item.name}).", "Choose an empty or a new folder.")


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk: a rename is safe only after this."""
    if os.name == "nt":  # Windows opens no folders, and keeps names in its journal
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _file_errors(folder: Path) -> Iterator[None]:
    with sqlite.translated(folder):
        try:
            yield
        except (FileExistsError, NotADirectoryError) as error:
            raise UsageError(f"{folder} cannot be a folder: a file is in its place.") from error
        except OSError as error:
            raise SemsearchError(f"{folder} cannot be made: {error.strerror}.") from error
