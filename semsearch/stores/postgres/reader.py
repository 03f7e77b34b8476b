"""The PostgreSQL store, open for reading."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

import numpy as np

from semsearch.errors import Corrupt
from semsearch.stores import base, machine_recipes
from semsearch.stores.postgres import facets, verification
from semsearch.stores.postgres.allowed import AllowedPassages, allowed
from semsearch.stores.postgres.escapes import restored, restored_or_none, stored, stored_all
from semsearch.stores.postgres.filter_sql import PostgresFilters
from semsearch.stores.postgres.full_text.matching import PostgresMatching
from semsearch.stores.postgres.server.connection import Connection, Row
from semsearch.stores.postgres.server.schema import BACKUP, MACHINE
from semsearch.stores.postgres.space_vectors import SpaceVectors
from semsearch.stores.protocol import Allowed, Dense, Lexical, of_this_store
from semsearch.stores.records import (
    DocumentRow,
    Source,
    Space,
    StoredPassage,
    StoreState,
    meta_hash,
    text_hash,
)
from semsearch.stores.sql import filters, lexical_search
from semsearch.stores.sql.filters import SQL
from semsearch.stores.sql.query_terms import query_terms
from semsearch.types import Document, Facet, JsonObject, Mark, Progress
from semsearch.utils.strength import NullDistribution

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.types import Ids, Vectors

_SPACES = """FROM spaces ORDER BY id = (SELECT value::integer FROM meta WHERE key = 'space') DESC NULLS LAST, id"""
_SIZE = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
           WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) AND c.relkind = 'r'"""
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
_PASSAGE = f"""
    SELECT p.id, d.uri, p.start, p."end", p.text, p.page, p.line, p.heading, d.metadata, d.title, {ROOT}, s.path
    FROM passages p JOIN documents d ON d.id = p.document LEFT JOIN sources s ON s.id = d.source
    WHERE p.id = ANY(%s::bigint[])"""


