"""Where rows come and go: the transaction, and the two methods that add and remove documents.

Full-text rows and counters are kept here, by hand, in the same transaction (see schema.py for why not by triggers).
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.errors import NotFound, SemsearchError
from semsearch.stores.local import schema, sqlite
from semsearch.stores.local.connection import DATABASE
from semsearch.stores.local.reader import Reader
from semsearch.stores.records import (
    CJK,
    FLOAT16,
    Entry,
    Source,
    identity,
    meta_hash,
    pack,
    passage_crc,
    text_hash,
    to_json,
    vector_crc,
)
from semsearch.utils.writer_lock import WriterLock

if TYPE_CHECKING:
    from semsearch.types import Document, Vectors

_CJK = re.compile(f"[{CJK}]")
_OURS = "document IN (SELECT value FROM json_each(?))"
_FULL_TEXT = (("passages_fts", ""), ("passages_cjk", "AND cjk = 1"))
_DOCUMENT_COLUMNS = "id, uri, source, sha256, meta_sha256, mtime, size, loader, lines, title, metadata, marks, body"
_PASSAGE_COLUMNS = 'id, document, position, start, "end", page, line, heading, crc, identity, cjk, text'


class Writer(Reader):
    """A connection that may write, if it was given the lock for it; `close()` lets go of the lock."""

    def __init__(self, folder: Path, lock: WriterLock | None, name: str = DATABASE) -> None:
        self.readonly = lock is None
        self._writer = lock
        self._writing = False
        super().__init__(folder, name)

    def close(self) -> None:
        """Fold the log into the file, let go of the files and of the lock. Every later call raises SemsearchError."""
        with self._lock:
            super().close()
            if self._writer is not None:
                self._writer.release()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All inside is on disk when the outermost one ends, or none of it. An inner one that fails is undone alone."""
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

    def _connect(self) -> sqlite3.Connection:
        if self.readonly:
            return super()._connect()
        connection = sqlite.connect(self._file, "rw")
        try:
            schema.check(connection, self.folder, write=True)  # first: a file that is not ours stays untouched
            sqlite.make_durable(connection, self.folder)
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

    def _remove(self, documents: Sequence[int]) -> int:
        """Documents by row id, with passages, vectors, full text and counters: the one place where rows go."""
        if not documents:
            return 0
        wanted = (json.dumps(documents),)
        for table, only in _FULL_TEXT:  # 'delete' needs the very text that was put
            gone = f"SELECT 'delete', id, text FROM passages WHERE {_OURS} {only}"
            self._execute(f"INSERT INTO {table} ({table}, rowid, text) {gone}", wanted)
        for space in self.spaces():
            sql = f"DELETE FROM vectors WHERE space = ? AND passage IN (SELECT id FROM passages WHERE {_OURS})"
            self._count_vectors(space.id, -self._execute(sql, (space.id, *wanted)))
        passages = self._execute(f"DELETE FROM passages WHERE {_OURS}", wanted)
        removed = self._execute("DELETE FROM documents WHERE id IN (SELECT value FROM json_each(?))", wanted)
        self._add("passages", -passages)
        self._add("documents", -removed)
        return removed

    def _insert(self, entries: Sequence[Entry], space: int) -> None:
        """New documents with everything that belongs to them: the one place where rows come."""
        first = self._next_id("passages")
        sources = self._sources_of(entries)
        documents: list[tuple[Any, ...]] = []
        passages: list[tuple[Any, ...]] = []
        for number, entry in enumerate(entries, start=self._next_id("documents")):
            documents.append(_document_row(number, entry.document, sources.get(entry.source)))
            passages += _passage_rows(first + len(passages), number, entry)
        put = self._connection.executemany
        put(f"INSERT INTO documents ({_DOCUMENT_COLUMNS}) VALUES (?{', ?' * 12})", documents)
        put(f"INSERT INTO passages ({_PASSAGE_COLUMNS}) VALUES (?{', ?' * 11})", passages)
        for table, only in _FULL_TEXT:
            new = f"SELECT id, text FROM passages WHERE id >= ? {only} ORDER BY id"
            self._execute(f"INSERT INTO {table} (rowid, text) {new}", (first,))
        if passages:
            vectors = np.concatenate([entry.vectors for entry in entries])
            self._insert_vectors(space, [row[0] for row in passages], vectors)
        self._count_vectors(space, len(passages))
        self._add("documents", len(documents))
        self._add("passages", len(passages))

    def _insert_vectors(self, space: int, passages: Sequence[int], vectors: Vectors) -> None:
        width = vectors.shape[1] * FLOAT16.itemsize
        packed = vectors.astype(FLOAT16).tobytes()
        blobs = (packed[at : at + width] for at in range(0, len(packed), width))
        rows = [(row_id, space, vector_crc(row_id, blob), blob) for row_id, blob in zip(passages, blobs, strict=True)]
        self._connection.executemany("INSERT INTO vectors (passage, space, crc, vector) VALUES (?, ?, ?, ?)", rows)

    def _next_id(self, table: str) -> int:
        """What AUTOINCREMENT would give. Rows whose ids are known before they are written go in together."""
        rows = self._all("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
        return int(rows[0][0]) + 1 if rows else 1

    def _sources_of(self, entries: Iterable[Entry]) -> dict[int | None, Source]:
        wanted = {entry.source for entry in entries if entry.source is not None}
        sql = """SELECT root, path, mtime_ns, size, sha256, loader, id FROM sources
                 WHERE id IN (SELECT value FROM json_each(?))"""
        found: dict[int | None, Source] = {row[-1]: Source(*row) for row in self._all(sql, (json.dumps(list(wanted)),))}
        if missing := wanted - found.keys():
            raise NotFound(f"{self.folder} knows no source {min(missing)}.")
        return found


def _document_row(number: int, document: Document, source: Source | None) -> tuple[Any, ...]:
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
        pack(document.text),
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
            passage_crc(first + position, document, passage.start, passage.end, passage.text),
            identity(entry.document.id, position, passage.text),
            int(_CJK.search(passage.text) is not None),
            passage.text,
        )
        for position, passage in enumerate(entry.passages)
    ]
