"""An index in Milvus, open for reading. The methods are described in `stores.protocol.StoreReader`.

Weaker than a local store: a snapshot is not of one moment, since Milvus has none. What is asked later inside one may be
of later documents; but a passage is read only if its document names it, so no hit shows a text that is gone or is not
whole yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from semsearch.errors import Corrupt, NotFound, SemsearchError
from semsearch.stores import keyword_search, machine
from semsearch.stores.local.filtering.in_memory import Rows
from semsearch.stores.milvus import rows, selection, vectors, verification
from semsearch.stores.milvus.index_tables import WRITER, IndexTables, keys_of
from semsearch.stores.milvus.keywords import search as keyword
from semsearch.stores.milvus.selection import MilvusAllowed, Selection
from semsearch.stores.protocol import Allowed, Counts, Dense, Lexical, of_this_store
from semsearch.stores.records import DocumentStamp, Origin, Source, Space, StoredPassage
from semsearch.types import Document, Facet, JsonObject, Progress
from semsearch.utils.globs import matches_document

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.stores.milvus.server.calls import Row
    from semsearch.types import Ids, Vectors

REPAIR = "Index its documents again."
_DAMAGE = (ValueError, TypeError, KeyError)


class MilvusReader:
    """An index that is open for reading. Threads may share one."""

    def __init__(self, location: Path, tables: IndexTables) -> None:
        self._location = location
        self._opened: IndexTables | None = tables

    @property
    def tables(self) -> IndexTables:
        """The collections. Raises SemsearchError where it is closed."""
        if self._opened is None:
            raise SemsearchError(f"index {self.name} is closed.", "Open it again.")
        return self._opened

    @property
    def name(self) -> str:
        return self._location.name

    @property
    def location(self) -> Path:
        return self._location

    def close(self) -> None:
        """Every later call raises SemsearchError. The connection is shared, and stays."""
        self._opened = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the whole

    def snapshot(self) -> AbstractContextManager[None]:
        """What is read inside is of its beginning or later."""
        return self.tables.server.moment()

    def version(self) -> int:
        return sum(record["version"] for _, record in self.tables.values(WRITER))

    def counts(self) -> Counts:
        tables = self.tables
        spaces = tables.space_records().spaces
        return {
            "documents": tables.documents.count(),
            "passages": tables.passages.count(),
            "vectors": {one["id"]: tables.vectors(one["id"], one["dim"]).count() for one in spaces},
        }

    def recipe(self) -> JsonObject:
        """What all machines share, with the folders that this one follows, and the prefixes that others have taken."""
        shared = self.tables.value("recipe", "", {})
        folders = {record["machine"]: record["folders"] for _, record in self.tables.values("folders")}
        return machine.whole(shared, folders.pop(machine.name(), {}), folders.values())

    def is_updating(self) -> bool:
        return any(record["updating"] for _, record in self.tables.values(WRITER))

    def runs(self) -> Iterator[JsonObject]:
        found = sorted(self.tables.values("run"), key=lambda one: -one[0]["number"])
        return (report for _, report in found)

    def spaces(self) -> list[Space]:
        return self.tables.space_records().ordered()

    def info(self) -> JsonObject:
        with self.snapshot():
            return self._info()

    def _info(self) -> JsonObject:
        counts = self.counts()
        return {
            "name": self.name,
            "path": str(self.location),
            "documents": counts["documents"],
            "passages": counts["passages"],
            "vectors": sum(counts["vectors"].values()),
            "bytes": sum(file.stat().st_size for file in self.location.iterdir() if file.is_file()),
            "recipe": self.recipe(),
            "spaces": [vectors.info(self.tables, space, counts["vectors"][space.id]) for space in self.spaces()],
            "last_run": next(self.runs(), None),
        }

    # ---- documents and their sources

    def document(self, uri: str) -> Document | None:
        found = self._head(uri)
        if found is None:
            return None
        row, head = found
        with self._reading(f"{uri!r}"):
            document = rows.document_of(row, head, self.tables.parts([row], "body"))
            if not rows.is_sound(row, document):
                raise ValueError("it is not what was stored")
            return document

    def documents(
        self, *, path: str | None = None, ids: Sequence[str] | None = None, limit: int = -1, offset: int = 0
    ) -> list[JsonObject]:
        pieces = self.tables.documents.scan(rows.LISTED) if ids is None else [self._rows(ids, rows.LISTED)]
        found = [
            rows.listed(row, head)
            for piece in pieces
            for row, head in self.tables.heads(piece)
            if path is None or _is_on(path, head)
        ]
        found.sort(key=lambda one: str(one["id"]))
        return found[offset:] if limit < 0 else found[offset : offset + limit]

    def titles(self) -> list[tuple[str, str | None]]:
        pieces = self.tables.documents.scan(["head"])
        return sorted((head.uri, head.title) for piece in pieces for _, head in self.tables.heads(piece))

    def stamps(self, uris: Iterable[str]) -> dict[str, DocumentStamp]:
        found = self.tables.heads(self._rows(uris, rows.STAMP))
        return {head.uri: _stamp(row, head) for row, head in found}

    def origins(self, uris: Sequence[str] | None = None) -> list[Origin]:
        columns = ["source", "head"]
        pieces = self.tables.documents.scan(columns) if uris is None else [self._rows(uris, columns)]
        return [origin for piece in pieces for origin in self._origins(piece)]

    def _origins(self, piece: Sequence[Row]) -> Iterator[Origin]:
        files = self.files({row["source"] for row in piece})
        for row, head in self.tables.heads(piece):
            file = files.get(row["source"])
            own = (file.root, file.path, file.mtime_ns, file.size) if file else (None, head.path[1], None, None)
            yield Origin(head.uri, *own)

    def highest_document(self) -> int:
        return max((record["last"] for _, record in self.tables.values(WRITER)), default=0)

    def sources(self) -> Iterator[Source]:
        found = sorted((row for row, _ in self.tables.values("source")), key=lambda row: int(row["number"]))
        return (source for row in found for source in self._own(row))

    def sources_at(self, root: str, paths: Sequence[str]) -> dict[str, Source]:
        places = [rows.place_key(root, path) for path in paths]
        found = [source for row in self.tables.meta.where("place", places) for source in self._own(row)]
        return {source.path: source for source in found if source.root == root}

    def _own(self, row: Row) -> list[Source]:
        """The file of a row; none where it is on another machine."""
        with self._reading("the record of a file"):
            where, source = rows.source_of(row, self.tables.parts([row], "data"))
            return [source] if where == machine.name() else []

    def source_of(self, uri: str) -> Source | None:
        found = self._head(uri)
        if found is None:
            raise NotFound(f"index {self.name} has no document {uri!r}.", "It may have been deleted.")
        number = found[0]["source"]
        return self.files([number]).get(number)

    def files(self, numbers: Iterable[int]) -> dict[int, Source]:
        """The files of this machine with these numbers."""
        keys = [rows.digest("source", number) for number in numbers]
        return {source.id: source for row in self.tables.meta.get(keys).values() for source in self._own(row)}

    def documents_of(self, source: int) -> Iterator[DocumentStamp]:
        found = self.tables.documents.where("source", [source], rows.STAMP)
        ordered = sorted(found, key=lambda row: int(row["number"]))
        return (_stamp(row, head) for row, head in self.tables.heads(ordered))

    def document_count(self, sources: Sequence[int]) -> int:
        return len(self.tables.documents.where("source", sources, ["source"]))

    def _head(self, uri: str) -> tuple[Row, rows.Head] | None:
        return self.tables.head(uri)

    def _rows(self, uris: Iterable[str], columns: Sequence[str]) -> list[Row]:
        return list(self.tables.documents.get(keys_of(uris), columns).values())

    # ---- passages and vectors

    def passage_ids(self, uri: str) -> Ids:
        found = self._head(uri)
        return rows.array(found[1].ids if found else ())

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        with self.snapshot():
            return self._passages([int(one) for one in ids])

    def _passages(self, wanted: Sequence[int]) -> list[StoredPassage]:
        found = self._named(wanted, ["document", "data"])
        parts = self.tables.parts([row for row, _ in found.values()], "data")
        made = {}
        for number, (row, head) in found.items():
            with self._reading(f"passage {number}"):
                made[number] = rows.stored_passage(number, head, rows.passage_of(row, parts))
        return [made[number] for number in wanted if number in made]

    def _named(self, ids: Sequence[int], columns: Sequence[str]) -> dict[int, tuple[Row, rows.Head]]:
        """The passages that their documents name, by id."""
        found = self.tables.passages.get(ids, columns)
        documents = self.tables.documents.get({row["document"] for row in found.values()}, ["head"])
        heads = {row["key"]: (head, frozenset(head.ids)) for row, head in self.tables.heads(list(documents.values()))}
        return {
            int(number): (row, heads[row["document"]][0])
            for number, row in found.items()
            if row["document"] in heads and number in heads[row["document"]][1]
        }

    def owners(self, ids: Sequence[int], *, first: int | None = None) -> dict[int, int]:
        return {
            number: rows.number_of("owner", head.uri)
            for number, (_, head) in self._named([int(one) for one in ids], ["document"]).items()
        }

    def texts(self) -> Iterator[str]:
        for piece in self.tables.passages.scan(["document", "data"]):
            yield from (one.text for one in self.passages([row["id"] for row in piece]))

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        return vectors.read(self.tables.space(space), after=after, ids=ids, chunk=chunk)

    def vector_ids(self, space: int) -> Ids:
        return vectors.ids(self.tables.space(space))

    def without_vector(self, space: int, *, after: int = 0, limit: int = -1) -> Ids:
        return vectors.missing(self.tables, self.tables.space(space), after=after, limit=limit)

    def highest_id(self, space: int) -> int:
        return int(self.vector_ids(space).max(initial=0))

    # ---- search

    def allowed(self, condition: Filter | None, must: Sequence[str] = ()) -> MilvusAllowed | None:
        if condition is None and not must:
            return None
        with self.snapshot():
            return self._allowed(condition, must)

    def _allowed(self, condition: Filter | None, must: Sequence[str]) -> MilvusAllowed:
        tables = self.tables
        conditions: Sequence[str] | None = None
        if condition is not None:
            chosen = Selection(tables, condition)
            chosen.check_keys()
            conditions = chosen.passages()
        if must:
            conditions = selection.containing(tables, must, conditions)
        counted = [(one, tables.passages.count(one)) for one in conditions or ()]
        return MilvusAllowed(tuple(one for one, n in counted if n), sum(n for _, n in counted))

    def only(self, ids: Ids) -> MilvusAllowed:
        return selection.of_ids(ids.tolist())

    def allowed_documents(self, condition: Filter | None, *, after: str = "", limit: int = -1) -> list[str]:
        with self.snapshot():
            found = [uri for uri, _ in self.titles()] if condition is None else self._passing(condition, not after)
        rest = [uri for uri in found if uri > after]
        return rest if limit < 0 else rest[:limit]

    def _passing(self, condition: Filter, check: bool) -> list[str]:
        chosen = Selection(self.tables, condition)
        if check:
            chosen.check_keys()
        return chosen.documents()

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self.snapshot():
            return vectors.nearest(self.tables, space, queries, k, _conditions(allowed), exact=exact)

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        with self.snapshot():
            return keyword.search(self.tables, text, k, _conditions(allowed))

    def highlight(self, text: str, query: str) -> tuple[tuple[int, int], ...]:
        return keyword_search.spans(text, query)

    def facets(self) -> list[Facet]:
        with Rows(selection.document_rows(self.tables)) as memory:
            return memory.facets()

    # ---- verification

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        with self.snapshot():
            return verification.verify(self.tables, progress)

    def _reading(self, what: str) -> _Reading:
        return _Reading(f"{self.name}: {what} is damaged")


class _Reading:
    """Turns errors of damaged rows into Corrupt."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: Any) -> None:
        if isinstance(error, Corrupt):
            raise Corrupt(f"{self._what} ({error.message.rstrip('.')}).", REPAIR) from error
        if isinstance(error, _DAMAGE):
            raise Corrupt(f"{self._what} ({error}).", REPAIR) from error


def _conditions(allowed: Allowed | None) -> tuple[str, ...] | None:
    here = of_this_store(allowed, MilvusAllowed)
    return None if here is None else here.conditions


def _is_on(pattern: str, head: rows.Head) -> bool:
    root, path = head.path
    return matches_document(pattern, head.uri, path, root)


def _stamp(row: Row, head: rows.Head) -> DocumentStamp:
    source = None if row["source"] == rows.NO_SOURCE else row["source"]
    return DocumentStamp(head.uri, row["sha256"], row["meta_sha256"], source, head.title, row["number"])
