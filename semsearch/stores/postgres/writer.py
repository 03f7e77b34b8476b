"""The PostgreSQL store, open for writing: each change is one transaction with texts, words, vectors and counters.

Many writers may have a collection open at once, on many machines. They wait for each other only where they write the
same documents or files, for the moment of a commit, and while one of them switches to another space. A document that
two write has the content of the one that committed last.

Each call locks rows in the order of their names, so that two calls never wait for each other. Two transactions of
several calls can, if they write the same documents in different orders: the server then ends one of them, which raises
Locked and has written nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import Locked, SemsearchError
from semsearch.stores import machine_recipes
from semsearch.stores.entry_checks import checked
from semsearch.stores.postgres import number_indexes
from semsearch.stores.postgres.reader import PostgresReader
from semsearch.stores.postgres.rows import RowWriter, check_key
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.postgres.server.escapes import stored, stored_json
from semsearch.stores.postgres.server.schema import LONGEST_KEY, MACHINE, kind_of_vectors, vectors_table
from semsearch.stores.postgres.space_vectors import SpaceVectors
from semsearch.stores.records import UNFINISHED, Entry, Source, stable_id, to_json
from semsearch.stores.sql.rows import notes_value, source_values
from semsearch.stores.sql.writer import SPACES, SqlWriter
from semsearch.types import Progress
from semsearch.utils.vectors import check_storable

if TYPE_CHECKING:
    from semsearch.stores.protocol import Rebuild
    from semsearch.stores.records import Numbered
    from semsearch.types import Ids, JsonObject, Vectors
    from semsearch.utils.strength import NullDistribution

_TABLES = ("documents", "passages", "words", "furniture", "sources", "vocabulary", "counters", "meta", "runs", "spaces")
_LOCK_FOREIGN_FILES = """SELECT id FROM sources WHERE id IN (SELECT source FROM documents WHERE uri = ANY(?::text[]))
    AND machine <> ? ORDER BY id FOR UPDATE"""  # before their documents, as the writers of those files do
_FOREIGN_FILES_UNFINISHED = """UPDATE sources SET size = ?, bookmark = NULL
    WHERE id IN (SELECT source FROM documents WHERE id = ANY(?::bigint[])) AND machine <> ?"""


class PostgresWriter(SqlWriter):
    """A collection that is open for writing; others may write to it, too.

    Threads may share one: transactions take turns.
    """

    reader: PostgresReader

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.connection = connection
        self.reader = PostgresReader(connection)
        self._rows = RowWriter(connection)

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def alone(self, purpose: str) -> Iterator[None]:
        with self.connection.alone(purpose) as run:
            if run is None:
                raise Locked(f"{self._db.title}: another machine is at {purpose}.", "Wait until it has finished.")
            yield

    # ---- documents and their sources

    def replace(self, entries: Sequence[Entry], space: int) -> None:
        """Of two entries with one id the last counts.

        Raises SemsearchError for passages or vectors that do not fit, and EncoderMismatch for another space than the
        current one, whose vectors nobody would search: another machine has switched.
        """
        with self._db.transaction():
            self._db.hold(SPACES)
            for current in [] if self.connection.is_new else self.reader.spaces()[:1]:  # nobody sees a copy yet
                machine_recipes.check_current(self._db.title, current, space)
            here = SpaceVectors(self.connection, space)
            latest = {entry.document.id: checked(entry, here.dim) for entry in entries}
            for uri in latest:
                check_key(uri)
            self._check_sources(latest.values())
            self._rows.remove_own(sorted(latest))
            self._rows.insert(latest, here)

    def _sources(self, numbers: Sequence[int]) -> set[int]:
        sql = f"SELECT id FROM sources WHERE id {self._db.among} ORDER BY id FOR KEY SHARE"
        return {number for (number,) in self.connection.changed(sql, (list(numbers),))}

    def delete(self, uris: Iterable[str] = (), *, sources: Iterable[int] = ()) -> int:
        with self._db.transaction():
            self._db.hold(SPACES)
            return self._delete_documents(sorted(uris)) + self._delete_sources([int(one) for one in sources])

    def _delete_documents(self, uris: Sequence[str]) -> int:
        if not uris:
            return 0
        self.connection.changed(_LOCK_FOREIGN_FILES, (list(uris), machine_recipes.name()))
        documents = list(self._rows.locked("uri = ANY(?::text[])", list(uris)).values())
        self._db.execute(_FOREIGN_FILES_UNFINISHED, (UNFINISHED, documents, machine_recipes.name()))
        return self._rows.remove(documents)

    def _delete_sources(self, sources: Sequence[int]) -> int:
        sql = f"SELECT id FROM sources WHERE {self.reader.OWN} AND id"
        own = [number for (number,) in self._db.rows_of(sql, sources, *self.reader.own)]
        if not own:
            return 0
        removed = self._rows.remove(list(self._rows.locked(f"source {self._db.among}", own).values()))
        self._db.execute(f"DELETE FROM sources WHERE id {self._db.among}", (own,))
        return removed

    def _rename(self, uri: str, new_uri: str) -> None:
        check_key(new_uri)
        super()._rename(uri, new_uri)

    def _numbers(self, uris: Sequence[str]) -> dict[str, int]:
        return self._rows.locked("uri = ANY(?::text[])", list(uris))

    def _rename_passages(self, document: int, uri: str) -> None:
        parts = self._db.rows("SELECT id, position, text FROM passages WHERE document = ?", (document,))
        rows = [(stable_id(uri, position, text), number) for number, position, text in parts]
        self._db.execute_many("UPDATE passages SET stable_id = ?::uuid WHERE id = ?", rows)

    def _metadata(self, packed: str) -> JsonObject:
        return {"metadata": packed, "fields": stored_json(packed)}

    def _put_source(self, source: Source) -> int:
        values = _source_values(source)
        excluded = ", ".join(f"{column} = excluded.{column}" for column in values)
        number = self._db.insert("sources", values, f"ON CONFLICT (machine, root, path) DO UPDATE SET {excluded}")
        assert number is not None
        return number

    def _update_source(self, source: Source, number: int, mtime_ns: int, loader: str) -> None:
        self._db.update("sources", number, _source_values(source))

    # ---- the whole

    def _put_recipe(self, recipe: JsonObject) -> None:
        shared, own = machine_recipes.divided(recipe)
        rows = [("recipe", to_json(shared)), (MACHINE + machine_recipes.name(), to_json(own))]
        sql = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        self._db.execute_many(sql, rows)

    def compact(self, progress: Callable[[Progress], None] = lambda _: None) -> None:
        """Let new rows have the room of deleted ones, and renew the statistics."""
        spaces = [vectors_table(space) for (space,) in self._db.rows("SELECT id FROM spaces ORDER BY id")]
        tables = [*_TABLES, *spaces]
        with self.connection.alone("vacuum") as run:
            for at, table in enumerate(tables):
                progress(Progress(at, len(tables), "steps", table))
                if run is not None:
                    run(f"VACUUM (ANALYZE) {table}")

    def continue_from(self, kind: Numbered, number: int) -> None:
        """The next document, passage, source or space gets this number, which is above all that were used."""
        sequences = {"documents": "'document_ids'", "passages": "'passage_ids'"}
        sequence = sequences.get(kind, f"pg_get_serial_sequence('{kind}', 'id')")
        with self.transaction():
            self.connection.changed(f"SELECT setval({sequence}, ?, false)", (number,))

    # ---- spaces and their vectors

    def _kind(self) -> JsonObject:
        return {"kind": kind_of_vectors(self.connection.pgvector)}

    def _make_vectors(self, space: int, dim: int) -> None:
        self._db.execute(
            f"""CREATE TABLE {vectors_table(space)} (
                passage bigint PRIMARY KEY REFERENCES passages(id) ON DELETE CASCADE ON UPDATE CASCADE,
                vector {kind_of_vectors(self.connection.pgvector)}({int(dim)}) NOT NULL)"""
        )
        self._db.execute("INSERT INTO counters VALUES (?, 0)", (f"vectors {space}",))

    def _measured(self, null_distribution: NullDistribution) -> JsonObject:
        return {"quantiles": list(null_distribution.numbers), "measured": null_distribution.passages}

    def _remove_vectors(self, space: int) -> None:
        self._db.execute("DELETE FROM counters WHERE name = ?", (f"vectors {int(space)}",))
        self._db.execute(f"DROP TABLE {vectors_table(space)}")

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        with self.transaction():
            self._db.hold(SPACES)
            here = SpaceVectors(self.connection, space)
            rows = check_storable(vectors, len(ids), here.dim, what="a passage")
            numbers = np.asarray(ids).tolist()
            sql = f"SELECT id FROM passages WHERE id {self._db.among} ORDER BY id FOR NO KEY UPDATE"
            there = [number for (number,) in self.connection.changed(sql, (numbers,))]
            at = {number: place for place, number in enumerate(numbers)}
            self._rows.put_vectors(here, there, rows[np.array([at[number] for number in there], dtype=np.int64)])

    def update_vector_index(self, space: int, backend: str, *, when: Rebuild = "due") -> None:
        """Raises UnknownName for a backend that does not exist, SemsearchError where the server cannot build it."""
        SpaceVectors(self.connection, space).update_index(backend, when)
        if when in ("due", "always"):
            number_indexes.keep_up(self.connection)


def _source_values(source: Source) -> JsonObject:
    if len(stored(source.root + source.path).encode("utf-8", "surrogatepass")) > LONGEST_KEY:
        raise SemsearchError(f"the path {source.path[:40]!r} … is longer than {LONGEST_KEY:,} bytes.", "Move the file.")
    return {"machine": machine_recipes.name(), **source_values(source), "bookmark": notes_value(source)}
