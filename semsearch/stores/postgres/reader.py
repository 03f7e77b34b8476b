"""The PostgreSQL store, open for reading."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from semsearch.errors import Corrupt, NotFound
from semsearch.stores import keyword_search, machine
from semsearch.stores.postgres import facets, filter_sql, verification
from semsearch.stores.postgres.allowed import AllowedPassages, allowed, only
from semsearch.stores.postgres.escapes import restored, restored_or_none, stored
from semsearch.stores.postgres.full_text.matching import PostgresMatching
from semsearch.stores.postgres.server.connection import BACKUP, Connection, Row
from semsearch.stores.postgres.server.schema import MACHINE
from semsearch.stores.postgres.space_vectors import SpaceVectors
from semsearch.stores.protocol import Allowed, Counts, Dense, Lexical, of_this_store
from semsearch.stores.query_words import terms
from semsearch.stores.records import (
    Bookmark,
    DocumentStamp,
    Origin,
    Source,
    Space,
    StoredPassage,
    meta_hash,
    text_hash,
)
from semsearch.types import Document, Facet, JsonObject, Mark, Progress
from semsearch.utils.strength import NullDistribution

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.types import Ids, Vectors

ROWS_PER_QUERY = 10_000
_SOURCE = "s.id, s.root, s.path, s.mtime_ns, s.size, s.sha256, s.loader, s.bookmark"
_STAMP = "uri, sha256, meta_sha256, source, title, id"
_FROM_DOCUMENTS = filter_sql.DOCUMENTS
_ROOT = "CASE WHEN s.machine = %s THEN s.root END"  # on this machine: a file of another one cannot be opened
_LISTING = f"""
    SELECT d.uri, d.title, d.size, s.mtime_ns, s.loader, {_ROOT}, s.path,
           (SELECT count(*) FROM passages p WHERE p.document = d.id), d.metadata FROM {_FROM_DOCUMENTS}"""
_PASSAGE = f"""
    SELECT p.id, d.uri, p.start, p."end", p.text, p.page, p.line, p.heading, d.metadata, d.title, {_ROOT}, s.path
    FROM passages p JOIN documents d ON d.id = p.document LEFT JOIN sources s ON s.id = d.source
    WHERE p.id = ANY(%s::bigint[])"""
_SPACES = """FROM spaces ORDER BY id = (SELECT value::integer FROM meta WHERE key = 'space') DESC NULLS LAST, id"""
_SIZE = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
           WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind = 'r'"""


