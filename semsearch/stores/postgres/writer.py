"""The PostgreSQL store, open for writing: each change is one transaction with texts, words, vectors and counters.

Many writers may have a collection open at once, on many machines. They wait for each other only where they write the
same documents or files, for the moment of a commit, and while one of them switches to another space. A document that
two write has the content of the one that committed last.

Each call locks rows in the order of their names, so that two calls never wait for each other. Two transactions of
several calls can, if they write the same documents in different orders: the server then ends one of them, which raises
Locked and has written nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Self

import numpy as np

from semsearch.errors import Locked, NotFound, UsageError
from semsearch.stores import machine
from semsearch.stores.postgres import maintenance
from semsearch.stores.postgres.escapes import stored
from semsearch.stores.postgres.reader import PostgresReader
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.postgres.server.schema import MACHINE, kind_of_vectors, vectors_table
from semsearch.stores.postgres.space_vectors import SpaceVectors
from semsearch.stores.postgres.writing.documents import DocumentWriter
from semsearch.stores.postgres.writing.rows import SPACES
from semsearch.stores.records import MOST_RUNS, Space, to_json
from semsearch.types import Progress
from semsearch.utils.vectors import check_storable

if TYPE_CHECKING:
    from semsearch.stores.copying import Numbered
    from semsearch.stores.protocol import Rebuild
    from semsearch.types import Ids, JsonObject, Vectors


class PostgresWriter(DocumentWriter):
    """A collection that is open for writing; others may write to it, too.

    Threads may share one: transactions take turns. The methods are described in `stores.protocol.StoreWriter`.
    """

    dry_run = False

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.connection = connection
        self.reader = PostgresReader(connection)

    def close(self) -> None:
        """Close the connections. Every later call raises SemsearchError."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def transaction(self) -> AbstractContextManager[None]:
        return self._db.transaction()

    @contextmanager
    def alone(self, purpose: str) -> Iterator[None]:
        with self._db.alone(purpose) as run:
            if run is None:
                raise Locked(f"index {self._db.name}: another machine is at {purpose}.", "Wait until it has finished.")
            yield

    # ---- the whole

    def change_recipe(self, made: Callable[[JsonObject], JsonObject]) -> JsonObject:
        with self.transaction():
            self._db.hold("recipe", alone=True)
            latest = self.reader.state().recipe
            recipe = made(dict(latest))
            if recipe != latest:
                shared, own = machine.divided(recipe)
                self._set("recipe", to_json(shared))
                self._set(MACHINE + stored(machine.name()), to_json(own))
            return recipe

    def put_space(self, space: Space, *, current: bool = False) -> Space:
        with self.transaction():
            number = space.id or self._added(space)
            if current:
                self._db.hold(SPACES, alone=True)  # no other writer changes documents from here on
            self._known_spaces(number)
            if current:
                self._set("space", str(number))
            if (measured := space.null_distribution) is not None:
                sql = "UPDATE spaces SET quantiles = %s::double precision[], measured = %s WHERE id = %s"
                self._db.execute(sql, (list(measured.quantiles), measured.passages, number))
            return next(one for one in self.reader.spaces() if one.id == number)

    def _added(self, space: Space) -> int:
        """The id of the space with this fingerprint; of a new one where there is none."""
        sql = """INSERT INTO spaces (fingerprint, name, dim, kind, info) VALUES (%s, %s, %s, %s, %s)
                 ON CONFLICT (fingerprint) DO NOTHING RETURNING id"""
        kind = kind_of_vectors(self._db.pgvector)
        values = (stored(space.fingerprint), stored(space.name), space.dim, kind, to_json(space.info))
        for (number,) in self._db.returned(sql, values):
            self._db.execute(
                f"""CREATE TABLE {vectors_table(number)} (
                    passage bigint PRIMARY KEY REFERENCES passages(id) ON DELETE CASCADE ON UPDATE CASCADE,
                    vector {kind}({int(space.dim)}) NOT NULL)"""
            )
            self._db.execute("INSERT INTO counters VALUES (%s, 0)", (f"vectors {number}",))
        return next(one.id for one in self.reader.spaces() if one.fingerprint == space.fingerprint)

    def drop_space(self, space: int) -> None:
        with self.transaction():
            self._db.hold(SPACES, alone=True)
            if self._known_spaces(space)[0] == space:
                raise UsageError(f"space {space} of index {self._db.name} is in use.", "Use another one first.")
            self._db.execute("DELETE FROM spaces WHERE id = %s", (space,))
            self._db.execute("DELETE FROM counters WHERE name = %s", (f"vectors {int(space)}",))
            self._db.execute(f"DROP TABLE {vectors_table(space)}")

    def _known_spaces(self, space: int) -> list[int]:
        """The ids of all spaces, the current one first. Raises NotFound unless `space` is among them."""
        known = [each.id for each in self.reader.spaces()]
        if space not in known:
            raise NotFound(f"index {self._db.name} has no space {space}.")
        return known

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        with self.transaction():
            self._db.hold(SPACES)
            here = SpaceVectors(self._db, space)
            rows = check_storable(vectors, len(ids), here.dim, what="a passage")
            sql = "SELECT id FROM passages WHERE id = ANY(%s::bigint[]) ORDER BY id FOR NO KEY UPDATE"
            there = [number for (number,) in self._db.returned(sql, (np.asarray(ids).tolist(),))]
            at = {number: place for place, number in enumerate(np.asarray(ids).tolist())}
            self._put_vectors(here, there, rows[np.array([at[number] for number in there], dtype=np.int64)])

    def record_run(self, report: Mapping[str, object] | None) -> None:
        """Of several writers that are at work at once, the first one to end says so for all."""
        with self.transaction():
            if report is None:
                self._db.execute("INSERT INTO meta VALUES ('updating', '1') ON CONFLICT DO NOTHING")
                return
            self._db.execute("DELETE FROM meta WHERE key = 'updating'")
            sql = "INSERT INTO runs (report) VALUES (%s) RETURNING id"
            ((number,),) = self._db.returned(sql, (to_json(dict(report)),))
            sql = "DELETE FROM runs WHERE id NOT IN (SELECT id FROM runs ORDER BY id DESC LIMIT %s) AND id < %s"
            self._db.execute(sql, (MOST_RUNS, number))

    def update_vector_index(self, space: int, backend: str, *, when: Rebuild = "due") -> None:
        """Raises UnknownName for a backend that does not exist, SemsearchError where the server cannot build it."""
        maintenance.update_vector_index(self._db, SpaceVectors(self._db, space), backend, when)

    def compact(self, progress: Callable[[Progress], None] = lambda _: None) -> None:
        maintenance.compact(self._db, progress)

    def continue_from(self, kind: Numbered, number: int) -> None:
        """The next document, passage, source or space gets this number, which is above all that were used."""
        sequences = {"documents": "'document_ids'", "passages": "'passage_ids'"}
        sequence = sequences.get(kind, f"pg_get_serial_sequence('{kind}', 'id')")
        with self.transaction():
            self._db.returned(f"SELECT setval({sequence}, %s, false)", (number,))

    def _set(self, key: str, value: str) -> None:
        with self.transaction():
            sql = "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            self._db.execute(sql, (key, value))
