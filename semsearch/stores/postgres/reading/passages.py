"""Passages of a PostgreSQL store and their vectors, read."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores.postgres.escapes import restored, restored_or_none, stored
from semsearch.stores.postgres.reading.documents import ROOT, this_machine
from semsearch.stores.postgres.server.connection import Connection, Row
from semsearch.stores.postgres.space_vectors import SpaceVectors
from semsearch.stores.records import StoredPassage

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

_PASSAGE = f"""
    SELECT p.id, d.uri, p.start, p."end", p.text, p.page, p.line, p.heading, d.metadata, d.title, {ROOT}, s.path
    FROM passages p JOIN documents d ON d.id = p.document LEFT JOIN sources s ON s.id = d.source
    WHERE p.id = ANY(%s::bigint[])"""


class PassageReader:
    """The methods of a `PostgresReader` for passages and vectors."""

    _db: Connection

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

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        return SpaceVectors(self._db, space).vectors(after=after, ids=ids, chunk=chunk)
