"""The local store, open for reading: documents, passages, vectors, lexical and dense search behind one protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from pathlib import Path
from struct import unpack
from typing import TYPE_CHECKING, Self

from semsearch import vector_index
from semsearch.errors import Corrupt
from semsearch.stores import base
from semsearch.stores.local.database import sqlite
from semsearch.stores.local.database.connection import Connection
from semsearch.stores.local.database.schema import SPACES
from semsearch.stores.local.filtering import facets
from semsearch.stores.local.filtering.allowed import AllowedIds, RecentFilters
from semsearch.stores.local.full_text import lexical
from semsearch.stores.local.full_text.matching import containing
from semsearch.stores.local.full_text.postings import Postings
from semsearch.stores.local.location import require_store
from semsearch.stores.local.reading.documents import DocumentReader
from semsearch.stores.local.reading.passages import PassageReader
from semsearch.stores.local.vectors.space_vectors import SpaceVectors
from semsearch.stores.protocol import Dense, of_this_store
from semsearch.stores.records import Space, StoreState
from semsearch.utils.late_numpy import np
from semsearch.utils.strength import NullDistribution

if TYPE_CHECKING:
    from types import ModuleType

    from semsearch.stores.filters import Filter
    from semsearch.stores.protocol import Allowed, Lexical
    from semsearch.types import Facet, Ids, JsonObject, Progress, Vectors


class LocalReader(DocumentReader, PassageReader):
    """A store that is open for reading. No call waits for the writer of another process, or sees half a document.

    Threads may share one: their calls, and their snapshots, take turns. The methods are described in
    `stores.protocol.StoreReader`.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.connection = connection
        self.name, self.location = connection.folder.name, connection.folder
        self._searchers: dict[int, vector_index.VectorSearcher] = {}
        self._allowed = RecentFilters()
        self._postings = Postings()

    @classmethod
    def open(cls, folder: Path) -> LocalReader:
        """The store in `folder`. Raises NotFound, Corrupt, SemsearchError for a newer schema."""
        require_store(folder)
        return cls(Connection(folder, write=False))

    def close(self) -> None:
        """Close the files. Every later call raises SemsearchError."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the whole

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        with self._db.snapshot():
            yield self._db.meta("version")

    def state(self) -> StoreState:
        with self._db.snapshot():
            return StoreState(
                self._db.meta("documents"),
                self._db.meta("passages"),
                dict(self._db.rows("SELECT id, vectors FROM spaces")),
                bool(self._db.rows("SELECT 1 FROM meta WHERE key = 'updating'")),
                int(self._db.rows("SELECT coalesce(max(id), 0) FROM documents")[0][0]),
                {key: self._db.parsed(value) for key, value in self._db.rows("SELECT key, value FROM recipe")},
                self.spaces(),
            )

    def runs(self) -> Iterator[JsonObject]:
        for (number,) in self._db.rows("SELECT id FROM runs ORDER BY id DESC"):  # each may name thousands of files
            for (report,) in self._db.rows("SELECT report FROM runs WHERE id = ?", (number,)):
                yield self._db.parsed(report)

    def spaces(self) -> list[Space]:
        """As in `state`."""
        sql = f"SELECT id, fingerprint, name, dim, info, background, background_count {SPACES}"
        return [
            Space(row_id, fingerprint, name, dim, self._db.parsed(info), self._null_distribution(packed, count))
            for row_id, fingerprint, name, dim, info, packed, count in self._db.rows(sql)
        ]

    def _null_distribution(self, packed: bytes, passages: int) -> NullDistribution | None:
        if not isinstance(packed, bytes) or len(packed) % 8:
            raise Corrupt(f"{self.location} is damaged: a null distribution.", sqlite.REPAIR)
        return NullDistribution.recorded(unpack(f"<{len(packed) // 8}d", packed), passages)

    def info(self) -> JsonObject:
        with self.snapshot():
            described = {space.id: SpaceVectors(self._db, space.id).backend() for space in self.spaces()}
            return base.info(self, _size(self.location), described)

    # ---- documents by a filter

    def document_ids(
        self, condition: Filter | None, *, ids: Sequence[str] | None = None, after: str = "", limit: int = -1
    ) -> list[str]:
        with self._db.snapshot():
            here = "1 = 1" if ids is None else f"d.id IN ({', '.join(map(str, self._db.document_ids(ids)))})"
            sqlite_filters = _filters()
            dialect = sqlite_filters.SqliteFilters(self._db.raw)
            return list(sqlite_filters.filters.document_ids(dialect, condition, after, limit, (here, [])))

    def count_documents(self, condition: Filter | None) -> int:
        with self._db.snapshot():
            if condition is None:
                return self._db.meta("documents")
            sqlite_filters = _filters()
            return int(sqlite_filters.filters.count_documents(sqlite_filters.SqliteFilters(self._db.raw), condition))

    # ---- search

    def allowed(
        self, condition: Filter | None, must: Sequence[str] = (), *, ids: Ids | None = None
    ) -> AllowedIds | None:
        if ids is not None:
            passing = self.allowed(condition, must)
            here = np.array(ids, dtype=np.int64)
            return AllowedIds(here if passing is None else np.intersect1d(here, passing.ids))
        if condition is None and not must:
            return None
        with self._db.snapshot():
            wanted = repr((condition, list(must)))  # as a key, the filter itself would equate 1 with true
            found = self._allowed.get(wanted, self._db)
            if found is None:
                parts = [] if condition is None else [_filters().allowed(self._db.raw, condition)]
                parts += [containing(self._db.raw, must)] if must else []
                found = self._allowed.keep(wanted, AllowedIds(reduce(np.intersect1d, parts)))
        return found

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self._db.snapshot():
            if space not in self._searchers:
                self._searchers[space] = vector_index.VectorSearcher(self._space(space))
            return Dense(*self._searchers[space].search(queries, k, _ids(allowed), exact=exact))

    def close_cache(self, space: int) -> None:
        """Let go of the vector cache in memory; the next search opens the newest one."""
        self._searchers.pop(space, None)

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        with self._db.snapshot():
            ids = _ids(allowed)
            return lexical.search(self._db.raw, text, k, ids, None if self._db.is_writing else self._postings)

    def facets(self) -> list[Facet]:
        with self._db.snapshot():
            return facets.facets(self._db.raw)

    # ---- verification

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        from semsearch.stores.local.integrity import verify  # six modules that a search does without

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
