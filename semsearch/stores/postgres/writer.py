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
from dataclasses import asdict
from typing import TYPE_CHECKING, Self

import numpy as np

from semsearch.errors import EncoderMismatch, Locked, NotFound, SemsearchError, Unreadable, UsageError
from semsearch.stores import machine
from semsearch.stores.entries import checked, keywords
from semsearch.stores.postgres import maintenance
from semsearch.stores.postgres.escapes import restored, stored, stored_json, stored_or_none
from semsearch.stores.postgres.full_text import words
from semsearch.stores.postgres.reader import PostgresReader
from semsearch.stores.postgres.server.connection import Connection, Row
from semsearch.stores.postgres.server.schema import LONGEST_KEY, MACHINE, kind_of_vectors, vectors_table
from semsearch.stores.postgres.server.vector_types import packed
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
    text_hash,
    to_json,
)
from semsearch.types import Document, Progress
from semsearch.utils.vectors import check_storable

if TYPE_CHECKING:
    from semsearch.stores.copying import Numbered
    from semsearch.stores.protocol import Rebuild
    from semsearch.types import Ids, JsonObject, Metadata, Vectors
    from semsearch.utils.strength import NullDistribution


def _excluded(columns: str) -> str:
    """The values of a row that was not inserted because there is one already."""
    return ", ".join(f"excluded.{name}" for name in columns.split(", "))


SPACES = "spaces"  # held by all who write documents, and alone by the one who switches to another space or removes one
_DOCUMENT = "id, uri, source, sha256, meta_sha256, size, lines, title, metadata, fields, marks, body"
_PASSAGE = 'id, stable_id, document, position, start, "end", page, line, heading, text'
_SOURCE = "machine, root, path, mtime_ns, size, sha256, loader, bookmark"
_INSERT_DOCUMENTS = f"""INSERT INTO documents ({_DOCUMENT})
    SELECT {_DOCUMENT.replace("fields", "fields::jsonb")}
    FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::boolean[], %s::text[],
        %s::text[], %s::text[], %s::text[], %s::text[])
    given ({_DOCUMENT}) ORDER BY uri COLLATE "C" ON CONFLICT (uri) DO NOTHING RETURNING uri"""
_INSERT_PASSAGE = f"""INSERT INTO passages ({_PASSAGE}) VALUES (%s, %s::uuid{", %s" * 8})
    ON CONFLICT (stable_id) DO UPDATE SET ({_PASSAGE}) = ({_excluded(_PASSAGE)})"""
_INSERT_WORDS = """INSERT INTO words (passage, tokens, vector, characters, grams)
    VALUES (%s, %s, %s::tsvector, %s, %s::tsvector) ON CONFLICT (passage) DO UPDATE
    SET (tokens, vector, characters, grams) = (excluded.tokens, excluded.vector, excluded.characters, excluded.grams)"""
