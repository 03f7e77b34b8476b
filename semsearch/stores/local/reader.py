"""The local store, open for reading: documents, passages, vectors, lexical and dense search behind one protocol."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from semsearch.errors import Corrupt, NotFound
from semsearch.stores import keyword_search
from semsearch.stores.local import facets, sqlite
from semsearch.stores.local.connection import Connection, Row
from semsearch.stores.local.filtering.allowed import AllowedIds, RecentFilters
from semsearch.stores.local.full_text import lexical
from semsearch.stores.local.full_text.matching import containing
from semsearch.stores.local.full_text.postings import Postings
from semsearch.stores.local.integrity import verify
from semsearch.stores.local.location import require_store
from semsearch.stores.local.row_checksums import first_passage_crc, passage_crc
from semsearch.stores.local.schema import CHECKSUMS, HASHES, SPACES, TEXT, document_text
from semsearch.stores.local.space_vectors import SpaceVectors
from semsearch.stores.local.vector_rows import VectorRows
from semsearch.stores.protocol import Allowed, Counts, Dense, Lexical, of_this_store
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
from semsearch.utils.globs import matches_document
from semsearch.utils.strength import NullDistribution
from semsearch.vector_index.searcher import VectorSearcher

if TYPE_CHECKING:
    from types import ModuleType

    from semsearch.stores.filters import Filter
    from semsearch.types import Ids, Vectors

ROWS_PER_QUERY = 10_000
MOST_SIBLINGS = 8  # passages of a document, for each id, that are read in place of looking for the id

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
_PASSAGE = """
    SELECT p.document, p.crc, p.id, d.uri, p.start, p."end", p.text, p.page, p.line, p.heading, d.metadata, d.title,
           s.root, s.path
    FROM json_each(?) wanted CROSS JOIN passages p ON p.id = wanted.value
    JOIN documents d ON d.id = p.document LEFT JOIN sources s ON s.id = d.source"""


class LocalReader:
    """A store that is open for reading. No call waits for the writer of another process, or sees half a document.

    Threads may share one: their calls, and their snapshots, take turns. The methods are described in
    `stores.protocol.StoreReader`.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._db = connection
        self._searchers: dict[int, VectorSearcher] = {}
        self._vector_rows: defaultdict[int, VectorRows] = defaultdict(VectorRows)  # by space
        self._allowed = RecentFilters()
        self._postings = Postings()

    @classmethod
    def open(cls, folder: Path) -> LocalReader:
        """The store in `folder`. Raises NotFound, Corrupt, SemsearchError for a newer schema."""
        require_store(folder)
        return cls(Connection(folder, write=False))

    @property
    def name(self) -> str:
        return self.location.name

    @property
    def location(self) -> Path:
        return self._db.folder

    def close(self) -> None:
        """Close the files. Every later call raises SemsearchError."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the whole

    def snapshot(self) -> AbstractContextManager[None]:
        return self._db.snapshot()

    def version(self) -> int:
        return self._db.meta("version")

    def counts(self) -> Counts:
        with self.snapshot():  # from counters: the same cost at any size
            vectors = dict(self._db.rows("SELECT id, vectors FROM spaces"))
            return {"documents": self._db.meta("documents"), "passages": self._db.meta("passages"), "vectors": vectors}

    def recipe(self) -> JsonObject:
        return {key: self._db.parsed(value) for key, value in self._db.rows("SELECT key, value FROM recipe")}

    def is_updating(self) -> bool:
        return bool(self._db.rows("SELECT 1 FROM meta WHERE key = 'updating'"))

    def runs(self) -> Iterator[JsonObject]:
        for (number,) in self._db.rows("SELECT id FROM runs ORDER BY id DESC"):  # each may name thousands of files
            for (report,) in self._db.rows("SELECT report FROM runs WHERE id = ?", (number,)):
                yield self._db.parsed(report)

    def spaces(self) -> list[Space]:
        sql = f"SELECT id, fingerprint, name, dim, info, background, background_count {SPACES}"
        return [
            Space(row_id, fingerprint, name, dim, self._db.parsed(info), self._null_distribution(packed, count))
            for row_id, fingerprint, name, dim, info, packed, count in self._db.rows(sql)
        ]

    def _null_distribution(self, packed: bytes, passages: int) -> NullDistribution | None:
        if not isinstance(packed, bytes) or len(packed) % 8:
            raise Corrupt(f"{self.location} is damaged: a null distribution.", sqlite.REPAIR)
        return NullDistribution.recorded(np.frombuffer(packed, "<f8").tolist(), passages)

    def info(self) -> JsonObject:
        with self.snapshot():
            counts = self.counts()
            return {
                "name": self.name,
                "path": str(self.location),
                "documents": counts["documents"],
                "passages": counts["passages"],
                "vectors": sum(counts["vectors"].values()),
                "bytes": _size(self.location),
                "recipe": self.recipe(),
                "spaces": [SpaceVectors(self._db, space.id).info(space) for space in self.spaces()],
                "last_run": next(self.runs(), None),
            }

    # ---- documents and their sources

    def document(self, uri: str) -> Document | None:
        sql = f"SELECT {TEXT}, metadata, title, marks, lines, {HASHES} FROM documents WHERE uri = ?"
        for body, packed, title, marks, lines, sha256, meta_sha256 in self._db.rows(sql, (uri,)):
            metadata = self._db.parsed(packed)
            try:
                text = document_text(body)
                marked = tuple(Mark(*mark) for mark in self._db.parsed(marks))
                sound = (text_hash(text), meta_hash(title, metadata)) == (sha256, meta_sha256)
            except (ValueError, TypeError) as error:
                raise Corrupt(f"{self.location}: {uri!r} is damaged ({error}).", sqlite.REPAIR) from error
            if not sound:
                raise Corrupt(f"{self.location}: {uri!r} is not what was stored.", sqlite.REPAIR)
            return Document(uri, text, metadata, title, marked, bool(lines))
        return None

    def documents(
        self, *, path: str | None = None, ids: Sequence[str] | None = None, limit: int = -1, offset: int = 0
    ) -> list[JsonObject]:
        with self.snapshot():
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
            raise Corrupt(f"{self.location} is damaged: the bookmark of {source.path}.", sqlite.REPAIR) from error

    def source_of(self, uri: str) -> Source | None:
        rows = self._db.rows(f"SELECT {_SOURCE} {_FROM_DOCUMENTS} WHERE d.uri = ?", (uri,))
        if not rows:
            raise NotFound(f"index {self.name} has no document {uri!r}.", "It may have been deleted.")
        return None if rows[0][0] is None else self._source(rows[0])

    def documents_of(self, source: int) -> Iterator[DocumentStamp]:
        sql = f"SELECT {_STAMP} FROM documents WHERE source = ? AND id > ? ORDER BY id LIMIT {ROWS_PER_QUERY}"
        after = 0
        while rows := self._db.rows(sql, (source, after)):
            yield from (DocumentStamp(*row) for row in rows)
            after = rows[-1][-1]

    def document_count(self, sources: Sequence[int]) -> int:
        sql = "SELECT count(*) FROM documents WHERE source IN (SELECT value FROM json_each(?))"
        return sum(count for (count,) in self._db.rows_for(sql, sources))

    # ---- passages and vectors

    def passage_ids(self, uri: str) -> Ids:
        sql = "SELECT p.id FROM documents d JOIN passages p ON p.document = d.id WHERE d.uri = ? ORDER BY p.position"
        return np.array([row[0] for row in self._db.rows(sql, (uri,))], dtype=np.int64)

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        wanted = np.asarray(ids, dtype=np.int64).tolist()
        with self.snapshot():
            found = {row[2]: self._passage(*row) for row in self._db.rows_for(_PASSAGE, wanted)}
        return [found[passage] for passage in wanted if passage in found]

    def _passage(
        self, document: int, crc: int, row_id: int, uri: str, start: int, end: int, *rest: Row
    ) -> StoredPassage:
        text, page, line, heading, metadata, *source = rest
        self._check_passage(row_id, document, start, end, page, line, heading, text, crc)
        parsed = {} if metadata == "{}" else self._db.parsed(metadata)  # most files have none; a search reads hundreds
        return StoredPassage(row_id, uri, start, end, text, page, line, heading, parsed, *source)

    def _check_passage(self, row_id: int, document: int, start: int, end: int, *rest: Row) -> None:
        page, line, heading, text, crc = rest
        try:
            if crc == passage_crc(row_id, document, start, end, page, line, heading, text):
                return
            if self._db.schema() < CHECKSUMS and crc == first_passage_crc(row_id, document, start, end, text):
                return
        except AttributeError:  # damage has any type
            pass
        raise Corrupt(f"{self.location}: passage {row_id} is damaged.", sqlite.REPAIR)

    def owners(self, ids: Sequence[int], *, first: int | None = None) -> dict[int, int]:
        """The index of passages by document is narrow, so what else is of a document costs less than the ids do."""
        sql = "SELECT p.id, p.document FROM json_each(?) wanted CROSS JOIN passages p ON p.id = wanted.value"
        if first is None or first >= len(ids):
            return dict(self._db.rows_for(sql, ids))
        with self.snapshot():
            found = dict(self._db.rows_for(sql, ids[:first]))
            most = MOST_SIBLINGS * len(ids)
            siblings = (
                "SELECT p.id, p.document FROM json_each(?) d CROSS JOIN passages p ON p.document = d.value LIMIT ?"
            )
            rows = self._db.rows(siblings, (json.dumps(sorted({*found.values()})), most))
            if len(rows) == most:  # long documents
                return self.owners(ids)
            wanted = {*ids}
            return found | {passage: document for passage, document in rows if passage in wanted}

    def texts(self) -> Iterator[str]:
        sql = """SELECT id, document, start, "end", page, line, heading, text, crc FROM passages
                 WHERE id > ? ORDER BY id LIMIT ?"""
        after = 0
        while rows := self._db.rows(sql, (after, ROWS_PER_QUERY)):
            for row in rows:
                self._check_passage(*row)
                yield row[7]
            after = rows[-1][0]

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        return self._space(space).vectors(after=after, ids=ids, chunk=chunk)

    def _space(self, space: int) -> SpaceVectors:
        return SpaceVectors(self._db, space, self._vector_rows[space])

    def vector_ids(self, space: int) -> Ids:
        return SpaceVectors(self._db, space).ids()

    def without_vector(self, space: int, *, after: int = 0, limit: int = -1) -> Ids:
        return SpaceVectors(self._db, space).missing(after, limit)

    def highest_id(self, space: int) -> int:
        return SpaceVectors(self._db, space).highest_id()

    # ---- search

    def allowed(self, condition: Filter | None, must: Sequence[str] = ()) -> AllowedIds | None:
        if condition is None and not must:
            return None
        with self.snapshot():
            wanted = repr((condition, list(must)))  # as a key, the filter itself would equate 1 with true
            found = self._allowed.get(wanted, self._db)
            if found is None:
                parts = [] if condition is None else [_filters().allowed(self._db.raw, condition)]
                parts += [containing(self._db.raw, must)] if must else []
                found = self._allowed.keep(wanted, AllowedIds(reduce(np.intersect1d, parts)))
        return found

    def only(self, ids: Ids) -> AllowedIds:
        return AllowedIds(np.array(ids, dtype=np.int64))

    def allowed_documents(self, condition: Filter | None, *, after: str = "", limit: int = -1) -> list[str]:
        with self.snapshot():
            if condition is None:
                sql = "SELECT uri FROM documents WHERE uri > ? ORDER BY uri LIMIT ?"
                return [uri for (uri,) in self._db.rows(sql, (after, limit))]
            found: list[str] = _filters().allowed_documents(self._db.raw, condition, after, limit)
            return found

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self.snapshot():
            if space not in self._searchers:
                self._searchers[space] = VectorSearcher(self._space(space))
            return Dense(*self._searchers[space].search(queries, k, _ids(allowed), exact=exact))

    def close_cache(self, space: int) -> None:
        """Let go of the vector cache in memory; the next search opens the newest one."""
        self._searchers.pop(space, None)

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        with self.snapshot():
            ids = _ids(allowed)
            return lexical.search(self._db.raw, text, k, ids, None if self._db.is_writing else self._postings)

    def highlight(self, text: str, query: str) -> tuple[tuple[int, int], ...]:
        return keyword_search.spans(text, query)

    def facets(self) -> list[Facet]:
        with self.snapshot():
            return facets.facets(self._db.raw)

    # ---- verification

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        found = verify.verify(self._db, progress)
        spaces = [SpaceVectors(self._db, space) for (space,) in self._db.rows("SELECT id FROM spaces")]
        return found + [problem for space in spaces for problem in space.problems()]


def _filters() -> ModuleType:
    from semsearch.stores.local.filtering import filter_sql  # 10 ms that most queries do not need

    return filter_sql


def _ids(allowed: Allowed | None) -> Ids | None:
    here = of_this_store(allowed, AllowedIds)
    return None if here is None else here.ids


def _size(folder: Path) -> int:
    """Bytes of the files in `folder`; one that a writer renames or removes meanwhile counts as gone."""
    total = 0
    for file in folder.iterdir():
        with suppress(FileNotFoundError):
            total += file.stat().st_size if file.is_file() else 0
    return total


open_reader = LocalReader.open
