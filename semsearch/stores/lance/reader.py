"""The Lance store, open for reading: every call reads one version of the table, which writers never change."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import Corrupt
from semsearch.stores import base, machine_recipes
from semsearch.stores.filters import is_of_passages
from semsearch.stores.lance import verification
from semsearch.stores.lance.draft import COUNTERS, NONE_YET
from semsearch.stores.lance.filter_sql import LanceFilters, containing
from semsearch.stores.lance.matching import LanceMatching
from semsearch.stores.lance.rows import document_key
from semsearch.stores.lance.space_vectors import AllowedRows, SpaceVectors
from semsearch.stores.lance.table import Row, Table, among, text
from semsearch.stores.protocol import Dense, of_this_store
from semsearch.stores.records import (
    DocumentRow,
    Source,
    Space,
    StoredPassage,
    StoreState,
    meta_hash,
    storable,
    text_hash,
)
from semsearch.stores.sql import facet_counts, lexical_search
from semsearch.stores.sql.database import pieces
from semsearch.stores.sql.folding import fold
from semsearch.stores.sql.query_terms import query_terms
from semsearch.types import Document, Mark
from semsearch.utils.strength import NullDistribution

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.stores.protocol import Allowed, Lexical
    from semsearch.types import Facet, Ids, JsonObject, Progress, Vectors

REPAIR = "Restore a dump, or an earlier version of the table."
MACHINE = "meta:machine "
MOST_OWNERS = 100_000  # passages whose documents are remembered, as every search asks for them twice
ROWS_PER_QUERY = 500  # documents whose rows are read together
_ROW = (
    "document", "title", "sha256", "meta_sha256", "source", "number", "size", "mtime", "loader", "root", "path",
    "count", "metadata", "machine",
)  # fmt: skip
_PASSAGE = (
    "id", "document", "starts", "ends", "text", "page", "line", "heading", "metadata", "title", "root", "path",
    "machine", "position", "stable_id",
)  # fmt: skip
_SOURCE = ("source", "root", "path", "mtime", "size", "sha256", "loader", "value")


class LanceReader(base.BaseReader):
    """A collection that is open for reading; the methods are described in `stores.protocol.StoreReader`."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.name, self.location = table.name, table.location

    def close(self) -> None:
        self.table.close()

    # ---- the whole

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        with self.table.snapshot() as dataset:
            yield int(dataset.version)

    def state(self) -> StoreState:
        with self.table.snapshot():
            state = self.table.remembered("state", self._state)
            own = {"vectors": dict(state.vectors), "recipe": json.loads(json.dumps(state.recipe))}
            return state._replace(**own, spaces=[*state.spaces])

    def _state(self) -> StoreState:
        meta, spaces = self.table.records("meta"), self.spaces()
        counters = NONE_YET | meta.get(COUNTERS, {})
        return StoreState(
            self.table.count("kind = 'document'"),
            self.table.count("kind = 'passage'"),
            {space.id: self.table.count(f"array_has(spaces, {space.id})") for space in spaces},
            "meta:updating" in meta,
            counters["document"],
            recipe_of(meta),
            spaces,
        )

    def spaces(self) -> list[Space]:
        """As in `state`."""
        return ordered_spaces(self.table.records("space"), self.table.records("meta"))

    def runs(self) -> Iterator[JsonObject]:
        numbers = sorted(self.table.column("number", "kind = 'run'").tolist(), reverse=True)
        for number in numbers:  # each may name thousands of files
            for row in self.table.rows(["value"], f"key = 'run:{number}'"):
                yield json.loads(row["value"])

    def _size(self) -> int:
        now = self.table.now
        files = (file for fragment in now.get_fragments() for file in fragment.data_files())
        indexed = (one.total_size_bytes or 0 for one in now.describe_indices())
        return sum(file.file_size_bytes or 0 for file in files) + sum(indexed)

    def _server(self) -> str:
        return f"lance:{self.table.address.where}"

    def _backend(self, space: int) -> JsonObject:
        return SpaceVectors(self.table, space).backend()

    # ---- documents and their sources

    def document_ids(
        self, condition: Filter | None, *, ids: Sequence[str] | None = None, after: str = "", limit: int = -1
    ) -> list[str]:
        with self.table.snapshot():
            if condition is not None and not after:
                test = self._filters().condition(condition)
            else:
                test = "true" if condition is None else self._filters().unchecked(condition)
            kind = "passage" if condition is not None and is_of_passages(condition) else "document"
            where = f"kind = '{kind}' AND {test} AND document > {text(after)}"
            rows = (
                self.table.rows(["document"], where)
                if ids is None
                else self.table.rows_among(["document"], "document", storable(ids), where)
            )
            listed = sorted({row["document"] for row in rows})
            return listed if limit < 0 else listed[:limit]

    def count_documents(self, condition: Filter | None) -> int:
        with self.table.snapshot():
            if condition is None or is_of_passages(condition):
                return self.table.count("kind = 'document'") if condition is None else len(self.document_ids(condition))
            return self.table.count(f"kind = 'document' AND {self._filters().condition(condition)}")

    def document_rows(self, ids: Sequence[str] | None = None, *, source: int | None = None) -> Iterator[DocumentRow]:
        if source is not None and ids is None:
            rows = self.table.rows(_ROW, f"kind = 'document' AND source = {int(source)}")
            yield from map(_row, sorted(rows, key=lambda row: row["number"]))
            return
        for piece in pieces(storable(self.document_ids(None) if ids is None else ids), ROWS_PER_QUERY):
            keys = [document_key(uri) for uri in piece]
            there = {row["document"]: row for row in self.table.rows_among(_ROW, "key", keys)}
            yield from (_row(there[uri]) for uri in piece if uri in there)

    def full_documents(self, ids: Sequence[str]) -> list[Document]:
        columns = ["document", "text", "metadata", "title", "marks", "lines", "sha256", "meta_sha256"]
        keys = [document_key(uri) for uri in dict.fromkeys(storable(ids))]
        there = {row["document"]: self._document(**row) for row in self.table.rows_among(columns, "key", keys)}
        return [there[uri] for uri in ids if uri in there]

    def _document(
        self, document: str, text: str, metadata: str, title: str | None, marks: str, lines: bool, **hashes: str
    ) -> Document:
        fields = json.loads(metadata)
        if hashes != {"sha256": text_hash(text), "meta_sha256": meta_hash(title, fields)}:
            raise Corrupt(f"{self.table.title}: {document!r} is not what was stored.", REPAIR)
        return Document(document, text, fields, title, tuple(Mark(*mark) for mark in json.loads(marks)), lines)

    def sources(
        self, *, keys: Sequence[tuple[str, str]] | None = None, ids: Sequence[int] | None = None
    ) -> Iterator[Source]:
        own = f"kind = 'source' AND machine = {text(machine_recipes.name())}"
        with self.table.snapshot():
            if keys is not None:
                wanted = {(root, path) for root, path in keys if storable([root, path]) == [root, path]}
                near = self.table.rows_among(_SOURCE, "path", sorted({path for _, path in wanted}), own)
                rows = [row for row in near if (row["root"], row["path"]) in wanted]
            elif ids is not None:
                rows = list(self.table.rows_among(_SOURCE, "source", list(ids), own))
            else:
                rows = sorted(self.table.rows(_SOURCE, own), key=lambda row: row["source"])
            counts = self._documents_of([row["source"] for row in rows])
        for row in rows:
            yield self._source(row, counts[row["source"]])

    def _documents_of(self, sources: Sequence[int]) -> Counter[int]:
        """How many documents came from each of these files."""
        if len(sources) > 100:
            return Counter(self.table.column("source", "kind = 'document' AND source IS NOT NULL").tolist())
        return Counter(
            row["source"] for row in self.table.rows_among(["source"], "source", sources, "kind = 'document'")
        )

    def _source(self, row: Row, documents: int) -> Source:
        source = Source(
            row["root"], row["path"], row["mtime"], row["size"], row["sha256"], row["loader"], row["source"],
            documents=documents,
        )  # fmt: skip
        try:
            return source if row["value"] is None else source.with_notes(json.loads(row["value"]))
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise Corrupt(f"{self.table.title} is damaged: the bookmark of {source.path}.", REPAIR) from error

    # ---- passages and vectors

    def passage_ids(self, documents: Sequence[str] | None = None, *, space: int | None = None) -> Ids:
        if documents is None:
            with self.table.snapshot():
                if space is not None:
                    return SpaceVectors(self.table, space).ids()
                return np.sort(self.table.column("id", "kind = 'passage'")).astype(np.int64)
        passages: defaultdict[str, list[int]] = defaultdict(list)
        for row in self.table.rows_among(["document", "id"], "document", storable(documents), "kind = 'passage'"):
            passages[row["document"]].append(row["id"])
        return np.array([one for uri in documents for one in sorted(passages.get(uri, ()))], dtype=np.int64)

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        numbers = list(map(int, ids))
        there = {row["id"]: _passage(row) for row in self.table.rows_among(_PASSAGE, "id", numbers)}
        return [there[number] for number in numbers if number in there]

    def owners(self, ids: Sequence[int], *, first: int | None = None, furniture: bool = False) -> dict[int, int]:
        read: dict[int, tuple[int, bool]] = self.table.remembered("owners", dict)
        owners = {one: known for one in ids if (known := read.get(one))}
        missing = [one for one in ids if one not in owners]
        for row in self.table.rows_among(["id", "number", "furniture"], "id", missing):
            owners[row["id"]] = read[row["id"]] = row["number"], bool(row["furniture"])
        if len(read) > MOST_OWNERS:
            read.clear()
        return {one: number for one, (number, is_furniture) in owners.items() if is_furniture or not furniture}

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        return SpaceVectors(self.table, space).vectors(after=after, ids=ids, chunk=chunk)

    # ---- search

    def _filters(self) -> LanceFilters:
        return LanceFilters(self.table)

    def allowed(
        self, condition: Filter | None, must: Sequence[str] = (), *, ids: Ids | None = None
    ) -> AllowedRows | None:
        if condition is None and not must and ids is None:
            return None
        with self.table.snapshot():
            tests = [containing(entry) for entry in must]
            tests += [] if condition is None else [self._filters().condition(condition)]
            tests += [] if ids is None else [among("id", np.asarray(ids).tolist())]
            test = " AND ".join(["kind = 'passage'", *tests])
            return AllowedRows(self.table, test, self.table.count(test))

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self.table.snapshot():
            here = of_this_store(allowed, AllowedRows)
            return SpaceVectors(self.table, space).search(queries, k, here, exact=exact)

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        here = of_this_store(allowed, AllowedRows)
        with self.table.snapshot():
            words = query_terms(fold(text))
            if k < 1 or not words or (here is not None and not len(here)):
                return lexical_search.nothing()
            matching = LanceMatching(self.table, "" if here is None else here.condition)
            return lexical_search.search(matching, words, k)

    def facets(self) -> list[Facet]:
        with self.table.snapshot():
            rows = self.table.rows(["metadata", "loader", "mtime"], "kind = 'document'")
            return facet_counts.counted((row["metadata"], row["loader"], row["mtime"]) for row in rows)

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        with self.table.snapshot():
            return verification.verify(self.table, progress)


