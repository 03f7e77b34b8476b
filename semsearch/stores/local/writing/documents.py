"""Documents of a local store and the files that they are from, written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from semsearch.errors import NotFound, UsageError
from semsearch.stores.entry_checks import checked
from semsearch.stores.local.reading.documents import NOTES
from semsearch.stores.local.vectors.space_vectors import SpaceVectors
from semsearch.stores.local.writing.rows import SOURCE_COLUMNS, THESE, RowWriter
from semsearch.stores.records import Entry, Source, check_document, meta_hash, to_json
from semsearch.types import Document

if TYPE_CHECKING:
    from semsearch.types import Metadata


class DocumentWriter(RowWriter):
    """The methods of a `LocalWriter` for documents and their sources."""

    def replace(self, entries: Sequence[Entry], space: int) -> None:
        """Of two entries with one id the last counts. Raises SemsearchError for passages or vectors that do not fit."""
        dim = SpaceVectors(self._db, space).dim
        latest = {entry.document.id: checked(entry, dim) for entry in entries}
        with self._db.transaction():
            self._remove(self._db.document_ids(latest))
            self._insert(list(latest.values()), space)

    def delete(self, uris: Iterable[str] = (), *, sources: Iterable[int] = ()) -> int:
        wanted = json.dumps([int(source) for source in sources])
        with self._db.transaction():
            sql = f"SELECT id FROM documents WHERE source {THESE}"
            of_sources = [document for (document,) in self._db.rows(sql, (wanted,))]
            removed = self._remove([*self._db.document_ids(list(uris)), *of_sources])
            self._db.execute(f"DELETE FROM sources WHERE id {THESE}", (wanted,))
            sql = f"DELETE FROM meta WHERE key IN (SELECT '{NOTES}' || value FROM json_each(?))"
            self._db.execute(sql, (wanted,))
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
            known = dict(self._db.rows("SELECT uri, id FROM documents WHERE uri IN (?, ?)", (old_uri, new_uri)))
            if old_uri not in known:
                raise NotFound(f"{self._db.folder} has no document {old_uri!r}.")
            if old_uri == new_uri:
                return
            if new_uri in known:
                raise UsageError(f"{self._db.folder} already has a document {new_uri!r}.", "Delete it first.")
            self._db.execute("UPDATE documents SET uri = ? WHERE id = ?", (new_uri, known[old_uri]))
            self._db.renew_checksum("documents", "id = ?", known[old_uri])
            self._db.execute("UPDATE passages SET identity = '' WHERE document = ?", (known[old_uri],))

    def _refresh(self, uri: str, metadata: Metadata, title: str | None) -> None:
        check_document(Document(uri, "", metadata, title))
        packed = to_json(dict(metadata))
        sql = "UPDATE documents SET metadata = ?, title = ?, meta_sha256 = ? WHERE uri = ?"
        with self._db.transaction():
            if not self._db.execute(sql, (packed, title, meta_hash(title, metadata), uri)):
                raise NotFound(f"{self._db.folder} has no document {uri!r}.")
            self._db.renew_checksum("documents", "uri = ?", uri)

    def _put_source(self, source: Source) -> int:
        if source.id:
            return self._move_source(source)
        with self._db.transaction():
            sql = "SELECT id, mtime_ns, loader FROM sources WHERE root = ? AND path = ?"
            for known, *recorded in self._db.rows(sql, (source.root, source.path)):
                self._update_source(known, source, recorded)
                return int(known)
            self._db.execute(f"INSERT INTO sources ({SOURCE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", _source_row(source))
            self._put_notes(known := self._next_id("sources") - 1, source)
            return known

    def put_sources(self, sources: Sequence[Source]) -> list[int]:
        with self._db.transaction():
            return [self._put_source(source) for source in sources]

    def _move_source(self, source: Source) -> int:
        taken = self._db.rows("SELECT id FROM sources WHERE root = ? AND path = ?", source.key)
        if taken and taken[0][0] != source.id:
            raise UsageError(f"{self._db.folder} already has a file {source.path!r}.", "Drop it first.")
        known = self._db.rows("SELECT mtime_ns, loader FROM sources WHERE id = ?", (source.id,))
        if not known:
            raise NotFound(f"{self._db.folder} has no source {source.id}.")
        self._update_source(source.id, source, known[0])
        return source.id

    def _update_source(self, source_id: int, source: Source, recorded: Sequence[object]) -> None:
        """Record the new state of a file. `recorded`: time and loader until now.

        Its documents have copies of both, for filters. They are updated only on a change: a file of a million records
        is recorded again with each batch.
        """
        sql = f"UPDATE sources SET ({SOURCE_COLUMNS}) = (?, ?, ?, ?, ?, ?) WHERE id = ?"
        self._db.execute(sql, (*_source_row(source), source_id))
        self._put_notes(source_id, source)
        if [source.mtime_ns, source.loader] != list(recorded):
            sql = "UPDATE documents SET mtime = ?, loader = ? WHERE source = ?"
            self._db.execute(sql, (source.mtime_ns, source.loader, source_id))

    def _put_notes(self, source_id: int, source: Source) -> None:
        key, notes = f"{NOTES}{source_id}", source.notes()
        if notes is None:
            self._db.execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, to_json(notes)))
        self._db.renew_checksum("sources", "id = ?", source_id)  # it covers the notes


def _source_row(source: Source) -> tuple[object, ...]:
    return source.root, source.path, source.mtime_ns, source.size, source.sha256, source.loader