class PostgresReader:
    """A collection that is open for reading. No call waits for a writer, or sees half a document.

    Threads may share one: each call, and each snapshot of a thread, has a connection of its own. The methods are
    described in `stores.protocol.StoreReader`.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._db = connection

    @property
    def name(self) -> str:
        return self._db.name

    @property
    def location(self) -> Path:
        return self._db.location

    def close(self) -> None:
        """Close the connections. Every later call raises SemsearchError."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the whole

    def snapshot(self) -> AbstractContextManager[None]:
        return self._db.snapshot()

    def version(self) -> int:
        return self._db.count("version")

    def counts(self) -> Counts:
        with self.snapshot():  # from counters: the same cost at any size
            spaces = [space for (space,) in self._db.rows("SELECT id FROM spaces ORDER BY id")]
            vectors = {space: self._db.count(f"vectors {space}") for space in spaces}
            return {
                "documents": self._db.count("documents"),
                "passages": self._db.count("passages"),
                "vectors": vectors,
            }

    def recipe(self) -> JsonObject:
        rows = dict(
            self._db.rows("SELECT key, value FROM meta WHERE key = 'recipe' OR starts_with(key, %s)", (MACHINE,))
        )
        shared = self._db.parsed(rows.pop("recipe", "{}"))
        own = self._db.parsed(rows.pop(MACHINE + _this_machine(), "{}"))
        return machine.whole(shared, own, map(self._db.parsed, rows.values()))

    def is_updating(self) -> bool:
        return bool(self._db.rows("SELECT 1 FROM meta WHERE key = 'updating'"))

    def runs(self) -> Iterator[JsonObject]:
        for (number,) in self._db.rows("SELECT id FROM runs ORDER BY id DESC"):  # each may name thousands of files
            for (report,) in self._db.rows("SELECT report FROM runs WHERE id = %s", (number,)):
                yield self._db.parsed(report)

    def spaces(self) -> list[Space]:
        rows = self._db.rows(f"SELECT id, fingerprint, name, dim, info, quantiles, measured {_SPACES}")
        return [
            Space(
                number,
                restored(fingerprint),
                restored(name),
                dim,
                self._db.parsed(info),
                NullDistribution.recorded(quantiles, count),
            )
            for number, fingerprint, name, dim, info, quantiles, count in rows
        ]

    def info(self) -> JsonObject:
        with self.snapshot():
            counts = self.counts()
            ((size,),) = self._db.rows(_SIZE)
            return {
                "name": self.name,
                "path": str(self.location),
                "server": f"postgres:{self._db.server.where}",
                "documents": counts["documents"],
                "passages": counts["passages"],
                "vectors": sum(counts["vectors"].values()),
                "bytes": size,
                "recipe": self.recipe(),
                "spaces": [SpaceVectors(self._db, space.id).info(space) for space in self.spaces()],
                "last_run": next(self.runs(), None),
            }

    # ---- documents and their sources

    def document(self, uri: str) -> Document | None:
        sql = "SELECT body, metadata, title, marks, lines, sha256, meta_sha256 FROM documents WHERE uri = %s"
        for body, packed, title, marks, lines, sha256, meta_sha256 in self._db.rows(sql, (stored(uri),)):
            text, metadata, name = restored(body), self._db.parsed(packed), restored_or_none(title)
            if (text_hash(text), meta_hash(name, metadata)) != (sha256, meta_sha256):
                raise Corrupt(f"index {self.name}: {uri!r} is not what was stored.", BACKUP)
            marked = tuple(Mark(*mark) for mark in self._db.parsed(marks))
            return Document(uri, text, metadata, name, marked, lines)
        return None

    def documents(
        self, *, path: str | None = None, ids: Sequence[str] | None = None, limit: int = -1, offset: int = 0
    ) -> list[JsonObject]:
        tests, values = ["TRUE"], list[object]()
        with self.snapshot():
            if path is not None:
                tests.append("d.id = ANY(%s::bigint[])")
                values.append(filter_sql.on_path(self._db, path))
            if ids is not None:
                tests.append("d.uri = ANY(%s::text[])")
                values.append(_stored_all(ids))
            sql = f"{_LISTING} WHERE {' AND '.join(tests)} ORDER BY d.uri LIMIT %s OFFSET %s"
            rows = self._db.rows(sql, (_this_machine(), *values, None if limit < 0 else limit, offset))
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
        rows = self._db.rows(f"SELECT {_STAMP} FROM documents WHERE uri = ANY(%s::text[])", (_stored_all(uris),))
        return {stamp.uri: stamp for stamp in map(_stamp, rows)}

    def origins(self, uris: Sequence[str] | None = None) -> list[Origin]:
        sql, values = f"SELECT d.uri, {_ROOT}, s.path, s.mtime_ns, s.size FROM {_FROM_DOCUMENTS}", [_this_machine()]
        if uris is None:
            return [_origin(*row) for row in self._db.rows(sql, values)]
        sql = f"{sql} WHERE d.uri = ANY(%s::text[])"
        return [_origin(*row) for row in self._db.rows(sql, (*values, _stored_all(uris)))]

    def highest_document(self) -> int:
        return int(self._db.rows("SELECT coalesce(max(id), 0) FROM documents")[0][0])

    def sources(self) -> Iterator[Source]:
        sql = f"SELECT {_SOURCE} FROM sources s WHERE machine = %s AND id > %s ORDER BY id LIMIT {ROWS_PER_QUERY}"
        after = 0
        while rows := self._db.rows(sql, (_this_machine(), after)):
            yield from map(self._source, rows)
            after = rows[-1][0]

    def sources_at(self, root: str, paths: Sequence[str]) -> dict[str, Source]:
        sql = f"SELECT {_SOURCE} FROM sources s WHERE machine = %s AND root = %s AND path = ANY(%s::text[])"
        found = map(self._source, self._db.rows(sql, (_this_machine(), stored(root), _stored_all(paths))))
        return {source.path: source for source in found}

    def _source(self, row: Row) -> Source:
        number, root, path, mtime_ns, size, sha256, loader, bookmark = row
        source = Source(restored(root), restored(path), mtime_ns, size, sha256, restored(loader), number)
        return source if bookmark is None else replace(source, bookmark=Bookmark.from_json(self._db.parsed(bookmark)))

    def source_of(self, uri: str) -> Source | None:
        sql = f"SELECT s.machine = %s, {_SOURCE} FROM {_FROM_DOCUMENTS} WHERE d.uri = %s"
        rows = self._db.rows(sql, (_this_machine(), stored(uri)))
        if not rows:
            raise NotFound(f"index {self.name} has no document {uri!r}.", "It may have been deleted.")
        is_here, *source = rows[0]
        return self._source(source) if is_here else None

    def documents_of(self, source: int) -> Iterator[DocumentStamp]:
        sql = f"SELECT {_STAMP} FROM documents WHERE source = %s AND id > %s ORDER BY id LIMIT {ROWS_PER_QUERY}"
        after = 0
        while rows := self._db.rows(sql, (source, after)):
            yield from map(_stamp, rows)
            after = rows[-1][-1]

    def document_count(self, sources: Sequence[int]) -> int:
        sql = "SELECT count(*) FROM documents WHERE source = ANY(%s::bigint[])"
        return int(self._db.rows(sql, (list(sources),))[0][0])

    # ---- passages and vectors

    def passage_ids(self, uri: str) -> Ids:
        sql = "SELECT p.id FROM documents d JOIN passages p ON p.document = d.id WHERE d.uri = %s ORDER BY p.position"
        return np.array([row[0] for row in self._db.rows(sql, (stored(uri),))], dtype=np.int64)

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        wanted = np.asarray(ids, dtype=np.int64).tolist()
        found = {row[0]: self._passage(*row) for row in self._db.rows(_PASSAGE, (_this_machine(), wanted))}
        return [found[passage] for passage in wanted if passage in found]

    def _passage(self, number: int, uri: str, start: int, end: int, text: str, *rest: Row) -> StoredPassage:
        page, line, heading, metadata, *source = rest
        names = map(restored_or_none, source)  # title, root, path
        place = page, line, restored_or_none(heading), json.loads(metadata)
        return StoredPassage(number, restored(uri), start, end, restored(text), *place, *names)

    def owners(self, ids: Sequence[int], *, first: int | None = None) -> dict[int, int]:
        sql = "SELECT id, document FROM passages WHERE id = ANY(%s::bigint[])"
        return dict(self._db.rows(sql, (list(ids),)))

    def texts(self) -> Iterator[str]:
        sql, after = "SELECT id, text FROM passages WHERE id > %s ORDER BY id LIMIT %s", 0
        while rows := self._db.rows(sql, (after, ROWS_PER_QUERY)):
            yield from (restored(text) for _, text in rows)
            after = rows[-1][0]

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        return SpaceVectors(self._db, space).vectors(after=after, ids=ids, chunk=chunk)

    def vector_ids(self, space: int) -> Ids:
        return SpaceVectors(self._db, space).ids()

    def without_vector(self, space: int, *, after: int = 0, limit: int = -1) -> Ids:
        return SpaceVectors(self._db, space).missing(after, limit)

    def highest_id(self, space: int) -> int:
        return SpaceVectors(self._db, space).highest_id()

    # ---- search

    def allowed(self, condition: Filter | None, must: Sequence[str] = ()) -> AllowedPassages | None:
        if condition is None and not must:
            return None
        with self.snapshot():
            return allowed(self._db, condition, must)

    def only(self, ids: Ids) -> AllowedPassages:
        return only(self._db, ids)

    def allowed_documents(self, condition: Filter | None, *, after: str = "", limit: int = -1) -> list[str]:
        with self.snapshot():
            if condition is not None:
                return filter_sql.documents(self._db, condition, after, limit)
            sql = "SELECT uri FROM documents WHERE uri > %s ORDER BY uri LIMIT %s"
            return [restored(uri) for (uri,) in self._db.rows(sql, (stored(after), None if limit < 0 else limit))]

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self.snapshot():
            here = of_this_store(allowed, AllowedPassages)
            return SpaceVectors(self._db, space).search(queries, k, here, exact=exact)

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        here, words = of_this_store(allowed, AllowedPassages), terms(text)
        with self.snapshot():
            if k < 1 or not words or (here is not None and not len(here)):
                return keyword_search.nothing()
            return keyword_search.search(PostgresMatching(self._db, None if here is None else here.inside), words, k)

    def highlight(self, text: str, query: str) -> tuple[tuple[int, int], ...]:
        return keyword_search.spans(text, query)

    def facets(self) -> list[Facet]:
        with self.snapshot():
            return facets.facets(self._db)

    # ---- verification

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        with self.snapshot():
            return verification.verify(self._db, progress)


def _this_machine() -> str:
    return stored(machine.name())


def _stored_all(texts: Iterable[str]) -> list[str]:
    """What may be stored among some texts: one with an unpaired surrogate is no text in UTF-8, and never stored."""
    return [stored(text) for text in texts if not any("\ud800" <= char <= "\udfff" for char in text)]


def _stamp(row: Row) -> DocumentStamp:
    uri, sha256, meta_sha256, source, title, number = row
    return DocumentStamp(restored(uri), sha256, meta_sha256, source, restored_or_none(title), number)


def _origin(uri: str, root: str | None, path: str | None, mtime_ns: int | None, size: int | None) -> Origin:
    return Origin(restored(uri), restored_or_none(root), restored_or_none(path), mtime_ns, size)
