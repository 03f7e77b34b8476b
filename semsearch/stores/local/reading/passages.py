"""Passages of a local store and their vectors, read. Each passage is compared with its checksum."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from semsearch.errors import Corrupt
from semsearch.stores.local.database import sqlite
from semsearch.stores.local.database.row_checksums import first_passage_crc, passage_crc
from semsearch.stores.local.database.schema import CHECKSUMS, FURNITURE
from semsearch.stores.local.vectors.space_vectors import SpaceVectors
from semsearch.stores.local.vectors.vector_rows import VectorRows
from semsearch.stores.records import StoredPassage
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.stores.local.database.connection import Connection, Row
    from semsearch.types import Ids, Vectors

MOST_SIBLINGS = 8  # passages of a document, for each id, that are read in place of looking for the id

_PASSAGE = """
    SELECT p.document, p.crc, p.id, d.uri, p.start, p."end", p.text, p.page, p.line, p.heading, d.metadata, d.title,
           s.root, s.path
    FROM json_each(?) wanted CROSS JOIN passages p ON p.id = wanted.value
    JOIN documents d ON d.id = p.document LEFT JOIN sources s ON s.id = d.source"""


class PassageReader:
    """The methods of a `LocalReader` for passages and vectors."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection
        self._vector_rows: defaultdict[int, VectorRows] = defaultdict(VectorRows)  # by space

    def passage_ids(self, documents: Sequence[str] | None = None, *, space: int | None = None) -> Ids:
        if documents is None:
            return self._db.ids("passages", "id", "1") if space is None else SpaceVectors(self._db, space).ids()
        sql = """SELECT d.uri, p.id FROM documents d JOIN passages p ON p.document = d.id WHERE d.uri IN"""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for uri, passage in self._db.rows_in(sql, documents):
            found[uri].append(passage)
        return np.array([one for uri in documents for one in sorted(found.get(uri, ()))], dtype=np.int64)

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        wanted = list(map(int, ids))
        with self._db.snapshot():
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
        raise Corrupt(f"{self._db.folder}: passage {row_id} is damaged.", sqlite.REPAIR)

    def owners(self, ids: Sequence[int], *, first: int | None = None) -> dict[int, int]:
        """The index of passages by document is narrow, so what else is of a document costs less than the ids do."""
        sql = "SELECT p.id, p.document FROM json_each(?) wanted CROSS JOIN passages p ON p.id = wanted.value"
        if first is None or first >= len(ids):
            return dict(self._db.rows_for(sql, ids))
        with self._db.snapshot():
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

    def furniture(self, ids: Sequence[int]) -> set[int]:
        if self._db.schema() < FURNITURE:
            return set()
        sql = "SELECT f.passage FROM json_each(?) wanted CROSS JOIN furniture f ON f.passage = wanted.value"
        return {passage for (passage,) in self._db.rows_for(sql, ids)}

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        return self._space(space).vectors(after=after, ids=ids, chunk=chunk)

    def _space(self, space: int) -> SpaceVectors:
        return SpaceVectors(self._db, space, self._vector_rows[space])