class PostgresReader:
    """A collection that is open for reading. No call waits for a writer, or sees half a document.

    Threads may share one: each call, and each snapshot of a thread, has a connection of its own. The methods are
    described in `stores.protocol.StoreReader`.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.name, self.location = connection.name, connection.location
        self._db = connection

    def close(self) -> None:
        """Close the connections. Every later call raises SemsearchError."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the whole

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        with self._db.snapshot():
            yield self._db.count("version")

    def state(self) -> StoreState:
        with self._db.snapshot():
            spaces = self.spaces()
            return StoreState(
                self._db.count("documents"),
                self._db.count("passages"),
                {space.id: self._db.count(f"vectors {space.id}") for space in spaces},
                bool(self._db.rows("SELECT 1 FROM meta WHERE key = 'updating'")),
                int(self._db.rows("SELECT coalesce(max(id), 0) FROM documents")[0][0]),
                self._recipe(),
                spaces,
            )

    def _recipe(self) -> JsonObject:
        rows = dict(
            self._db.rows("SELECT key, value FROM meta WHERE key = 'recipe' OR starts_with(key, %s)", (MACHINE,))
        )
        shared = self._db.parsed(rows.pop("recipe", "{}"))
        own = self._db.parsed(rows.pop(MACHINE + this_machine(), "{}"))
        return machine_recipes.whole(shared, own, map(self._db.parsed, rows.values()))

    def runs(self) -> Iterator[JsonObject]:
        for (number,) in self._db.rows("SELECT id FROM runs ORDER BY id DESC"):  # each may name thousands of files
            for (report,) in self._db.rows("SELECT report FROM runs WHERE id = %s", (number,)):
                yield self._db.parsed(report)

    def spaces(self) -> list[Space]:
        """As in `state`."""
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
            ((size,),) = self._db.rows(_SIZE)
            described = {space.id: SpaceVectors(self._db, space.id).backend() for space in self.spaces()}
            return base.info(self, size, described, f"postgres:{self._db.server.where}")

    # ---- documents and their sources

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
        number, root, path, mtime_ns, size, sha256, loader, documents, notes = row
        place = restored(root), restored(path)
        source = Source(*place, mtime_ns, size, sha256, restored(loader), number, documents=documents)
        return source if notes is None else source.with_notes(self._db.parsed(notes))

    # ---- passages and vectors

    def passage_ids(self, documents: Sequence[str] | None = None, *, space: int | None = None) -> Ids:
        if documents is None:
            return SpaceVectors(self._db, space).ids() if space is not None else self._every_id()
        names = list(map(stored, documents))
        sql = "SELECT d.uri, p.id FROM documents d JOIN passages p ON p.document = d.id WHERE d.uri = ANY(%s::text[])"
        found: defaultdict[str, list[int]] = defaultdict(list)
        for uri, passage in self._db.rows(sql, (names,)):
            found[uri].append(passage)
        return np.array([one for uri in names for one in sorted(found.get(uri, ()))], dtype=np.int64)

    def _every_id(self) -> Ids:
        rows = self._db.rows("SELECT id FROM passages ORDER BY id")
        return np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        wanted = np.asarray(ids, dtype=np.int64).tolist()
        found = {row[0]: self._passage(*row) for row in self._db.rows(_PASSAGE, (this_machine(), wanted))}
        return [found[passage] for passage in wanted if passage in found]

    def _passage(self, number: int, uri: str, start: int, end: int, text: str, *rest: Row) -> StoredPassage:
        page, line, heading, metadata, *source = rest
        names = map(restored_or_none, source)  # title, root, path
        place = page, line, restored_or_none(heading), json.loads(metadata)
        return StoredPassage(number, restored(uri), start, end, restored(text), *place, *names)

    def owners(self, ids: Sequence[int], *, first: int | None = None) -> dict[int, int]:
        sql = "SELECT id, document FROM passages WHERE id = ANY(%s::bigint[])"
        return dict(self._db.rows(sql, (list(ids),)))

    def furniture(self, ids: Sequence[int]) -> set[int]:
        sql = "SELECT passage FROM furniture WHERE passage = ANY(%s::bigint[])"
        return {passage for (passage,) in self._db.rows(sql, (list(ids),))} if self._db.has_furniture else set()

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        return SpaceVectors(self._db, space).vectors(after=after, ids=ids, chunk=chunk)

    # ---- search

    def allowed(
        self, condition: Filter | None, must: Sequence[str] = (), *, ids: Ids | None = None
    ) -> AllowedPassages | None:
        if condition is None and not must and ids is None:
            return None
        with self._db.snapshot():
            return allowed(self._db, condition, must, ids)

    def document_ids(
        self, condition: Filter | None, *, ids: Sequence[str] | None = None, after: str = "", limit: int = -1
    ) -> list[str]:
        with self._db.snapshot():
            here: SQL = ("d.uri = ANY(%s::text[])", [stored_all(ids)]) if ids is not None else filters.EVERYTHING
            return list(
                map(restored, filters.document_ids(PostgresFilters(self._db), condition, stored(after), limit, here))
            )

    def count_documents(self, condition: Filter | None) -> int:
        with self._db.snapshot():
            if condition is None:
                return self._db.count("documents")
            return filters.count_documents(PostgresFilters(self._db), condition)

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self._db.snapshot():
            here = of_this_store(allowed, AllowedPassages)
            return SpaceVectors(self._db, space).search(queries, k, here, exact=exact)

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        here, words = of_this_store(allowed, AllowedPassages), query_terms(text)
        with self._db.snapshot():
            if k < 1 or not words or (here is not None and not len(here)):
                return lexical_search.nothing()
            return lexical_search.search(PostgresMatching(self._db, None if here is None else here.inside), words, k)

    def facets(self) -> list[Facet]:
        with self._db.snapshot():
            return facets.facets(self._db)

    # ---- verification

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        with self._db.snapshot():
            return verification.verify(self._db, progress)


def this_machine() -> str:
    return stored(machine_recipes.name())
