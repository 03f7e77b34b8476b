"""Documents of a local store and the files that they are from, read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from semsearch.errors import Corrupt
from semsearch.stores.local.database import sqlite
from semsearch.stores.local.database.connection import MOST_PARAMETERS, pieces
from semsearch.stores.local.database.schema import HASHES, TEXT, document_text
from semsearch.stores.records import HASH, DocumentRow, Source, meta_hash, text_hash
from semsearch.types import Document, Mark

if TYPE_CHECKING:
    from semsearch.stores.local.database.connection import Connection, Row

ROWS_PER_QUERY = 10_000
NOTES = "bookmark of "  # and the id of a source: a key of the table `meta`, for `Source.notes`
_SOURCE = f"""
    s.root, s.path, s.mtime_ns, s.size, s.sha256, s.loader, s.id,
    (SELECT count(*) FROM documents WHERE source = s.id),
    (SELECT value FROM meta WHERE key = '{NOTES}' || s.id)"""
_SOURCE_ID = 6  # its column
_NUMBER = 5  # the column of a document's number
_ROW = f"""
    SELECT d.uri, d.title, substr(d.sha256, 1, {HASH}), substr(d.meta_sha256, 1, {HASH}), d.source, d.id, d.size,
           d.mtime, d.loader, s.root, s.path, (SELECT count(*) FROM passages p WHERE p.document = d.id), d.metadata
    FROM documents d LEFT JOIN sources s ON s.id = d.source"""


class DocumentReader:
    """The methods of a `LocalReader` for documents and their sources."""

    _db: Connection

    def full_documents(self, ids: Sequence[str]) -> list[Document]:
        sql = f"SELECT uri, {TEXT}, metadata, title, marks, lines, {HASHES} FROM documents WHERE uri IN"
        found = {row[0]: self._document(*row) for row in self._db.rows_in(sql, list(dict.fromkeys(ids)))}
        return [found[uri] for uri in ids if uri in found]

    def _document(
        self, uri: str, body: bytes | str, packed: str, title: str | None, marks: str, *rest: Row
    ) -> Document:
        lines, sha256, meta_sha256 = rest
        metadata = self._db.parsed(packed)
        try:
            text = document_text(body)
            marked = tuple(Mark(*mark) for mark in self._db.parsed(marks))
            sound = (text_hash(text), meta_hash(title, metadata)) == (sha256, meta_sha256)
        except (ValueError, TypeError) as error:
            raise Corrupt(f"{self._db.folder}: {uri!r} is damaged ({error}).", sqlite.REPAIR) from error
        if not sound:
            raise Corrupt(f"{self._db.folder}: {uri!r} is not what was stored.", sqlite.REPAIR)
        return Document(uri, text, metadata, title, marked, bool(lines))

    def document_rows(self, ids: Sequence[str] | None = None, *, source: int | None = None) -> Iterator[DocumentRow]:
        if ids is not None:
            for piece in pieces(ids, MOST_PARAMETERS):
                found = {row[0]: row for row in self._db.rows_in(f"{_ROW} WHERE d.uri IN", piece)}
                yield from (self._row(*found[uri]) for uri in piece if uri in found)
            return
        condition, key, order = ("1", 0, "uri") if source is None else ("d.source = ?2", _NUMBER, "id")
        sql = f"{_ROW} WHERE {condition} AND d.{order} > ?1 ORDER BY d.{order} LIMIT {ROWS_PER_QUERY}"
        after: str | int = "" if source is None else 0
        while rows := self._db.rows(sql, (after,) if source is None else (after, source)):
            yield from (self._row(*row) for row in rows)
            after = rows[-1][key]

    def _row(self, *row: Row) -> DocumentRow:
        return DocumentRow._make((*row[:-1], {} if row[-1] == "{}" else self._db.parsed(row[-1])))

    def sources(
        self, *, keys: Sequence[tuple[str, str]] | None = None, ids: Sequence[int] | None = None
    ) -> Iterator[Source]:
        if keys is not None:
            for root in dict.fromkeys(root for root, _ in keys):
                paths = [path for of, path in keys if of == root]
                sql = f"SELECT {_SOURCE} FROM sources s WHERE root = ? AND path IN"
                yield from map(self._source, self._db.rows_in(sql, paths, root))
        elif ids is not None:
            sql = f"SELECT {_SOURCE} FROM json_each(?) wanted CROSS JOIN sources s ON s.id = wanted.value"
            yield from map(self._source, self._db.rows_for(sql, ids))
        else:
            sql, after = f"SELECT {_SOURCE} FROM sources s WHERE id > ? ORDER BY id LIMIT {ROWS_PER_QUERY}", 0
            while rows := self._db.rows(sql, (after,)):
                yield from map(self._source, rows)
                after = rows[-1][_SOURCE_ID]

    def _source(self, row: Row) -> Source:
        root, path, mtime_ns, size, sha256, loader, number, documents, notes = row
        source = Source(root, path, mtime_ns, size, sha256, loader, number, documents=documents)
        try:
            return source if notes is None else source.with_notes(json.loads(notes))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Corrupt(f"{self._db.folder} is damaged: the bookmark of {source.path}.", sqlite.REPAIR) from error
