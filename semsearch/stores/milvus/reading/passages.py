"""Passages of an index in Milvus and their vectors, read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from semsearch.stores.milvus import rows, vectors
from semsearch.stores.milvus.reading.opened import OpenedIndex
from semsearch.stores.records import StoredPassage

if TYPE_CHECKING:
    from semsearch.stores.milvus.server.calls import Row
    from semsearch.types import Ids, Vectors


class PassageReader(OpenedIndex):
    """The methods of a `MilvusReader` for passages and vectors."""

    def passage_ids(self, uri: str) -> Ids:
        found = self.tables.head(uri)
        return rows.array(found[1].ids if found else ())

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        with self.tables.server.moment():
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
