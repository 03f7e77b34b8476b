"""How the changes of a transaction are written to Milvus, which has no transactions.

Everything is an upsert or a deletion by key, in an order in which a kill at any moment leaves the documents of before,
or those of now, each whole, and at worst passages that no document names:

    1  the writer's record says which documents are being written
    2  parts of long values, passages, vectors: new ones, which no document names yet
    3  documents: the acknowledgement; each names its passages, and those of before are no one's from here on
    4  deleted documents, then passages and vectors that are not wanted any more
    5  files, recipe, runs: a file is done after its documents
    6  the writer's record: the next version, nothing pending

What a kill leaves is cleared by the next commit of the same writer, or of any after STALE seconds on the server's
clock, and by every later write of these documents. It is cleared a second time when that run ends, or when the index is
next opened for writing: an upsert that was on its way when its process ended may arrive after the first time. A rename
that was cut off is taken back, or completed where the document has its new name already. Repeating the run makes the
rest whole.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from semsearch.stores.milvus import documents, packing, rows
from semsearch.stores.milvus.index_tables import WRITER, IndexTables
from semsearch.stores.milvus.server.schema import NO_VECTOR
from semsearch.stores.milvus.server.tables import among
from semsearch.types import JsonObject

if TYPE_CHECKING:
    from semsearch.stores.milvus.server.tables import Key

STALE = 3_600  # seconds after which a writer that was writing is taken to be dead
AT_ONCE = 500  # documents that are cleared at a time
_NEW: JsonObject = {"version": 0, "last": 0, "updating": False, "pending": [], "again": [], "at": 0.0}


class Committer:
    """Writes the changes of one writer. `name` tells it from the others of the index."""

    def __init__(self, tables: IndexTables, name: str) -> None:
        self._tables = tables
        self._name = name
        self._record: JsonObject | None = None  # as it is on the server; None where that is not sure
        self._parts: list[str] = []  # of this record

    def record(self) -> JsonObject:
        """What is on record of this writer."""
        if self._record is None:
            found = self._tables.meta.get([rows.digest(WRITER, self._name)], ["data"]).values()
            self._parts = packing.parts_of(row["data"] for row in found)
            known = self._tables.value(WRITER, self._name, {})
            self._record = {key: known.get(key, value) for key, value in _NEW.items()}
        return dict(self._record)

    def commit(self, updating: bool | None, last: int) -> None:
        """Write all changes. `updating`: whether a run goes on, None as before; `last`: the highest document number."""
        record = self.record()
        self._record = None
        if record["pending"]:
            clear(self._tables, record["pending"])
            record["again"] = list(dict.fromkeys([*record["again"], *record["pending"]]))
        touched = [str(key) for key in self._tables.documents.changes]
        record["last"] = max(record["last"], last)  # also after a kill, no document has a higher number
        if touched:
            record |= {"pending": touched, "at": self._tables.server.clock()}
            self._put(record)
        began = time.time()
        self._tables.write()
        while touched and time.time() - began > STALE / 2 and not self._is_on_record(record):
            began = time.time()
            self._put(record)
            self._tables.write()
        if updating is False and record["again"]:
            clear(self._tables, record["again"])
            record["again"] = []
        record |= {"version": record["version"] + 1, "pending": [], "at": self._tables.server.clock()}
        record["updating"] = record["updating"] if updating is None else updating
        self._put(record)
        self._record = record

    def _is_on_record(self, record: JsonObject) -> bool:
        """Whether no other writer took this one to be dead, while its machine slept, and cleared what it had begun."""
        return bool(self._tables.value(WRITER, self._name, None) == record)

    def _put(self, record: JsonObject) -> None:
        self._parts = self._replace(rows.digest(WRITER, self._name), record, self._parts)

    def _replace(self, key: str, record: JsonObject, before: Sequence[str]) -> list[str]:
        """Write the record of a writer in place of one with the parts `before`; its own parts."""
        meta = self._tables.meta
        row, parts = rows.meta_row(WRITER, key, record)
        written = [{**one, "nothing": NO_VECTOR} for one in (*rows.part_rows(parts), {**row, "key": key})]
        self._tables.server.upsert(meta.collection, written)
        meta.drop_rows(part for part in before if part not in parts)
        return list(parts)

    def clear_stale(self) -> None:
        """Clear what this writer, or one that is dead, has left."""
        now = self._tables.server.clock()
        for row, found in self._tables.values(WRITER):
            own = row["key"] == rows.digest(WRITER, self._name)
            left = [*found["pending"], *found.get("again", [])]
            if (left or (found["updating"] and not own)) and (own or now - found["at"] > STALE):
                parts = packing.parts_of([row["data"]])
                if not own:  # should it wake up, it sees this and writes again
                    parts = self._replace(row["key"], {**found, "cleared": True}, parts)
                clear(self._tables, left)
                kept = {**found, "pending": [], "again": found["pending"], "updating": own and found["updating"]}
                self._replace(row["key"], kept, parts)
                self._record = None


def clear(tables: IndexTables, keys: Sequence[Key]) -> None:
    """Delete passages and vectors of some documents that these do not name, and end renames that were cut off."""
    stored = IndexTables(tables.server, tables.prefix)  # without the changes of a transaction
    pieces = [keys[at : at + AT_ONCE] for at in range(0, len(keys), AT_ONCE)]
    for piece in pieces:
        _end_renames(stored, piece)
    for piece in pieces:
        _drop_unnamed(stored, piece)


def _end_renames(tables: IndexTables, keys: Sequence[Key]) -> None:
    """Passages that a rename has given to the new name of their document go back, unless the document has that name."""
    there = list(tables.heads(list(tables.documents.get(keys, ["size", "head"]).values())))
    holders = tables.passages.get([one for _, head in there for one in head.ids], ["document"])
    for row, head in there:
        others = {holders[one]["document"] for one in head.ids if one in holders} - {row["key"]}
        new = tables.heads(list(tables.documents.get(others, ["head"]).values()))
        if any({*head.ids} & {*other.ids} for _, other in new):
            tables.documents.drop_rows([row["key"]])
        elif others:
            documents.restamp_passages(tables, row, head)
            for table in (tables.passages, *tables.all_vectors()):
                table.write()
            tables.set_changes({})


def _drop_unnamed(tables: IndexTables, keys: Sequence[Key]) -> None:
    there = list(tables.documents.get(keys, ["head"]).values())
    named = {one for _, head in tables.heads(there) for one in head.ids}
    conditions = among("document", keys)
    for table in (tables.passages, *tables.all_vectors()):
        left = [row["id"] for piece in table.fitting(conditions, ["id"]) for row in piece if row["id"] not in named]
        table.drop_rows(left)
