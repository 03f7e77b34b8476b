"""What the readers of all stores on SQL share: documents, files, passages, spaces, search by words."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from semsearch.errors import Corrupt
from semsearch.stores import base
from semsearch.stores.protocol import of_this_store
from semsearch.stores.records import (
    HASH,
    DocumentRow,
    Source,
    Space,
    StoredPassage,
    StoreState,
    meta_hash,
    text_hash,
)
from semsearch.stores.sql import lexical_search
from semsearch.stores.sql.database import pieces
from semsearch.stores.sql.folding import fold
from semsearch.stores.sql.query_terms import query_terms
from semsearch.stores.sql.rows import HASHES, SPACES
from semsearch.types import Document, Mark
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.stores.protocol import Allowed, Lexical
    from semsearch.stores.sql.database import Database, Row
    from semsearch.stores.sql.filters import Dialect
    from semsearch.stores.sql.lexical_search import Matching
    from semsearch.types import Ids, JsonObject, Vectors
    from semsearch.utils.strength import NullDistribution

NAMES_PER_QUERY = 500


class StoredVectors(Protocol):
    """The vectors of one space."""

    def ids(self) -> Ids:
        """The passages with a vector, ascending."""

    def vectors(self, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192) -> Iterator[tuple[Ids, Vectors]]:
        """See `StoreReader.vectors`."""

    def backend(self) -> JsonObject:
        """What searches the space, for `Index.info`: the backend, the reason for it, its cache file."""


class SqlReader(base.BaseReader):
    """A store on SQL that is open for reading; the methods are described in `stores.protocol.StoreReader`.

    Columns: `TEXT` of a document, `NOTES` of a file, `MEASURED` of a space's null distribution, `CHECKED` what
    `_check_passage` needs beside a passage. `OWN` is the condition for files of this machine, and `ROOT` their folder,
    both with the values `own`.
    """

    TEXT: ClassVar[str]
    MEASURED: ClassVar[str]
    NOTES: ClassVar[str] = "s.bookmark"
    OWN: ClassVar[str] = "1 = 1"
    ROOT: ClassVar[str] = "s.root"
    CHECKED: ClassVar[str] = ""
    ALLOWED: ClassVar[type[Allowed]]

    def __init__(self, db: Database) -> None:
        self._db = db
        self.name, self.location = db.name, db.location

    @property
    def own(self) -> tuple[str, ...]:
        """The values of `OWN` and of `ROOT`."""
        return ()

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
                self._vector_counts(spaces),
                bool(self._db.rows("SELECT 1 FROM meta WHERE key = 'updating'")),
                int(self._db.rows("SELECT coalesce(max(id), 0) FROM documents")[0][0]),
                self._recipe(),
                spaces,
            )

    def spaces(self) -> list[Space]:
        """As in `state`."""
        rows = self._db.rows(f"SELECT id, fingerprint, name, dim, info, {self.MEASURED} {SPACES}")
        return [
            Space(number, fingerprint, name, dim, self._db.parsed(info), self._null_distribution(*measured))
            for number, fingerprint, name, dim, info, *measured in rows
        ]

    def runs(self) -> Iterator[JsonObject]:
        for (number,) in self._db.rows("SELECT id FROM runs ORDER BY id DESC"):  # each may name thousands of files
            for (report,) in self._db.rows("SELECT report FROM runs WHERE id = ?", (number,)):
                yield self._db.parsed(report)

    def _backend(self, space: int) -> JsonObject:
        return self._space(space).backend()

    @abstractmethod
    def _vector_counts(self, spaces: Sequence[Space]) -> dict[int, int]:
        """The numbers of vectors by space, from counters."""

    @abstractmethod
    def _recipe(self) -> JsonObject: ...
    @abstractmethod
    def _null_distribution(self, numbers: Any, passages: int) -> NullDistribution | None: ...
    @abstractmethod
    def _space(self, space: int) -> StoredVectors:
        """Raises NotFound for an unknown space."""

    # ---- documents and their sources

    def full_documents(self, ids: Sequence[str]) -> list[Document]:
        sql = f"SELECT uri, {self.TEXT}, metadata, title, marks, lines, {HASHES} FROM documents WHERE uri"
        documents = {row[0]: self._document(*row) for row in self._db.rows_in(sql, list(dict.fromkeys(ids)))}
        return [documents[uri] for uri in ids if uri in documents]

    def _document(self, uri: str, body: Any, packed: str, title: str | None, marks: str, *rest: Row) -> Document:
        lines, *hashes = rest
        metadata = self._db.parsed(packed)
        try:
            text = self._text(body)
            marked = tuple(Mark(*mark) for mark in self._db.parsed(marks))
            sound = [text_hash(text), meta_hash(title, metadata)] == hashes
        except (ValueError, TypeError) as error:
            raise Corrupt(f"{self._db.title}: {uri!r} is damaged ({error}).", self._db.repair) from error
        if not sound:
            raise Corrupt(f"{self._db.title}: {uri!r} is not what was stored.", self._db.repair)
        return Document(uri, text, metadata, title, marked, bool(lines))

    @abstractmethod
    def _text(self, body: Any) -> str:
        """The text of a document, from the column `TEXT`. Raises ValueError, TypeError where it is damaged."""

    def document_rows(self, ids: Sequence[str] | None = None, *, source: int | None = None) -> Iterator[DocumentRow]:
        sql = f"""SELECT d.uri, d.title, substr(d.sha256, 1, {HASH}), substr(d.meta_sha256, 1, {HASH}), d.source, d.id,
                  d.size, s.mtime_ns, s.loader, {self.ROOT}, s.path,
                  (SELECT count(*) FROM passages p WHERE p.document = d.id), d.metadata
                  FROM documents d LEFT JOIN sources s ON s.id = d.source WHERE"""
        if ids is not None:
            for piece in pieces(ids, NAMES_PER_QUERY):
                rows = {row[0]: row for row in self._db.rows_in(f"{sql} d.uri", piece, *self.own)}
                yield from (self._row(rows[uri]) for uri in piece if uri in rows)
        elif source is not None:
            number = DocumentRow._fields.index("number")
            yield from map(self._row, self._db.pages(f"{sql} d.source = ? AND", "d.id", number, 0, *self.own, source))
        else:
            yield from map(self._row, self._db.pages(sql, "d.uri", 0, "", *self.own))

    def _row(self, row: Row) -> DocumentRow:
        return DocumentRow._make((*row[:-1], self._metadata(row[-1])))

    def _metadata(self, packed: str) -> JsonObject:
        metadata: JsonObject = {} if packed == "{}" else self._db.parsed(packed)  # most files have none
        return metadata

    def sources(
        self, *, keys: Sequence[tuple[str, str]] | None = None, ids: Sequence[int] | None = None
    ) -> Iterator[Source]:
        sql = f"""SELECT s.id, s.root, s.path, s.mtime_ns, s.size, s.sha256, s.loader,
                  (SELECT count(*) FROM documents WHERE source = s.id), {self.NOTES}
                  FROM sources s WHERE {self.OWN} AND"""
        if keys is not None:
            for root in dict.fromkeys(root for root, _ in keys):
                paths = [path for of, path in keys if of == root]
                yield from map(self._source, self._db.rows_in(f"{sql} root = ? AND path", paths, *self.own, root))
        elif ids is not None:
            yield from map(self._source, self._db.rows_of(f"{sql} id", ids, *self.own))
        else:
            yield from map(self._source, self._db.pages(sql, "id", 0, 0, *self.own))

    def _source(self, row: Row) -> Source:
        number, root, path, mtime_ns, size, sha256, loader, documents, notes = row
        source = Source(root, path, mtime_ns, size, sha256, loader, number, documents=documents)
        try:
            return source if notes is None else source.with_notes(self._db.parsed(notes))
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise Corrupt(f"{self._db.title} is damaged: the bookmark of {source.path}.", self._db.repair) from error

    # ---- passages and vectors

    def passage_ids(self, documents: Sequence[str] | None = None, *, space: int | None = None) -> Ids:
        if documents is None:
            return self._db.ids("passages", "id") if space is None else self._space(space).ids()
        passages: defaultdict[str, list[int]] = defaultdict(list)
        sql = "SELECT d.uri, p.id FROM documents d JOIN passages p ON p.document = d.id WHERE d.uri"
        for uri, passage in self._db.rows_in(sql, documents):
            passages[uri].append(passage)
        return np.array([one for uri in documents for one in sorted(passages.get(uri, ()))], dtype=np.int64)

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        sql = f"""SELECT p.id, d.uri, p.start, p."end", p.text, p.page, p.line, p.heading, d.metadata, d.title,
                  {self.ROOT}, s.path{self.CHECKED}
                  FROM passages p JOIN documents d ON d.id = p.document LEFT JOIN sources s ON s.id = d.source
                  WHERE p.id"""
        numbers = list(map(int, ids))
        with self._db.snapshot():
            passages = {row[0]: self._passage(row) for row in self._db.rows_of(sql, numbers, *self.own)}
        return [passages[number] for number in numbers if number in passages]

    def _passage(self, row: Row) -> StoredPassage:
        self._check_passage(row)
        number, uri, start, end, text, page, line, heading, metadata, title, root, path = row[:12]
        place = (number, uri, start, end, text, page, line, heading, self._metadata(metadata), title, root, path)
        return StoredPassage(*place, characters=len(text) + len(metadata))

    def _check_passage(self, row: Row) -> None:
        """Raise Corrupt where a row of `passages` is damaged."""

    def owners(self, ids: Sequence[int], *, first: int | None = None, furniture: bool = False) -> dict[int, int]:
        table = "furniture f JOIN passages p ON p.id = f.passage" if furniture else "passages p"
        return dict(self._db.rows_of(f"SELECT p.id, p.document FROM {table} WHERE p.id", ids))

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        return self._space(space).vectors(after=after, ids=ids, chunk=chunk)

    # ---- search

    @abstractmethod
    def _filters(self) -> Dialect: ...

    def document_ids(
        self, condition: Filter | None, *, ids: Sequence[str] | None = None, after: str = "", limit: int = -1
    ) -> list[str]:
        with self._db.snapshot():
            only = None if ids is None else (f"d.id {self._db.among}", [self._db.packed(self._db.document_ids(ids))])
            return self._filters().document_ids(condition, after, limit, only)

    def count_documents(self, condition: Filter | None) -> int:
        with self._db.snapshot():
            return self._db.count("documents") if condition is None else self._filters().count_documents(condition)

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        here = of_this_store(allowed, self.ALLOWED)
        with self._db.snapshot():
            words = query_terms(self._as_indexed(text))
            if k < 1 or not words or (here is not None and not len(here)):
                return lexical_search.nothing()
            return lexical_search.search(self._matching(here), words, k)

    def _as_indexed(self, text: str) -> str:
        """The words of a query, in the letters of the full-text indexes."""
        return fold(text)

    @abstractmethod
    def _matching(self, allowed: Any) -> Matching[Any]:
        """How the words of a query find the passages of a filter of this store, or all."""
