"""The local store, open for reading: its tables, its lexical search and its vector index behind one protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from semsearch.errors import NotFound, UsageError
from semsearch.stores.local import facets, lexical, vector_caches, verify
from semsearch.stores.local.connection import DATABASE, Connection
from semsearch.stores.local.tables import Tables
from semsearch.stores.protocol import Allowed, Counts, Dense, Lexical
from semsearch.stores.records import DocumentStamp, Origin, Source, Space, StoredPassage
from semsearch.types import Document, Facet, JsonObject, Progress
from semsearch.vector_index.audit import audit
from semsearch.vector_index.searcher import VectorSearcher

if TYPE_CHECKING:
    from types import ModuleType

    from semsearch.stores.filters import Filter
    from semsearch.types import Ids, Vectors


class AllowedIds:
    """The passages that a filter lets through: `ids` (n,), ascending."""

    def __init__(self, ids: Ids) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)


class LocalReader:
    """A store that is open for reading. No call waits for the writer of another process, or sees half a document.

    Threads may share one: their calls, and their snapshots, take turns. `stores.protocol.StoreReader` says what each
    method promises.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._tables = Tables(connection)
        self._searchers: dict[int, VectorSearcher] = {}

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
        return self.connection.folder

    def close(self) -> None:
        """Close the files. Every later call raises SemsearchError."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the whole

    def snapshot(self) -> AbstractContextManager[None]:
        return self.connection.snapshot()

    def version(self) -> int:
        return self._tables.version()

    def counts(self) -> Counts:
        return self._tables.counts()

    def recipe(self) -> JsonObject:
        return self._tables.recipe()

    def runs(self) -> Iterator[JsonObject]:
        return self._tables.runs()

    def spaces(self) -> list[Space]:
        return self._tables.spaces()

    def info(self) -> JsonObject:
        with self.snapshot():
            counts = self.counts()
            vectors = counts["vectors"]
            return {
                "name": self.name,
                "path": str(self.location),
                "documents": counts["documents"],
                "passages": counts["passages"],
                "vectors": sum(vectors.values()),
                "bytes": _size(self.location),
                "recipe": self.recipe(),
                "spaces": [vector_caches.info(self._tables, s, vectors.get(s.id, 0)) for s in self.spaces()],
                "last_run": next(self.runs(), None),
            }

    # ---- documents and their sources

    def document(self, uri: str) -> Document | None:
        return self._tables.document(uri)

    def documents(
        self, *, path: str | None = None, ids: Sequence[str] | None = None, limit: int = -1, offset: int = 0
    ) -> list[JsonObject]:
        return self._tables.documents(path=path, ids=ids, limit=limit, offset=offset)

    def titles(self) -> list[tuple[str, str | None]]:
        return self._tables.titles()

    def stamps(self, uris: Iterable[str]) -> dict[str, DocumentStamp]:
        return self._tables.stamps(uris)

    def origins(self, uris: Sequence[str] | None = None) -> list[Origin]:
        return self._tables.origins(uris)

    def sources(self) -> dict[tuple[str, str], Source]:
        return self._tables.sources()

    def source_of(self, uri: str) -> Source | None:
        return self._tables.source_of(uri)

    def documents_of(self, source: int) -> list[str]:
        return self._tables.documents_of(source)

    def document_counts(self) -> dict[int, int]:
        return self._tables.document_counts()

    # ---- passages and vectors

    def passage_ids(self, uri: str) -> Ids:
        return self._tables.passage_ids(uri)

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        return self._tables.passages(ids)

    def owners(self, ids: Sequence[int]) -> dict[int, int]:
        return self._tables.owners(ids)

    def texts(self) -> Iterator[str]:
        return self._tables.texts()

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        return self._tables.vectors(space, after=after, ids=ids, chunk=chunk)

    def vector_ids(self, space: int) -> Ids:
        return self._tables.vector_ids(space)

    def highest_id(self, space: int) -> int:
        return self._tables.highest_id(space)

    # ---- search

    def allowed(self, condition: Filter | None, must: Sequence[str] = ()) -> AllowedIds | None:
        with self.snapshot():
            parts = [] if condition is None else [_filters().allowed(self.connection.raw, condition)]
            parts += [lexical.containing(self.connection.raw, must)] if must else []
        return AllowedIds(reduce(np.intersect1d, parts)) if parts else None

    def allowed_documents(self, condition: Filter) -> list[str]:
        with self.snapshot():
            found: list[str] = _filters().allowed_documents(self.connection.raw, condition)
            return found

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self.snapshot():
            if space not in self._searchers:
                self._searchers[space] = VectorSearcher(vector_caches.SpaceVectors(self._tables, space))
            return Dense(*self._searchers[space].search(queries, k, _ids(allowed), exact=exact))

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        with self.snapshot():
            return lexical.search(self.connection.raw, text, k, _ids(allowed))

    def highlight(self, text: str, query: str) -> tuple[tuple[int, int], ...]:
        return lexical.spans(text, query)

    def facets(self) -> list[Facet]:
        with self.snapshot():
            return facets.facets(self.connection.raw)

    # ---- is it sound

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        found = verify.verify(self._tables, progress)
        return found + [problem for space in self.spaces() for problem in vector_caches.check(self._tables, space)]

    def audit(self, space: int, *, sample: int, k: int) -> JsonObject:
        with self.snapshot():
            return audit(VectorSearcher(vector_caches.SpaceVectors(self._tables, space)), sample=sample, k=k)


def _filters() -> ModuleType:
    from semsearch.stores.local import filter_sql  # 10 ms that most queries do not need

    return filter_sql


def require_store(folder: Path) -> None:
    """Raise NotFound where `folder` holds no store."""
    if not (folder / DATABASE).is_file():
        raise NotFound(f"{folder} is not an index.", f"Make one: semsearch index FILES -n {folder.name}")


def _ids(allowed: Allowed | None) -> Ids | None:
    if allowed is None:
        return None
    if not isinstance(allowed, AllowedIds):
        raise UsageError(
            f"this filter was compiled by another store ({type(allowed).__name__}).", "Call `allowed` of this store."
        )
    return allowed.ids


def _size(folder: Path) -> int:
    """Bytes of the files in `folder`; one that a writer renames or removes meanwhile counts as gone."""
    total = 0
    for file in folder.iterdir():
        with suppress(FileNotFoundError):
            total += file.stat().st_size if file.is_file() else 0
    return total


open_reader = LocalReader.open