_PUT_SOURCE = f"""INSERT INTO sources ({_SOURCE}) VALUES (%s{", %s" * 7}) ON CONFLICT (machine, root, path) DO UPDATE
    SET ({_SOURCE}) = ({_excluded(_SOURCE)}) RETURNING id"""
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
        self.connection = connection
        self.reader = PostgresReader(connection)
        self._db = connection

    def close(self) -> None:
        """Close the connections. Every later call raises SemsearchError."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def transaction(self) -> AbstractContextManager[None]:
        return self._db.transaction()

    # ---- documents

    def replace(self, entries: Sequence[Entry], space: int) -> None:
        """Of two entries with one id the last counts.

        Raises SemsearchError for passages or vectors that do not fit, and EncoderMismatch for another space than the
        current one, whose vectors nobody would search: another machine has switched.
        """
        with self.transaction():
            self._db.hold(SPACES)
            self._check_current(space)
            here = SpaceVectors(self._db, space)
            latest = {entry.document.id: _checked(entry, here.dim) for entry in entries}
            self._check_sources({entry.source for entry in latest.values() if entry.source is not None})
            numbers = iter(self._reserved("document_ids", len(latest)))
            rows = {stored(uri): _document_row(next(numbers), entry) for uri, entry in latest.items()}
            self._remove(self._own(sorted(rows)))
            self._insert_documents(rows)
            self._insert_passages({rows[stored(uri)][0]: entry for uri, entry in latest.items()}, here)
            self._db.add("documents", len(rows))

    def delete(self, uris: Iterable[str]) -> int:
        wanted = sorted(stored(uri) for uri in uris)
        with self.transaction():
            self._db.hold(SPACES)
            self._db.returned(_LOCK_FOREIGN_FILES, (wanted, stored(machine.name())))
            documents = self._locked("uri = ANY(%s::text[])", wanted)
            self._db.execute(_FOREIGN_FILES_UNFINISHED, (UNFINISHED, documents, stored(machine.name())))
            return self._remove(documents)

    def rename(self, old_uri: str, new_uri: str) -> None:
        with self.transaction():
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

    def refresh(self, uri: str, metadata: Metadata, title: str | None) -> None:
        check_document(Document(uri, "", metadata, title))
        written = to_json(dict(metadata))
        values = (written, stored_json(written), stored_or_none(title), meta_hash(title, metadata), stored(uri))
        sql = "UPDATE documents SET metadata = %s, fields = %s::jsonb, title = %s, meta_sha256 = %s WHERE uri = %s"
        with self.transaction():
            if not self._db.execute(sql, values):
                raise NotFound(f"index {self._db.name} has no document {uri!r}.")

    # ---- sources

    def put_source(self, source: Source) -> int:
        with self.transaction():
            return int(self._db.returned(_PUT_SOURCE, _source_row(source))[0][0])

    def move_source(self, source_id: int, source: Source) -> None:
        with self.transaction():
            sql = "SELECT id FROM sources WHERE machine = %s AND root = %s AND path = %s"
            taken = self._db.rows(sql, _source_row(source)[:3])
            if taken and taken[0][0] != source_id:
                raise UsageError(f"index {self._db.name} already has a file {source.path!r}.", "Drop it first.")
            sql = f"UPDATE sources SET ({_SOURCE}) = (%s{', %s' * 7}) WHERE id = %s AND machine = %s"
            if not self._db.execute(sql, (*(row := _source_row(source)), source_id, row[0])):
                raise NotFound(f"index {self._db.name} has no source {source_id}.")

    def drop_sources(self, ids: Iterable[int]) -> int:
        with self.transaction():
            self._db.hold(SPACES)
            sql = "SELECT id FROM sources WHERE id = ANY(%s::bigint[]) AND machine = %s ORDER BY id"
            own = self._db.rows(sql, ([int(source) for source in ids], stored(machine.name())))
            wanted = [number for (number,) in own]
            removed = self._remove(self._locked("source = ANY(%s::bigint[])", wanted))
            self._db.execute("DELETE FROM sources WHERE id = ANY(%s::bigint[])", (wanted,))
            return removed

    @contextmanager
    def alone(self, purpose: str) -> Iterator[None]:
        with self._db.alone(purpose) as run:
            if run is None:
                raise Locked(f"index {self._db.name}: another machine is at {purpose}.", "Wait until it has finished.")
            yield

    # ---- the whole

    def latest_recipe(self) -> JsonObject:
        self._db.hold("recipe", alone=True)
        return self.reader.recipe()

    def set_recipe(self, recipe: Mapping[str, object]) -> None:
        shared, own = machine.divided(recipe)
        with self.transaction():
            self._set("recipe", to_json(shared))
            self._set(MACHINE + stored(machine.name()), to_json(own))

    def add_space(self, fingerprint: str, name: str, dim: int, info: Mapping[str, object]) -> Space:
        sql = """INSERT INTO spaces (fingerprint, name, dim, kind, info) VALUES (%s, %s, %s, %s, %s)
                 ON CONFLICT (fingerprint) DO NOTHING RETURNING id"""
        with self.transaction():
            kind = kind_of_vectors(self._db.pgvector)
            values = (stored(fingerprint), stored(name), dim, kind, to_json(dict(info)))
            for (number,) in self._db.returned(sql, values):
                self._db.execute(
                    f"""CREATE TABLE {vectors_table(number)} (
                        passage bigint PRIMARY KEY REFERENCES passages(id) ON DELETE CASCADE ON UPDATE CASCADE,
                        vector {kind}({int(dim)}) NOT NULL)"""
                )
                self._db.execute("INSERT INTO counters VALUES (%s, 0)", (f"vectors {number}",))
            return next(space for space in self.reader.spaces() if space.fingerprint == fingerprint)

    def use_space(self, space: int) -> None:
        """From here until the transaction ends, no other writer changes documents."""
        with self.transaction():
            self._db.hold(SPACES, alone=True)
            self._known_spaces(space)
            self._set("space", str(space))

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

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        with self.transaction():
            self._db.hold(SPACES)
            here = SpaceVectors(self._db, space)
            rows = check_storable(vectors, len(ids), here.dim, what="a passage")
            sql = "SELECT id FROM passages WHERE id = ANY(%s::bigint[]) ORDER BY id FOR NO KEY UPDATE"
            there = [number for (number,) in self._db.returned(sql, (np.asarray(ids).tolist(),))]
            at = {number: place for place, number in enumerate(np.asarray(ids).tolist())}
            self._put_vectors(here, there, rows[np.array([at[number] for number in there], dtype=np.int64)])

    def set_null_distribution(self, space: int, measured: NullDistribution) -> None:
        with self.transaction():
            sql = "UPDATE spaces SET quantiles = %s::double precision[], measured = %s WHERE id = %s"
            self._db.execute(sql, (list(measured.quantiles), measured.passages, space))

    def begin_run(self) -> None:
        with self.transaction():
            self._db.execute("INSERT INTO meta VALUES ('updating', '1') ON CONFLICT DO NOTHING")

    def add_run(self, report: Mapping[str, object]) -> None:
        """Record what a run of `index` did, and that it has ended. The last 100 runs stay.

        Of several writers that are at work at once, the first one to end says so for all.
        """
        with self.transaction():
            self._db.execute("DELETE FROM meta WHERE key = 'updating'")
            ((number,),) = self._db.returned(
                "INSERT INTO runs (report) VALUES (%s) RETURNING id", (to_json(dict(report)),)
            )
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

    # ---- rows

    def _set(self, key: str, value: str) -> None:
        with self.transaction():
            sql = "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            self._db.execute(sql, (key, value))

    def _locked(self, condition: str, *values: object) -> list[int]:
        """The numbers of some documents, locked until the transaction ends."""
        sql = f"SELECT id FROM documents WHERE {condition} ORDER BY uri FOR UPDATE"
        return [number for (number,) in self._db.returned(sql, values)]

    def _own(self, uris: Sequence[str]) -> list[int]:
        """The numbers of the documents with these ids, locked. Raises Unreadable for one of another machine's file."""
        numbers = self._locked("uri = ANY(%s::text[])", uris)
        sql = """SELECT d.uri, s.machine FROM documents d JOIN sources s ON s.id = d.source
                 WHERE d.id = ANY(%s::bigint[]) AND s.machine <> %s ORDER BY d.uri LIMIT 1"""
        for uri, other in self._db.rows(sql, (numbers, stored(machine.name()))):
            raise machine.foreign_document(restored(uri), restored(other))
        return numbers

    def _remove(self, documents: Sequence[int]) -> int:
        """Delete locked documents with passages, words, vectors and counters; nothing else deletes them."""
        if not documents:
            return 0
        sql = "SELECT id FROM passages WHERE document = ANY(%s::bigint[]) FOR UPDATE"
        passages = [number for (number,) in self._db.returned(sql, (list(documents),))]
        sql = """SELECT coalesce(sum(tokens), 0)::bigint, count(grams),
                 coalesce(sum(greatest(characters - 2, 0)) FILTER (WHERE grams IS NOT NULL), 0)::bigint
                 FROM words WHERE passage = ANY(%s::bigint[])"""
        ((tokens, cjk, trigrams),) = self._db.rows(sql, (passages,))
        for (space,) in self._db.rows("SELECT id FROM spaces ORDER BY id"):
            gone = f"DELETE FROM {vectors_table(space)} WHERE passage = ANY(%s::bigint[])"
            self._db.add(f"vectors {space}", -self._db.execute(gone, (passages,)))
        self._db.execute("DELETE FROM words WHERE passage = ANY(%s::bigint[])", (passages,))
        self._db.execute("DELETE FROM passages WHERE id = ANY(%s::bigint[])", (passages,))
        removed = self._db.execute("DELETE FROM documents WHERE id = ANY(%s::bigint[])", (list(documents),))
        self._count(-len(passages), -tokens, -cjk, -trigrams)
        self._db.add("documents", -removed)
        return removed

    def _count(self, passages: int, tokens: int, cjk: int, trigrams: int) -> None:
        changes = {"passages": passages, "tokens": tokens, "cjk": cjk, "trigrams": trigrams}
        for counter, change in changes.items():
            self._db.add(counter, change)

    def _insert_documents(self, rows: Mapping[str, Sequence[object]]) -> None:
        """Insert documents by uri. One that another writer has inserted meanwhile is replaced."""
        left = dict(rows)
        while left:
            columns = [list(column) for column in zip(*left.values(), strict=True)]
            for (uri,) in self._db.returned(_INSERT_DOCUMENTS, columns):
                del left[uri]
            self._remove(self._own(sorted(left)) if left else [])

    def _insert_passages(self, entries: Mapping[int, Entry], space: SpaceVectors) -> None:
        """Insert the passages of documents by their numbers, with all that belongs to them."""
        count = sum(len(entry.passages) for entry in entries.values())
        if not count:
            return
        ids = list(self._reserved("passage_ids", count))
        parts = [
            (document, entry, position)
            for document, entry in entries.items()
            for position in range(len(entry.passages))
        ]
        rows = [_passage_row(number, *part) for number, part in zip(ids, parts, strict=True)]
        self._db.execute_many(_INSERT_PASSAGE, rows)
        texts = [
            (number, entry.passages[position].text, keywords(entry.document, entry.passages[position]))
            for number, (_, entry, position) in zip(ids, parts, strict=True)
        ]
        self._insert_words(texts)
        self._put_vectors(space, ids, np.concatenate([entry.vectors for entry in entries.values()]))

    def _insert_words(self, texts: Sequence[tuple[int, str, str]]) -> None:
        found = words.of_passages(texts)
        self._db.execute_many(_INSERT_WORDS, [each[:5] for each in found])
        self._db.add_terms(set().union(*(each.terms for each in found)))
        with_cjk = [each.characters for each in found if each.grams is not None]
        trigrams = sum(max(0, characters - 2) for characters in with_cjk)
        self._count(len(found), sum(each.tokens for each in found), len(with_cjk), trigrams)

    def _put_vectors(self, space: SpaceVectors, ids: Sequence[int], vectors: Vectors) -> None:
        """Store vectors (n, d) of n passages that are there."""
        known = f"SELECT count(*) FROM {space.table} WHERE passage = ANY(%s::bigint[])"
        before = int(self._db.rows(known, (list(ids),))[0][0])
        sql = f"""INSERT INTO {space.table} (passage, vector) VALUES (%s, %s)
                  ON CONFLICT (passage) DO UPDATE SET vector = excluded.vector"""
        self._db.execute_many(sql, list(zip(ids, packed(vectors, space.kind), strict=True)))
        self._db.add(space.counter, len(ids) - before)

    def _reserved(self, sequence: str, count: int) -> range:
        """The next `count` numbers of a sequence, in a row: another writer waits for the moment that this takes."""
        if not count:
            return range(0)
        with self._db.latch(sequence):
            sql = "SELECT setval(%s::regclass, nextval(%s::regclass) + %s - 1)"
            last = int(self._db.returned(sql, (sequence, sequence, count))[0][0])
        return range(last - count + 1, last + 1)

    def _check_sources(self, wanted: set[int]) -> None:
        sql = "SELECT id FROM sources WHERE id = ANY(%s::bigint[]) ORDER BY id FOR KEY SHARE"
        found = {number for (number,) in self._db.returned(sql, (sorted(wanted),))}
        if missing := wanted - found:
            raise NotFound(f"index {self._db.name} has no source {min(missing)}.")


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
    if len(root.encode()) + len(path.encode()) > LONGEST_KEY:
        raise SemsearchError(f"the path {source.path[:40]!r} … is longer than {LONGEST_KEY:,} bytes.", "Move the file.")
    bookmark = None if source.bookmark is None else to_json(asdict(source.bookmark))
    return (
        stored(machine.name()),
        root,
        path,
        source.mtime_ns,
        source.size,
        source.sha256,
        stored(source.loader),
        bookmark,
    )


def _document_row(number: int, entry: Entry) -> Row:
    document = entry.document
    metadata = to_json(dict(document.metadata))
    return (
        number,
        stored(document.id),
        entry.source,
        text_hash(document.text),
        meta_hash(document.title, document.metadata),
        len(document.text.encode()),
        document.lines,
        stored_or_none(document.title),
        metadata,
        stored_json(metadata),
        to_json([[mark.start, mark.page, mark.heading] for mark in document.marks]),
        stored(document.text),
    )


def _passage_row(number: int, document: int, entry: Entry, position: int) -> Row:
    passage = entry.passages[position]
    return (
        number,
        stable_id(entry.document.id, position, passage.text),
        document,
        position,
        passage.start,
        passage.end,
        passage.page,
        passage.line,
        stored_or_none(passage.heading),
        stored(passage.text),
    )
