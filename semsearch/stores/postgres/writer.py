"""The PostgreSQL store, open for writing: each change is one transaction with texts, words, vectors and counters.

Many writers may have a collection open at once, on many machines. They wait for each other only where they write the
same documents or files, for the moment of a commit, and while one of them switches to another space. A document that
two write has the content of the one that committed last.

Each call locks rows in the order of their names, so that two calls never wait for each other. Two transactions of
several calls can, if they write the same documents in different orders: the server then ends one of them, which raises
Locked and has written nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Self

import numpy as np

from semsearch.errors import EncoderMismatch, Locked, NotFound, SemsearchError, Unreadable, UsageError
from semsearch.stores import machine_recipes
from semsearch.stores.entry_checks import checked
from semsearch.stores.postgres.escapes import restored, stored, stored_json, stored_or_none
from semsearch.stores.postgres.reader import PostgresReader
from semsearch.stores.postgres.rows import SPACES, RowWriter, document_row, excluded
from semsearch.stores.postgres.server.connection import Connection, Row
from semsearch.stores.postgres.server.schema import LONGEST_KEY, MACHINE, kind_of_vectors, vectors_table
from semsearch.stores.postgres.space_vectors import SpaceVectors
from semsearch.stores.records import (
    MOST_RUNS,
    UNFINISHED,
    Entry,
    Source,
    Space,
    check_document,
    meta_hash,
    stable_id,
    to_json,
)
from semsearch.types import Document, Progress
from semsearch.utils.vectors import check_storable

if TYPE_CHECKING:
    from semsearch.stores.copying import Numbered
    from semsearch.stores.protocol import Rebuild
    from semsearch.types import Ids, JsonObject, Metadata, Vectors

_TABLES = ("documents", "passages", "words", "furniture", "sources", "vocabulary", "counters", "meta", "runs", "spaces")
_SOURCE = "machine, root, path, mtime_ns, size, sha256, loader, bookmark"
_PUT_SOURCE = f"""INSERT INTO sources ({_SOURCE}) VALUES (%s{", %s" * 7}) ON CONFLICT (machine, root, path) DO UPDATE
    SET ({_SOURCE}) = ({excluded(_SOURCE)}) RETURNING id"""
_LOCK_FOREIGN_FILES = """SELECT id FROM sources WHERE id IN (SELECT source FROM documents WHERE uri = ANY(%s::text[]))
    AND machine <> %s ORDER BY id FOR UPDATE"""  # before their documents, as the writers of those files do
_FOREIGN_FILES_UNFINISHED = """UPDATE sources SET size = %s, bookmark = NULL
    WHERE id IN (SELECT source FROM documents WHERE id = ANY(%s::bigint[])) AND machine <> %s"""


class PostgresWriter:
    """A collection that is open for writing; others may write to it, too.

    Threads may share one: transactions take turns. The methods are described in `stores.protocol.StoreWriter`.
    """

    dry_run = False

    def __init__(self, connection: Connection) -> None:
        self.connection = self._db = connection
        self._rows = RowWriter(connection)
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

    # ---- documents and their sources

    def replace(self, entries: Sequence[Entry], space: int) -> None:
        """Of two entries with one id the last counts.

        Raises SemsearchError for passages or vectors that do not fit, and EncoderMismatch for another space than the
        current one, whose vectors nobody would search: another machine has switched.
        """
        with self._db.transaction():
            self._db.hold(SPACES)
            self._check_current(space)
            here = SpaceVectors(self._db, space)
            latest = {entry.document.id: _checked(entry, here.dim) for entry in entries}
            self._check_sources({entry.source for entry in latest.values() if entry.source is not None})
            numbers = iter(self._rows.reserved("document_ids", len(latest)))
            rows = {stored(uri): document_row(next(numbers), entry) for uri, entry in latest.items()}
            self._rows.remove(self._rows.own(sorted(rows)))
            self._rows.insert_documents(rows)
            self._rows.insert_passages({rows[stored(uri)][0]: entry for uri, entry in latest.items()}, here)
            self._db.add("documents", len(rows))

    def delete(self, uris: Iterable[str] = (), *, sources: Iterable[int] = ()) -> int:
        with self._db.transaction():
            self._db.hold(SPACES)
            return self._delete_documents(list(uris)) + self._delete_sources([int(one) for one in sources])

    def _delete_documents(self, uris: Sequence[str]) -> int:
        if wanted := sorted(stored(uri) for uri in uris):
            self._db.returned(_LOCK_FOREIGN_FILES, (wanted, stored(machine_recipes.name())))
            documents = self._rows.locked("uri = ANY(%s::text[])", wanted)
            self._db.execute(_FOREIGN_FILES_UNFINISHED, (UNFINISHED, documents, stored(machine_recipes.name())))
            return self._rows.remove(documents)
        return 0

    def _delete_sources(self, sources: Sequence[int]) -> int:
        if not sources:
            return 0
        sql = "SELECT id FROM sources WHERE id = ANY(%s::bigint[]) AND machine = %s ORDER BY id"
        own = [number for (number,) in self._db.rows(sql, (list(sources), stored(machine_recipes.name())))]
        removed = self._rows.remove(self._rows.locked("source = ANY(%s::bigint[])", own))
        self._db.execute("DELETE FROM sources WHERE id = ANY(%s::bigint[])", (own,))
        return removed

    def revise(
        self, uri: str, *, new_uri: str | None = None, metadata: Metadata | None = None, title: str | None = None
    ) -> None:
        with self._db.transaction():
            if metadata is not None:
                self._refresh(uri, metadata, title)
            if new_uri is not None:
                self._rename(uri, new_uri)

    def _rename(self, old_uri: str, new_uri: str) -> None:
        with self._db.transaction():
            pair = sorted([stored(old_uri), stored(new_uri)])
            sql = "SELECT uri, id FROM documents WHERE uri = ANY(%s::text[]) ORDER BY uri FOR UPDATE"
            known = {restored(uri): number for uri, number in self._db.returned(sql, (pair,))}
            if old_uri not in known:
                raise NotFound(f"index {self._db.name} has no document {old_uri!r}.")
            if old_uri == new_uri:
                return
            if new_uri in known:
                raise UsageError(f"index {self._db.name} already has a document {new_uri!r}.", "Delete it first.")
            _check_key(new_uri, stored(new_uri))
            self._db.execute("UPDATE documents SET uri = %s WHERE id = %s", (stored(new_uri), known[old_uri]))
            sql = "SELECT id, position, text FROM passages WHERE document = %s"
            parts = self._db.rows(sql, (known[old_uri],))
            rows = [(stable_id(new_uri, position, restored(text)), number) for number, position, text in parts]
            self._db.execute_many("UPDATE passages SET stable_id = %s::uuid WHERE id = %s", rows)

    def _refresh(self, uri: str, metadata: Metadata, title: str | None) -> None:
        check_document(Document(uri, "", metadata, title))
        written = to_json(dict(metadata))
        values = (written, stored_json(written), stored_or_none(title), meta_hash(title, metadata), stored(uri))
        sql = "UPDATE documents SET metadata = %s, fields = %s::jsonb, title = %s, meta_sha256 = %s WHERE uri = %s"
        with self._db.transaction():
            if not self._db.execute(sql, values):
                raise NotFound(f"index {self._db.name} has no document {uri!r}.")

    def put_sources(self, sources: Sequence[Source]) -> list[int]:
        with self._db.transaction():
            return [self._moved(one) if one.id else self._put(one) for one in sources]

    def _put(self, source: Source) -> int:
        return int(self._db.returned(_PUT_SOURCE, _source_row(source))[0][0])

    def _moved(self, source: Source) -> int:
        sql = "SELECT id FROM sources WHERE machine = %s AND root = %s AND path = %s"
        taken = self._db.rows(sql, (row := _source_row(source))[:3])
        if taken and taken[0][0] != source.id:
            raise UsageError(f"index {self._db.name} already has a file {source.path!r}.", "Drop it first.")
        sql = f"UPDATE sources SET ({_SOURCE}) = (%s{', %s' * 7}) WHERE id = %s AND machine = %s"
        if not self._db.execute(sql, (*row, source.id, row[0])):
            raise NotFound(f"index {self._db.name} has no source {source.id}.")
        return source.id

    def _check_current(self, space: int) -> None:
        """Raise EncoderMismatch unless this is the current space. A copy may have others, and nobody sees it yet."""
        current = self.reader.spaces()[:1]
        if current and current[0].id != space and not self._db.is_new:
            raise EncoderMismatch(
                f"index {self._db.name}",
                built_with=current[0].name,
                got="the one before",
                fix="Another machine has re-embedded it meanwhile: open it again.",
                command="Another machine has re-embedded it meanwhile: run this again.",
            )

    def _check_sources(self, wanted: set[int]) -> None:
        sql = "SELECT id FROM sources WHERE id = ANY(%s::bigint[]) ORDER BY id FOR KEY SHARE"
        found = {number for (number,) in self._db.returned(sql, (sorted(wanted),))}
        if missing := wanted - found:
            raise NotFound(f"index {self._db.name} has no source {min(missing)}.")

    # ---- the whole

    def change_recipe(self, made: Callable[[JsonObject], JsonObject]) -> JsonObject:
        with self.transaction():
            self._db.hold("recipe", alone=True)
            latest = self.reader.state().recipe
            recipe = made(dict(latest))
            if recipe != latest:
                shared, own = machine_recipes.divided(recipe)
                self._set("recipe", to_json(shared))
                self._set(MACHINE + stored(machine_recipes.name()), to_json(own))
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
            self._rows.put_vectors(here, there, rows[np.array([at[number] for number in there], dtype=np.int64)])

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
        SpaceVectors(self._db, space).update_index(backend, when)

    def compact(self, progress: Callable[[Progress], None] = lambda _: None) -> None:
        """Let new rows have the room of deleted ones, and renew the statistics."""
        spaces = [vectors_table(space) for (space,) in self._db.rows("SELECT id FROM spaces ORDER BY id")]
        tables = [*_TABLES, *spaces]
        with self._db.alone("vacuum") as run:
            for at, table in enumerate(tables):
                progress(Progress(at, len(tables), "steps", table))
                if run is not None:
                    run(f"VACUUM (ANALYZE) {table}")

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


def _checked(entry: Entry, dim: int) -> Entry:
    """The entry, if all of it can be stored. Raises Unreadable, SemsearchError."""
    found = checked(entry, dim)
    _check_key(entry.document.id, stored(entry.document.id))
    return found


def _check_key(name: str, written: str) -> None:
    """Raise Unreadable for a name that is too long for an index of PostgreSQL."""
    if len(written.encode()) > LONGEST_KEY:
        raise Unreadable(f"its id is longer than {LONGEST_KEY:,} bytes: {name[:40]!r}")


def _source_row(source: Source) -> Row:
    root, path = stored(source.root), stored(source.path)
    if len((root + path).encode("utf-8", "surrogatepass")) > LONGEST_KEY:
        raise SemsearchError(f"the path {source.path[:40]!r} … is longer than {LONGEST_KEY:,} bytes.", "Move the file.")
    notes = source.notes()
    return (
        stored(machine_recipes.name()),
        root,
        path,
        source.mtime_ns,
        source.size,
        source.sha256,
        stored(source.loader),
        None if notes is None else to_json(notes),
    )
