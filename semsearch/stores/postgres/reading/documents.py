"""Documents of a PostgreSQL store and the files that they are from, read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from semsearch.errors import Corrupt
from semsearch.stores import machine
from semsearch.stores.postgres.escapes import restored, restored_or_none, stored, stored_all
from semsearch.stores.postgres.server.connection import Connection, Row
from semsearch.stores.postgres.server.schema import BACKUP
from semsearch.stores.records import Bookmark, DocumentRow, Source, meta_hash, text_hash
from semsearch.types import Document, Mark

ROWS_PER_QUERY = 10_000
_SOURCE = "s.id, s.root, s.path, s.mtime_ns, s.size, s.sha256, s.loader, "
_SOURCE += "(SELECT count(*) FROM documents WHERE source = s.id), s.bookmark"
_THESE = "uri = ANY(%s::text[])"
_NUMBER = 5  # the column of a document's number
ROOT = "CASE WHEN s.machine = %s THEN s.root END"  # on this machine: a file of another one cannot be opened
_ROW = f"""
    SELECT d.uri, d.title, d.sha256, d.meta_sha256, d.source, d.id, d.size, s.mtime_ns, s.loader, {ROOT}, s.path,
           (SELECT count(*) FROM passages p WHERE p.document = d.id), d.metadata
    FROM documents d LEFT JOIN sources s ON s.id = d.source"""


class DocumentReader:
    """The methods of a `PostgresReader` for documents and their sources."""

    _db: Connection

    def full_documents(self, ids: Sequence[str]) -> list[Document]:
        sql = f"SELECT uri, body, metadata, title, marks, lines, sha256, meta_sha256 FROM documents WHERE {_THESE}"
        found = {one.id: one for one in map(self._document, self._db.rows(sql, (stored_all(ids),)))}
        return [found[uri] for uri in ids if uri in found]

    def _document(self, row: Row) -> Document:
        uri, text, title = restored(row[0]), restored(row[1]), restored_or_none(row[3])
        metadata, marks, lines = self._db.parsed(row[2]), self._db.parsed(row[4]), row[5]
        if (text_hash(text), meta_hash(title, metadata)) != tuple(row[6:]):
            raise Corrupt(f"index {self._db.name}: {uri!r} is not what was stored.", BACKUP)
        return Document(uri, text, metadata, title, tuple(Mark(*mark) for mark in marks), lines)

    def document_rows(self, ids: Sequence[str] | None = None, *, source: int | None = None) -> Iterator[DocumentRow]:
        if ids is not None:
            names = stored_all(ids)
            found = {row[0]: row for row in self._db.rows(f"{_ROW} WHERE d.{_THESE}", (this_machine(), names))}
            yield from (self._row(*found[uri]) for uri in names if uri in found)
            return
        condition, key, order = ("TRUE", 0, "uri") if source is None else ("d.source = %s", _NUMBER, "id")
        sql = f"{_ROW} WHERE {condition} AND d.{order} > %s ORDER BY d.{order} LIMIT {ROWS_PER_QUERY}"
        after: str | int = "" if source is None else 0
        while rows := self._db.rows(sql, (this_machine(), *([] if source is None else [source]), after)):
            yield from (self._row(*row) for row in rows)
            after = rows[-1][key]

    def _row(self, uri: str, title: str | None, sha256: str, meta_sha256: str, *rest: Row) -> DocumentRow:
        source, number, size, mtime, loader, root, path, passages, metadata = rest
        names = restored_or_none(loader), restored_or_none(root), restored_or_none(path)
        record = restored(uri), restored_or_none(title), sha256, meta_sha256, source, number, size, mtime
        return DocumentRow(*record, *names, passages, self._db.parsed(metadata))

    def sources(
        self, *, keys: Sequence[tuple[str, str]] | None = None, ids: Sequence[int] | None = None
    ) -> Iterator[Source]:
        sql, me = f"SELECT {_SOURCE} FROM sources s WHERE machine = %s AND", this_machine()
        if keys is not None:
            for root in dict.fromkeys(root for root, _ in keys):
                paths = stored_all(path for of, path in keys if of == root)
                rows = self._db.rows(f"{sql} root = %s AND path = ANY(%s::text[])", (me, stored(root), paths))
                yield from map(self._source, rows)
        elif ids is not None:
            yield from map(self._source, self._db.rows(f"{sql} id = ANY(%s::bigint[])", (me, list(ids))))
        else:
            after = 0
            while rows := self._db.rows(f"{sql} id > %s ORDER BY id LIMIT {ROWS_PER_QUERY}", (me, after)):
                yield from map(self._source, rows)
                after = rows[-1][0]

    def _source(self, row: Row) -> Source:
        number, root, path, mtime_ns, size, sha256, loader, documents, bookmark = row
        place = restored(root), restored(path)
        source = Source(*place, mtime_ns, size, sha256, restored(loader), number, documents=documents)
        return source if bookmark is None else replace(source, bookmark=Bookmark.from_json(self._db.parsed(bookmark)))


def this_machine() -> str:
    return stored(machine.name())
