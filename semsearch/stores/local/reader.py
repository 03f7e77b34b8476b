"""The local store, open for reading: documents, passages, vectors, lexical and dense search behind one protocol."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path
from struct import unpack
from typing import TYPE_CHECKING, Any

from semsearch import vector_index
from semsearch.errors import Corrupt
from semsearch.stores.local.database import sqlite
from semsearch.stores.local.database.checksums import NOTES, first_passage_crc, passage_crc
from semsearch.stores.local.database.connection import Connection
from semsearch.stores.local.database.schema import CHECKSUMS, FURNITURE, TEXT, document_text
from semsearch.stores.local.filtering import facets
from semsearch.stores.local.filtering.allowed import AllowedIds, RecentFilters
from semsearch.stores.local.full_text.matching import Fts5Matching, as_indexed, containing
from semsearch.stores.local.full_text.postings import Postings
from semsearch.stores.local.location import require_store
from semsearch.stores.local.space_vectors import SpaceVectors, VectorRows
from semsearch.stores.protocol import Dense, of_this_store
from semsearch.stores.sql.reader import SqlReader
from semsearch.utils.late_numpy import np
from semsearch.utils.strength import NullDistribution

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.stores.local.filtering.filter_sql import SqliteFilters
    from semsearch.stores.protocol import Allowed
    from semsearch.stores.records import Space
    from semsearch.stores.sql.database import Row
    from semsearch.stores.sql.lexical_search import Matching
    from semsearch.types import Facet, Ids, JsonObject, Progress, Vectors

MOST_SIBLINGS = 8  # passages of a document, for each id, that are read in place of looking for the id


class LocalReader(SqlReader):
    """A store that is open for reading. No call waits for the writer of another process, or sees half a document.

    Threads may share one: their calls, and their snapshots, take turns.
    """

    TEXT = TEXT
    MEASURED = "background, background_count"
    NOTES = f"(SELECT value FROM meta WHERE key = '{NOTES}' || s.id)"
    CHECKED = ", p.document, p.crc"
    ALLOWED = AllowedIds

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.connection = connection
        self._vector_rows: defaultdict[int, VectorRows] = defaultdict(VectorRows)  # by space
        self._searchers: dict[int, vector_index.VectorSearcher] = {}
        self._allowed = RecentFilters()
        self._postings = Postings()
        self._has_furniture = False  # the table, which no newer version takes away

    @classmethod
    def open(cls, folder: Path) -> LocalReader:
        """The store in `folder`. Raises NotFound, Corrupt, SemsearchError for a newer schema."""
        require_store(folder)
        return cls(Connection(folder, write=False))

    def close(self) -> None:
        self.connection.close()

    # ---- what it reads in its own way

    def _vector_counts(self, spaces: Sequence[Space]) -> dict[int, int]:
        return dict(self._db.rows("SELECT id, vectors FROM spaces"))

    def _recipe(self) -> JsonObject:
        return {key: self._db.parsed(value) for key, value in self._db.rows("SELECT key, value FROM recipe")}

    def _null_distribution(self, numbers: object, passages: int) -> NullDistribution | None:
        if not isinstance(numbers, bytes) or len(numbers) % 8:
            raise Corrupt(f"{self.location} is damaged: a null distribution.", sqlite.REPAIR)
        return NullDistribution.recorded(unpack(f"<{len(numbers) // 8}d", numbers), passages)

    def _size(self) -> int:
        """Bytes of the files in the folder; one that a writer renames or removes meanwhile counts as gone."""
        total = 0
        for file in self.location.iterdir():
            with suppress(FileNotFoundError):
                total += file.stat().st_size if file.is_file() else 0
        return total

    def _text(self, body: Any) -> str:
        return document_text(body)

    def _check_passage(self, row: Row) -> None:
        number, _, start, end, text, page, line, heading, *_, document, crc = row
        try:
            if crc == passage_crc(number, document, start, end, page, line, heading, text):
                return
            if self.connection.schema() < CHECKSUMS and crc == first_passage_crc(number, document, start, end, text):
                return
        except AttributeError:  # damage has any type
            pass
        raise Corrupt(f"{self.location}: passage {number} is damaged.", sqlite.REPAIR)

    def owners(self, ids: Sequence[int], *, first: int | None = None, furniture: bool = False) -> dict[int, int]:
        """The index of passages by document is narrow, so what else is of a document costs less than the ids do."""
        if furniture and not self._has_furniture:  # which older versions did not record
            self._has_furniture = self.connection.schema() >= FURNITURE
            if not self._has_furniture:
                return {}
        if first is None or first >= len(ids) or furniture:
            return super().owners(ids, furniture=furniture)
        with self._db.snapshot():
            owners = super().owners(ids[:first])
            most = MOST_SIBLINGS * len(ids)
            sql = "SELECT p.id, p.document FROM json_each(?) d CROSS JOIN passages p ON p.document = d.value LIMIT ?"
            rows = self._db.rows(sql, (json.dumps(sorted({*owners.values()})), most))
            if len(rows) == most:  # long documents
                return super().owners(ids)
            others = {*ids}
            return owners | {passage: document for passage, document in rows if passage in others}

    def _space(self, space: int) -> SpaceVectors:
        return SpaceVectors(self.connection, space, self._vector_rows[space])

    # ---- search

    def _filters(self) -> SqliteFilters:
        from semsearch.stores.local.filtering.filter_sql import SqliteFilters  # 10 ms that most queries do not need

        return SqliteFilters(self.connection.raw)

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
            name = repr((condition, list(must)))  # as a key, the filter itself would equate 1 with true
            passing = self._allowed.get(name, self.connection)
            if passing is None:
                parts = [] if condition is None else [self._filters().passage_ids(condition)]
                parts += [containing(self.connection.raw, must)] if must else []
                passing = self._allowed.keep(name, AllowedIds(reduce(np.intersect1d, parts)))
        return passing

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self._db.snapshot():
            here = of_this_store(allowed, AllowedIds)
            if space not in self._searchers:
                self._searchers[space] = vector_index.VectorSearcher(self._space(space))
            ids = None if here is None else here.ids
            return Dense(*self._searchers[space].search(queries, k, ids, exact=exact))

    def close_cache(self, space: int) -> None:
        """Let go of the vector cache in memory; the next search opens the newest one."""
        self._searchers.pop(space, None)

    def _as_indexed(self, text: str) -> str:
        return as_indexed(self.connection.raw, text)

    def _matching(self, allowed: AllowedIds | None) -> Matching[Any]:
        """With the postings of frequent words, if they are there; FTS5 alone finds the same."""
        raw, ids = self.connection.raw, None if allowed is None else allowed.ids
        postings = None if self.connection.is_writing else self._postings.matching(raw, ids)
        return Fts5Matching(raw, ids) if postings is None else postings

    def facets(self) -> list[Facet]:
        with self._db.snapshot():
            return facets.facets(self.connection.raw)

    # ---- verification

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        from semsearch.stores.local.integrity import verify  # six modules that a search does without

        problems = verify.verify(self.connection, progress)
        spaces = [self._space(space) for (space,) in self._db.rows("SELECT id FROM spaces")]
        return problems + [problem for space in spaces for problem in space.problems()]


open_reader = LocalReader.open
