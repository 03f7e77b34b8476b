"""Rows of documents with passages, vectors, full text and counters, inserted and removed in one transaction.

`_insert` and `_remove` update full text and counters (`schema` explains why not triggers). Passage ids are never used
twice, not even when a document is replaced: an outdated cache can miss a passage, but it cannot name one whose text has
changed since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import NotFound
from semsearch.stores.entry_checks import furniture, keywords
from semsearch.stores.local.database.connection import Connection
from semsearch.stores.local.database.row_checksums import COLUMNS, passage_crc
from semsearch.stores.local.database.schema import FLOAT16, FLOAT16_BYTES, INDEXED_TEXT, body, vector_crc
from semsearch.stores.local.full_text.segments import last_sealed
from semsearch.stores.records import Entry, Source, meta_hash, packed_marks, text_hash, to_json
from semsearch.stores.sql.folding import fold
from semsearch.stores.sql.query_terms import has_cjk
from semsearch.types import Passage

if TYPE_CHECKING:
    from semsearch.types import Vectors

THESE = "IN (SELECT value FROM json_each(?))"
_OURS = f"document {THESE}"
FULL_TEXT = (  # columns, what of a passage stands in them, rows
    ("passages_fts", "text, keywords", f"{INDEXED_TEXT}, keywords", ""),
    ("passages_cjk", "text", INDEXED_TEXT, "AND cjk = 1"),
)
SOURCE_COLUMNS = "root, path, mtime_ns, size, sha256, loader"
_DOCUMENT_COLUMNS = "id, uri, source, sha256, meta_sha256, mtime, size, loader, lines, title, metadata, marks, body"
_PLACES = {name: f"?{at}" for at, name in enumerate(_DOCUMENT_COLUMNS.split(", "), start=1)}
_DOCUMENT_CRC = ", ".join(_PLACES[name] for name in COLUMNS["documents"].split(", "))
_DOCUMENT_VALUES = f"{', '.join(_PLACES.values())}, row_crc({_DOCUMENT_CRC})"
_PASSAGE_COLUMNS = (
    'id, document, position, start, "end", page, line, heading, crc, identity, cjk, text, keywords, folded'
)


class RowWriter:
    """Inserts and removes documents with all that belongs to them. Call it inside a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def _remove(self, documents: Sequence[int]) -> int:
        """Delete documents (row ids) with passages, vectors, full text and counters; nothing else deletes them."""
        if not documents:
            return 0
        wanted = (json.dumps(documents),)
        for table, columns, words, only in FULL_TEXT:  # 'delete' needs the very text that was inserted
            gone = f"SELECT 'delete', id, {words} FROM passages WHERE {_OURS} {only}"
            self._db.execute(f"INSERT INTO {table} ({table}, rowid, {columns}) {gone}", wanted)
        sealed = f"SELECT id FROM passages WHERE {_OURS} AND id <= {last_sealed(self._db.raw)}"
        self._db.execute(f"INSERT INTO postings_gone {sealed}", wanted)
        for (space,) in self._db.rows("SELECT id FROM spaces"):
            sql = f"DELETE FROM vectors WHERE space = ? AND passage IN (SELECT id FROM passages WHERE {_OURS})"
            self._count_vectors(space, -self._db.execute(sql, (space, *wanted)))
        gone = f"SELECT id FROM passages WHERE {_OURS}"
        self._db.execute(f"DELETE FROM furniture WHERE passage IN ({gone})", wanted)
        passages = self._db.execute(f"DELETE FROM passages WHERE {_OURS}", wanted)
        removed = self._db.execute(f"DELETE FROM documents WHERE id {THESE}", wanted)
        self._db.add("passages", -passages)
        self._db.add("documents", -removed)
        return removed

    def _insert(self, entries: Sequence[Entry], space: int) -> None:
        """Insert new documents with everything that belongs to them; nothing else inserts them."""
        first = self._next_id("passages")
        sources = self._sources_of(entries)
        documents: list[tuple[object, ...]] = []
        passages: list[tuple[object, ...]] = []
        last: list[tuple[int]] = []
        for number, entry in enumerate(entries, start=self._next_id("documents")):
            documents.append(_document_row(number, entry, sources.get(entry.source)))
            marked = furniture(entry.document, entry.passages)
            last += [(first + len(passages) + position,) for position in marked]
            passages += _passage_rows(first + len(passages), number, entry)
        put = self._db.execute_many
        put(f"INSERT INTO documents ({_DOCUMENT_COLUMNS}, crc) VALUES ({_DOCUMENT_VALUES})", documents)
        put(f"INSERT INTO passages ({_PASSAGE_COLUMNS}) VALUES (?{', ?' * 13})", passages)
        put("INSERT INTO furniture VALUES (?)", last)
        for table, columns, words, only in FULL_TEXT:
            new = f"SELECT id, {words} FROM passages WHERE id >= ? {only} ORDER BY id"
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
        width = vectors.shape[1] * FLOAT16_BYTES
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
        rows = self._db.rows(f"SELECT {SOURCE_COLUMNS}, id FROM sources WHERE id {THESE}", (json.dumps(list(wanted)),))
        found: dict[int | None, Source] = {row[-1]: Source(*row) for row in rows}
        if missing := wanted - found.keys():
            raise NotFound(f"{self._db.folder} has no source {min(missing)}.")
        return found


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
        packed_marks(document.marks),
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
            int(has_cjk(words)),
            passage.text,
            fold(keywords(entry.document, passage)),
            None if words == passage.text else words,
        )
        for position, passage in enumerate(entry.passages)
        for words in [fold(passage.text)]
    ]
