"""Documents of a local store and the files that they are from, read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from semsearch.errors import Corrupt, NotFound
from semsearch.stores.local import sqlite
from semsearch.stores.local.connection import Connection, Row
from semsearch.stores.local.schema import HASHES, TEXT, document_text
from semsearch.stores.records import Bookmark, DocumentStamp, Origin, Source, meta_hash, text_hash
from semsearch.types import Document, JsonObject, Mark
from semsearch.utils.globs import matches_document

ROWS_PER_QUERY = 10_000
BOOKMARK = "bookmark of "  # and the id of a source: a key of the table `meta`
_SOURCE = f"""
    s.root, s.path, s.mtime_ns, s.size, s.sha256, s.loader, s.id,
    (SELECT value FROM meta WHERE key = '{BOOKMARK}' || s.id)"""
_SOURCE_ID = 6  # its column
_STAMP = f"uri, {HASHES}, source, title, id"
_FROM_DOCUMENTS = "FROM documents d LEFT JOIN sources s ON s.id = d.source"
_LISTING = f"""
    SELECT d.uri, d.title, d.size, d.mtime, d.loader, s.root, s.path,
           (SELECT count(*) FROM passages p WHERE p.document = d.id), d.metadata {_FROM_DOCUMENTS}"""


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

    def document(self, uri: str) -> Document | None:
        return next(iter(self.full_documents([uri])), None)

    def documents(
        self, *, path: str | None = None, ids: Sequence[str] | None = None, limit: int = -1, offset: int = 0
    ) -> list[JsonObject]:
        with self._db.snapshot():
            wanted = [] if path is None else [self._on_path(path)]
            wanted += [] if ids is None else [self._db.document_ids(ids)]
            where = " AND ".join("d.id IN (SELECT value FROM json_each(?))" for _ in wanted) or "1"
            sql = f"{_LISTING} WHERE {where} ORDER BY d.uri LIMIT ? OFFSET ?"
            rows = self._db.rows(sql, (*map(json.dumps, wanted), limit, offset))
        keys = ("id", "title", "size", "mtime", "loader", "root", "path", "passages", "metadata")
        return [dict(zip(keys, (*row, self._db.parsed(metadata)), strict=True)) for *row, metadata in rows]

    def _on_path(self, pattern: str) -> list[int]:
        return [
            document
            for document, uri, path, root in self._db.rows(f"SELECT d.id, d.uri, s.path, s.root {_FROM_DOCUMENTS}")
            if matches_document(pattern, uri, path, root)
        ]

    def titles(self) -> list[tuple[str, str | None]]:
        return self._db.rows("SELECT uri, title FROM documents ORDER BY uri")

    def stamps(self, uris: Iterable[str]) -> dict[str, DocumentStamp]:
        sql = f"SELECT {_STAMP} FROM documents WHERE uri IN"
        return {row[0]: DocumentStamp(*row) for row in self._db.rows_in(sql, list(uris))}

    def origins(self, uris: Sequence[str] | None = None) -> list[Origin]:
        sql = f"SELECT d.uri, s.root, s.path, s.mtime_ns, s.size {_FROM_DOCUMENTS}"
        rows = self._db.rows(sql) if uris is None else self._db.rows_in(f"{sql} WHERE d.uri IN", list(uris))
        return [Origin(*row) for row in rows]

    def highest_document(self) -> int:
        return int(self._db.rows("SELECT coalesce(max(id), 0) FROM documents")[0][0])

    def sources(self) -> Iterator[Source]:
        sql = f"SELECT {_SOURCE} FROM sources s WHERE id > ? ORDER BY id LIMIT {ROWS_PER_QUERY}"
        after = 0
        while rows := self._db.rows(sql, (after,)):
            yield from map(self._source, rows)
            after = rows[-1][_SOURCE_ID]

    def sources_at(self, root: str, paths: Sequence[str]) -> dict[str, Source]:
        sql = f"SELECT {_SOURCE} FROM sources s WHERE root = ? AND path IN"
        found = map(self._source, self._db.rows_in(sql, paths, root))
        return {source.path: source for source in found}

    def _source(self, row: Row) -> Source:
        *recorded, bookmark = row
        source = Source(*recorded)
        try:
            return source if bookmark is None else replace(source, bookmark=Bookmark.from_json(json.loads(bookmark)))
        except (ValueError, TypeError, KeyError) as error:
            raise Corrupt(f"{self._db.folder} is damaged: the bookmark of {source.path}.", sqlite.REPAIR) from error

    def source_of(self, uri: str) -> Source | None:
        rows = self._db.rows(f"SELECT {_SOURCE} {_FROM_DOCUMENTS} WHERE d.uri = ?", (uri,))
        if not rows:
            raise NotFound(f"index {self._db.folder.name} has no document {uri!r}.", "It may have been deleted.")
        return None if rows[0][0] is None else self._source(rows[0])

    def documents_of(self, source: int) -> Iterator[DocumentStamp]:
        sql = f"SELECT {_STAMP} FROM documents WHERE source = ? AND id > ? ORDER BY id LIMIT {ROWS_PER_QUERY}"
        after = 0
        while rows := self._db.rows(sql, (source, after)):
            yield from (DocumentStamp(*row) for row in rows)
            after = rows[-1][-1]

    def document_counts(self, sources: Sequence[int]) -> dict[int, int]:
        sql = "SELECT source, count(*) FROM documents WHERE source IN (SELECT value FROM json_each(?)) GROUP BY source"
        return dict(self._db.rows_for(sql, sources))
