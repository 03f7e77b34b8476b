"""How the changes of a transaction are written to Milvus, which has no transactions.

Everything is an upsert or a deletion by key, in an order in which a kill at any moment leaves the documents of before,
or those of now, each whole, and at worst passages that no document names:

    1  the writer's record says which documents are being written
    2  parts of long values, passages, vectors: new ones, which no document names yet
    3  documents: the acknowledgement; each names its passages, and those of before are no one's from here on
    4  deleted documents, then passages and vectors that are not wanted any more
    5  files, recipe, runs: a file is done after its documents
    6  the writer's record: the next version, nothing pending

What a kill leaves is cleared by the next commit of the same writer, or of any after STALE seconds, and by every later
write of these documents. Repeating the run makes the rest whole.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from semsearch.stores.milvus import rows
from semsearch.stores.milvus.index_tables import WRITER, IndexTables
from semsearch.stores.milvus.server.schema import NO_VECTOR
from semsearch.stores.milvus.server.tables import among
from semsearch.types import JsonObject

if TYPE_CHECKING:
    from semsearch.stores.milvus.server.tables import Key

STALE = 3_600  # seconds after which a writer that was writing is taken to be dead
AT_ONCE = 1_000  # documents on record as pending
_NEW: JsonObject = {"version": 0, "last": 0, "updating": False, "pending": [], "at": 0.0}


class Committer:
    """Writes the changes of one writer. `name` tells it from the others of the index."""

    def __init__(self, tables: IndexTables, name: str) -> None:
        self._tables = tables
        self._name = name
        self._record: JsonObject | None = None  # as it is on the server; None where that is not sure

    def record(self) -> JsonObject:
        """What is on record of this writer."""
        if self._record is None:
            self._record = {**_NEW, **self._tables.value(WRITER, self._name, {})}
        return dict(self._record)

    def commit(self, updating: bool | None, last: int) -> None:
        """Write all changes. `updating`: whether a run goes on, None as before; `last`: the highest document number."""
        record = self.record()
        self._record = None
        if record["pending"]:
            clear(self._tables, record["pending"])
        touched = [str(key) for key in self._tables.documents.changes]
        if touched:
            self._put({**record, "pending": touched[:AT_ONCE], "at": time.time()})
        self._write()
        record |= {"version": record["version"] + 1, "pending": [], "at": time.time()}
        record["last"] = max(record["last"], last)
        record["updating"] = record["updating"] if updating is None else updating
        self._put(record)
        self._record = record

    def _write(self) -> None:
        tables = self._tables
        vectors = [one for one in tables.every() if one not in (tables.documents, tables.passages, tables.meta)]
        tables.meta.write(_is_part)
        for table in (tables.passages, *vectors, tables.documents):
            table.write()
        for table in (tables.documents, tables.passages, *vectors):
            table.delete()
        tables.meta.write(lambda row: not _is_part(row))
        tables.meta.delete()

    def _put(self, record: JsonObject) -> None:
        row, _ = rows.meta_row(WRITER, self._name, record)
        self._tables.server.upsert(self._tables.meta.collection, [{**row, "nothing": NO_VECTOR}])

    def clear_stale(self) -> None:
        """Clear what this writer, or one that is dead, has left."""
        for row, found in self._tables.values(WRITER):
            own = row["key"] == rows.digest(WRITER, self._name)
            if (found["pending"] or (found["updating"] and not own)) and (own or time.time() - found["at"] > STALE):
                clear(self._tables, found["pending"])
                kept = {**found, "pending": [], "updating": own and found["updating"]}
                written, _ = rows.meta_row(WRITER, self._name, kept)
                self._tables.server.upsert(
                    self._tables.meta.collection, [{**written, "key": row["key"], "nothing": NO_VECTOR}]
                )
                self._record = None


def clear(tables: IndexTables, documents: Sequence[Key]) -> None:
    """Delete passages and vectors of some documents that these do not name."""
    there = [row for piece in tables.documents.fitting(among("key", documents), ["head"]) for row in piece]
    named = {one for _, head in tables.heads(there) for one in head.ids}
    conditions = among("document", documents)
    for table in (tables.passages, *tables.all_vectors()):
        left = [row["id"] for piece in table.fitting(conditions, ["id"]) for row in piece if row["id"] not in named]
        table.drop_rows(left)


def _is_part(row: Any) -> bool:
    return bool(row["kind"] == "part")
