"""The tables of one index, and the records of `…_meta` that are neither files nor parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from semsearch.errors import Corrupt, NotFound
from semsearch.stores.milvus import packing, rows
from semsearch.stores.milvus.server import schema
from semsearch.stores.milvus.server.calls import Row, Server
from semsearch.stores.milvus.server.tables import Changes, Key, Table
from semsearch.stores.records import Space
from semsearch.types import JsonObject
from semsearch.utils.strength import NullDistribution

SPACES = "spaces"
WRITER = "writer"


@dataclass
class SpaceRecords:
    """All spaces of an index, and which is the current one; `last` is the highest number that one ever had."""

    current: int = 0
    last: int = 0
    spaces: list[JsonObject] = field(default_factory=list)

    def ordered(self) -> list[Space]:
        """The current space, then the others, oldest first."""
        return [_space(one) for one in sorted(self.spaces, key=lambda one: (one["id"] != self.current, one["id"]))]


class IndexTables:
    """The collections of an index. Those of a writer hold the changes of its transaction."""

    def __init__(self, server: Server, prefix: str) -> None:
        self.server = server
        self.prefix = prefix
        self.documents = Table(server, f"{prefix}_documents", schema.DOCUMENTS)
        self.passages = Table(server, f"{prefix}_passages", schema.PASSAGES)
        self.meta = Table(server, f"{prefix}_meta", schema.META)
        self._spaces: dict[int, Table] = {}

    def space(self, number: int) -> Table:
        """The vectors of a space. Raises NotFound."""
        return self.vectors(number, self.space_record(number)["dim"])

    def space_record(self, number: int) -> JsonObject:
        """What is on record of a space. Raises NotFound."""
        for one in self.space_records().spaces:
            if one["id"] == number:
                return {"index": self.server.address.index, **one}  # older versions did not record it
        raise NotFound(f"this index has no space {number}.")

    def vectors(self, number: int, dim: int) -> Table:
        """The vectors of a space that is known."""
        if number not in self._spaces:
            self._spaces[number] = Table(self.server, self.collection_of(number), schema.space(dim))
        return self._spaces[number]

    def forget(self, space: int) -> None:
        """Leave out the vectors of a space that is dropped, with their changes."""
        self._spaces.pop(space, None)

    def collection_of(self, space: int) -> str:
        return f"{self.prefix}_space_{space}"

    @property
    def alias(self) -> str:
        """What stands for the collection of the current space, for other programs."""
        return f"{self.prefix}_vectors"

    def every(self) -> list[Table]:
        """All tables that have been used."""
        return [self.documents, self.passages, self.meta, *self._spaces.values()]

    def changes(self) -> dict[str, Changes]:
        """The changes of all tables, to come back to."""
        return {table.collection: dict(table.changes) for table in self.every()}

    def set_changes(self, known: dict[str, Changes]) -> None:
        """Come back to the changes of an earlier moment; to none for {}."""
        for table in self.every():
            table.changes = dict(known.get(table.collection, {}))

    def write(self) -> None:
        """Send all changes, in the order that `commit` describes."""
        vectors = [one for one in self.every() if one not in (self.documents, self.passages, self.meta)]
        self.meta.write(_is_part)
        for table in (self.passages, *vectors, self.documents):
            table.write()
        for table in (self.documents, self.passages, *vectors):
            table.delete()
        self.meta.write(lambda row: not _is_part(row))
        self.meta.delete()

    # ---- records

    def parts(self, found: Iterable[Row], *columns: str) -> dict[str, str]:
        """The parts of the long values in some columns, by key."""
        keys = packing.parts_of(row[column] for row in found for column in columns)
        return {str(key): row["data"] for key, row in self.meta.get(keys, ["data"]).items()} if keys else {}

    def value(self, kind: str, name: object, default: Any) -> Any:
        """The record of one kind and name."""
        key = rows.digest(kind, name)
        row = self.meta.get([key]).get(key)
        return default if row is None else json.loads(packing.unpack(row["data"], self.parts([row], "data")))

    def values(self, kind: str) -> list[tuple[Row, Any]]:
        """Every row of one kind, with its record."""
        found = self.meta.where("kind", [kind])
        parts = self.parts(found, "data")
        return [(row, json.loads(packing.unpack(row["data"], parts))) for row in found]

    def put_value(self, kind: str, name: object, value: Any, *, number: int = 0) -> None:
        """Set the record of one kind and name."""
        self.put_meta(rows.meta_row(kind, name, value, number=number))

    def put_meta(self, *made: tuple[Row, dict[str, str]]) -> None:
        """Set rows with their parts; parts of those before that they do not have are removed."""
        before = self.meta.get([row["key"] for row, _ in made])
        for row, parts in made:
            self.replace_parts([before[row["key"]]["data"]] if row["key"] in before else [], parts)
            self.meta.put(row)

    def remove_meta(self, found: Sequence[Row]) -> None:
        """Remove rows with their parts."""
        self.replace_parts([row["data"] for row in found], {})
        self.meta.remove(row["key"] for row in found)

    def replace_parts(self, before: Iterable[str], parts: dict[str, str]) -> None:
        """Set parts of long values, in place of those of the values `before`."""
        self.meta.remove(key for key in packing.parts_of(before) if key not in parts)
        for row in rows.part_rows(parts):
            self.meta.put(row)

    def space_records(self) -> SpaceRecords:
        """What is on record of the spaces."""
        return SpaceRecords(**self.value(SPACES, "", {}))

    def put_space_records(self, records: SpaceRecords) -> None:
        self.put_value(SPACES, "", vars(records))

    def heads(self, found: Sequence[Row]) -> Iterator[tuple[Row, rows.Head]]:
        """Rows of documents with what they say. Raises Corrupt."""
        parts = self.parts(found, "head")
        for row in found:
            try:
                yield row, rows.head_of(row, parts)
            except (ValueError, TypeError) as error:
                raise Corrupt(f"a document of {self.prefix} is damaged ({error}).", "Index it again.") from error

    def all_vectors(self) -> list[Table]:
        """The vectors of every space."""
        return [self.vectors(one["id"], one["dim"]) for one in self.space_records().spaces]

    def head(self, uri: str) -> tuple[Row, rows.Head] | None:
        """The whole row of a document, and what it says; None for an unknown one."""
        found = self.documents.get([rows.document_key(uri)])
        return next(iter(self.heads(list(found.values()))), None)


def keys_of(uris: Iterable[str]) -> list[Key]:
    """The keys of documents."""
    return [rows.document_key(uri) for uri in uris]


def _is_part(row: Row) -> bool:
    return bool(row["kind"] == "part")


def _space(record: JsonObject) -> Space:
    null = NullDistribution.recorded(record["quantiles"] or (), record["measured_at"])
    return Space(record["id"], record["fingerprint"], record["name"], record["dim"], record["info"], null)
