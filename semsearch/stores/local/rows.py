"""Rows of documents with passages, vectors, full text and counters, inserted and removed in one transaction.

`insert` and `remove` update full text and counters (`schema` explains why not triggers). Passage ids are never used
twice, not even when a document is replaced: an outdated cache can miss a passage, but it cannot name one whose text has
changed since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from semsearch.stores.entry_checks import furniture, keywords
from semsearch.stores.local.database.checksums import COLUMNS, passage_crc, vector_crc
from semsearch.stores.local.database.connection import Connection
from semsearch.stores.local.database.schema import FLOAT16, INDEXED_TEXT, body
from semsearch.stores.local.full_text.segments import last_sealed
from semsearch.stores.records import Entry
from semsearch.stores.sql.folding import fold
from semsearch.stores.sql.query_terms import has_cjk
from semsearch.stores.sql.rows import PASSAGE, document_values, passage_values

if TYPE_CHECKING:
    from semsearch.types import Vectors

_OURS = f"document {Connection.among}"
FULL_TEXT = (  # columns, what of a passage stands in them, rows
    ("passages_fts", "text, keywords", f"{INDEXED_TEXT}, keywords", ""),
    ("passages_cjk", "text", INDEXED_TEXT, "AND cjk = 1"),
)
_OF_SOURCE = ("mtime_ns", "loader")  # of a file: its documents have copies, for filters


class RowWriter:
    """Inserts and removes documents with all that belongs to them. Call it inside a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def remove(self, documents: Sequence[int]) -> int:
        """Delete documents (row ids) with passages, vectors, full text and counters; nothing else deletes them."""
        if not documents:
            return 0
        these = (json.dumps(documents),)
        for table, columns, words, only in FULL_TEXT:  # 'delete' needs the very text that was inserted
            gone = f"SELECT 'delete', id, {words} FROM passages WHERE {_OURS} {only}"
            self._db.execute(f"INSERT INTO {table} ({table}, rowid, {columns}) {gone}", these)
        sealed = f"SELECT id FROM passages WHERE {_OURS} AND id <= {last_sealed(self._db.raw)}"
        self._db.execute(f"INSERT INTO postings_gone {sealed}", these)
        for (space,) in self._db.rows("SELECT id FROM spaces"):
            sql = f"DELETE FROM vectors WHERE space = ? AND passage IN (SELECT id FROM passages WHERE {_OURS})"
            self.count_vectors(space, -self._db.execute(sql, (space, *these)))
        gone = f"SELECT id FROM passages WHERE {_OURS}"
        self._db.execute(f"DELETE FROM furniture WHERE passage IN ({gone})", these)
        passages = self._db.execute(f"DELETE FROM passages WHERE {_OURS}", these)
        removed = self._db.execute(f"DELETE FROM documents WHERE id {Connection.among}", these)
        self._db.add("passages", -passages)
        self._db.add("documents", -removed)
        return removed

    def insert(self, entries: Sequence[Entry], space: int) -> None:
        """Insert new documents with everything that belongs to them; nothing else inserts them."""
        first = self.next_id("passages")
        documents: list[dict[str, object]] = []
        passages: list[tuple[object, ...]] = []
        last: list[tuple[int]] = []
        for number, entry in enumerate(entries, start=self.next_id("documents")):
            documents.append({**document_values(number, entry), "body": body(entry.document.text, entry.passages)})
            last += [(first + len(passages) + at,) for at in furniture(entry.document, entry.passages)]
            passages += _passage_rows(first + len(passages), number, entry)
        self._insert_documents(documents)
        columns = f"{PASSAGE}, crc, identity, cjk, keywords, folded"
        self._db.execute_many(f"INSERT INTO passages ({columns}) VALUES (?{', ?' * 13})", passages)
        self._db.execute_many("INSERT INTO furniture VALUES (?)", last)
        for table, columns, words, only in FULL_TEXT:
            new = f"SELECT id, {words} FROM passages WHERE id >= ? {only} ORDER BY id"
            self._db.execute(f"INSERT INTO {table} (rowid, {columns}) {new}", (first,))
        self.insert_vectors(space, range(first, first + len(passages)), [entry.vectors for entry in entries])
        self.count_vectors(space, len(passages))
        self._db.add("documents", len(documents))
        self._db.add("passages", len(passages))

    def _insert_documents(self, rows: Sequence[Mapping[str, object]]) -> None:
        if not rows:
            return
        at = {column: f"?{number}" for number, column in enumerate(rows[0], start=1)}
        crc = ", ".join(at[column] for column in COLUMNS["documents"].split(", "))
        of_source = ", ".join(f"(SELECT {column} FROM sources WHERE id = {at['source']})" for column in _OF_SOURCE)
        sql = f"""INSERT INTO documents ({", ".join(at)}, mtime, loader, crc)
                  VALUES ({", ".join(at.values())}, {of_source}, row_crc({crc}))"""
        self._db.execute_many(sql, [tuple(row.values()) for row in rows])

    def count_vectors(self, space: int, change: int) -> None:
        self._db.execute("UPDATE spaces SET vectors = vectors + ? WHERE id = ?", (change, space))

    def insert_vectors(self, space: int, passages: Sequence[int], vectors: Iterable[Vectors]) -> None:
        """`vectors`: several arrays, together with a row for each passage. They are packed one by one."""
        blobs = (row.tobytes() for some in vectors for row in some.astype(FLOAT16))
        rows = ((row_id, space, vector_crc(row_id, blob), blob) for row_id, blob in zip(passages, blobs, strict=True))
        self._db.execute_many("INSERT INTO vectors (passage, space, crc, vector) VALUES (?, ?, ?, ?)", rows)

    def next_id(self, table: str) -> int:
        """The id that AUTOINCREMENT would choose next, so that all rows of a batch are inserted by one statement."""
        rows = self._db.rows("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
        return int(rows[0][0]) + 1 if rows else 1


def _passage_rows(first: int, document: int, entry: Entry) -> list[tuple[object, ...]]:
    rows = []
    for position, passage in enumerate(entry.passages):
        number = first + position
        place = passage.start, passage.end, passage.page, passage.line, passage.heading
        crc, words = passage_crc(number, document, *place, passage.text), fold(passage.text)
        folded = None if words == passage.text else words
        values = passage_values(number, document, position, passage)
        rows.append((*values, crc, "", int(has_cjk(words)), fold(keywords(entry.document, passage)), folded))
    return rows
