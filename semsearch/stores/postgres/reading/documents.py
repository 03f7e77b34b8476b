"""Documents of a PostgreSQL store and the files that they are from, read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from semsearch.errors import Corrupt, NotFound
from semsearch.stores import machine
from semsearch.stores.postgres import filter_sql
from semsearch.stores.postgres.escapes import restored, restored_or_none, stored, stored_all
from semsearch.stores.postgres.server.connection import Connection, Row
from semsearch.stores.postgres.server.schema import BACKUP
from semsearch.stores.records import Bookmark, DocumentStamp, Origin, Source, meta_hash, text_hash
from semsearch.types import Document, JsonObject, Mark

ROWS_PER_QUERY = 10_000
_SOURCE = "s.id, s.root, s.path, s.mtime_ns, s.size, s.sha256, s.loader, s.bookmark"
_STAMP = "uri, sha256, meta_sha256, source, title, id"
_THESE = "uri = ANY(%s::text[])"
_FROM_DOCUMENTS = filter_sql.DOCUMENTS
ROOT = "CASE WHEN s.machine = %s THEN s.root END"  # on this machine: a file of another one cannot be opened
_LISTING = f"""
    SELECT d.uri, d.title, d.size, s.mtime_ns, s.loader, {ROOT}, s.path,
           (SELECT count(*) FROM passages p WHERE p.document = d.id), d.metadata FROM {_FROM_DOCUMENTS}"""


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

    def document(self, uri: str) -> Document | None:
        return next(iter(self.full_documents([uri])), None)

    def documents(
        self, *, path: str | None = None, ids: Sequence[str] | None = None, limit: int = -1, offset: int = 0
    ) -> list[JsonObject]:
        tests, values = ["TRUE"], list[object]()
        with self._db.snapshot():
            if path is not None:
                tests.append("d.id = ANY(%s::bigint[])")
                values.append(filter_sql.on_path(self._db, path))
            if ids is not None:
                tests.append("d.uri = ANY(%s::text[])")
                values.append(stored_all(ids))
            sql = f"{_LISTING} WHERE {' AND '.join(tests)} ORDER BY d.uri LIMIT %s OFFSET %s"
            rows = self._db.rows(sql, (this_machine(), *values, None if limit < 0 else limit, offset))
        return [self._listed(*row) for row in rows]

    def _listed(self, uri: str, title: str | None, size: int, mtime: int | None, loader: str | None, *rest: Row) -> Row:
        root, path, passages, metadata = rest
        return {
            "id": restored(uri),
            "title": restored_or_none(title),
            "size": size,
            "mtime": mtime,
            "loader": restored_or_none(loader),
            "root": restored_or_none(root),
            "path": restored_or_none(path),
            "passages": passages,
            "metadata": self._db.parsed(metadata),
        }

    def titles(self) -> list[tuple[str, str | None]]:
        rows = self._db.rows("SELECT uri, title FROM documents ORDER BY uri")
        return [(restored(uri), restored_or_none(title)) for uri, title in rows]

    def stamps(self, uris: Iterable[str]) -> dict[str, DocumentStamp]:
        rows = self._db.rows(f"SELECT {_STAMP} FROM documents WHERE uri = ANY(%s::text[])", (stored_all(uris),))
        return {stamp.uri: stamp for stamp in map(_stamp, rows)}

    def origins(self, uris: Sequence[str] | None = None) -> list[Origin]:
        sql, values = f"SELECT d.uri, {ROOT}, s.path, s.mtime_ns, s.size FROM {_FROM_DOCUMENTS}", [this_machine()]
        if uris is None:
            return [_origin(*row) for row in self._db.rows(sql, values)]
        sql = f"{sql} WHERE d.uri = ANY(%s::text[])"
        return [_origin(*row) for row in self._db.rows(sql, (*values, stored_all(uris)))]

    def highest_document(self) -> int:
        return int(self._db.rows("SELECT coalesce(max(id), 0) FROM documents")[0][0])

    def sources(self) -> Iterator[Source]:
        sql = f"SELECT {_SOURCE} FROM sources s WHERE machine = %s AND id > %s ORDER BY id LIMIT {ROWS_PER_QUERY}"
        after = 0
        while rows := self._db.rows(sql, (this_machine(), after)):
            yield from map(self._source, rows)
            after = rows[-1][0]

    def sources_at(self, root: str, paths: Sequence[str]) -> dict[str, Source]:
        sql = f"SELECT {_SOURCE} FROM sources s WHERE machine = %s AND root = %s AND path = ANY(%s::text[])"
        found = map(self._source, self._db.rows(sql, (this_machine(), stored(root), stored_all(paths))))
        return {source.path: source for source in found}

    def _source(self, row: Row) -> Source:
        number, root, path, mtime_ns, size, sha256, loader, bookmark = row
        source = Source(restored(root), restored(path), mtime_ns, size, sha256, restored(loader), number)
        return source if bookmark is None else replace(source, bookmark=Bookmark.from_json(self._db.parsed(bookmark)))

    def source_of(self, uri: str) -> Source | None:
        sql = f"SELECT s.machine = %s, {_SOURCE} FROM {_FROM_DOCUMENTS} WHERE d.uri = %s"
        rows = self._db.rows(sql, (this_machine(), stored(uri)))
        if not rows:
            raise NotFound(f"index {self._db.name} has no document {uri!r}.", "It may have been deleted.")
        is_here, *source = rows[0]
        return self._source(source) if is_here else None

    def documents_of(self, source: int) -> Iterator[DocumentStamp]:
        sql = f"SELECT {_STAMP} FROM documents WHERE source = %s AND id > %s ORDER BY id LIMIT {ROWS_PER_QUERY}"
        after = 0
        while rows := self._db.rows(sql, (source, after)):
            yield from map(_stamp, rows)
            after = rows[-1][-1]

    def document_counts(self, sources: Sequence[int]) -> dict[int, int]:
        sql = "SELECT source, count(*) FROM documents WHERE source = ANY(%s::bigint[]) GROUP BY source"
        return dict(self._db.rows(sql, (list(sources),)))


def this_machine() -> str:
    return stored(machine.name())


def _stamp(row: Row) -> DocumentStamp:
    uri, sha256, meta_sha256, source, title, number = row
    return DocumentStamp(restored(uri), sha256, meta_sha256, source, restored_or_none(title), number)


def _origin(uri: str, root: str | None, path: str | None, mtime_ns: int | None, size: int | None) -> Origin:
    return Origin(restored(uri), restored_or_none(root), restored_or_none(path), mtime_ns, size)