def recipe_of(meta: JsonObject) -> JsonObject:
    """The recipe, as this machine sees it."""
    parts = {key.removeprefix(MACHINE): value for key, value in meta.items() if key.startswith(MACHINE)}
    own = parts.pop(machine_recipes.name(), {})
    return machine_recipes.whole(meta.get("meta:recipe", {}), own, parts.values())


def ordered_spaces(records: JsonObject, meta: JsonObject) -> list[Space]:
    """The current space, then the others, oldest first."""
    spaces = sorted((_space(value) for value in records.values()), key=lambda space: space.id)
    current = meta.get("meta:space")
    return sorted(spaces, key=lambda space: space.id != current)


def _space(value: JsonObject) -> Space:
    null = NullDistribution.recorded(value["quantiles"], value["measured"]) if value["quantiles"] else None
    return Space(value["id"], value["fingerprint"], value["name"], value["dim"], value["info"], null)


def _row(row: Row) -> DocumentRow:
    values = [_root(row) if name == "root" else row[name] for name in _ROW[:-2]]
    return DocumentRow._make([*values, json.loads(row["metadata"])])


def _passage(row: Row) -> StoredPassage:
    place = {"start": row["starts"], "end": row["ends"], "metadata": json.loads(row["metadata"]), "root": _root(row)}
    names = ("id", "document", "text", "page", "line", "heading", "title", "path")
    size = len(row["text"]) + len(row["metadata"])
    return StoredPassage(**{name: row[name] for name in names}, **place, characters=size)


def _root(row: Row) -> str | None:
    """The folder of a file; None on another machine than its own, where it cannot be opened."""
    return row["root"] if row["machine"] in (None, machine_recipes.name()) else None
