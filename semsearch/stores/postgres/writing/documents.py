"""Documents of a PostgreSQL store and the files that they are from, written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from semsearch.errors import EncoderMismatch, NotFound, SemsearchError, Unreadable, UsageError
from semsearch.stores import machine
from semsearch.stores.entries import checked
from semsearch.stores.postgres.escapes import restored, stored, stored_json, stored_or_none
from semsearch.stores.postgres.reader import PostgresReader
from semsearch.stores.postgres.server.connection import Row
from semsearch.stores.postgres.server.schema import LONGEST_KEY
from semsearch.stores.postgres.space_vectors import SpaceVectors
from semsearch.stores.postgres.writing.rows import SPACES, RowWriter, document_row, excluded
from semsearch.stores.records import UNFINISHED, Entry, Source, check_document, meta_hash, stable_id, to_json
from semsearch.types import Document

if TYPE_CHECKING:
    from semsearch.types import Metadata


_SOURCE = "machine, root, path, mtime_ns, size, sha256, loader, bookmark"
_PUT_SOURCE = f"""INSERT INTO sources ({_SOURCE}) VALUES (%s{", %s" * 7}) ON CONFLICT (machine, root, path) DO UPDATE
    SET ({_SOURCE}) = ({excluded(_SOURCE)}) RETURNING id"""
_LOCK_FOREIGN_FILES = """SELECT id FROM sources WHERE id IN (SELECT source FROM documents WHERE uri = ANY(%s::text[]))
    AND machine <> %s ORDER BY id FOR UPDATE"""  # before their documents, as the writers of those files do
_FOREIGN_FILES_UNFINISHED = """UPDATE sources SET size = %s, bookmark = NULL
    WHERE id IN (SELECT source FROM documents WHERE id = ANY(%s::bigint[])) AND machine <> %s"""


class DocumentWriter(RowWriter):
    """The methods of a `PostgresWriter` for documents and their sources."""

    reader: PostgresReader

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
            numbers = iter(self._reserved("document_ids", len(latest)))
            rows = {stored(uri): document_row(next(numbers), entry) for uri, entry in latest.items()}
            self._remove(self._own(sorted(rows)))
            self._insert_documents(rows)
            self._insert_passages({rows[stored(uri)][0]: entry for uri, entry in latest.items()}, here)
            self._db.add("documents", len(rows))

    def delete(self, uris: Iterable[str] = (), *, sources: Iterable[int] = ()) -> int:
        with self._db.transaction():
            self._db.hold(SPACES)
            return self._delete_documents(list(uris)) + self._delete_sources([int(one) for one in sources])

    def _delete_documents(self, uris: Sequence[str]) -> int:
        if wanted := sorted(stored(uri) for uri in uris):
            self._db.returned(_LOCK_FOREIGN_FILES, (wanted, stored(machine.name())))
            documents = self._locked("uri = ANY(%s::text[])", wanted)
            self._db.execute(_FOREIGN_FILES_UNFINISHED, (UNFINISHED, documents, stored(machine.name())))
            return self._remove(documents)
        return 0

    def _delete_sources(self, sources: Sequence[int]) -> int:
        if not sources:
            return 0
        sql = "SELECT id FROM sources WHERE id = ANY(%s::bigint[]) AND machine = %s ORDER BY id"
        own = [number for (number,) in self._db.rows(sql, (list(sources), stored(machine.name())))]
        removed = self._remove(self._locked("source = ANY(%s::bigint[])", own))
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
