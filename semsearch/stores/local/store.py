"""The one source of truth: texts, vectors and all that is known about them, in one SQLite file.

Every change is one `BEGIN IMMEDIATE … COMMIT` that holds texts, vectors, checksums, full-text rows and
counters together; a method that returns outside `transaction()` has its work on disk. Passage ids are never
used twice, also not by a document that is replaced: a cache that is behind can miss a passage, but it cannot
name one whose text has changed since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.stores.local import schema, sqlite
from semsearch.stores.local.connection import DATABASE, Connected
from semsearch.stores.local.writer import Writer
from semsearch.stores.records import (
    CacheRow,
    Entry,
    Head,
    Source,
    Space,
    StoredPassage,
    check_document,
    identity,
    meta_hash,
    text_hash,
    to_json,
)
from semsearch.types import Document
from semsearch.utils.atomic_write import sync_file, sync_folder
from semsearch.utils.vectors import check
from semsearch.utils.writer_lock import LOCK, PID, WriterLock

if TYPE_CHECKING:
    from semsearch.types import Ids, Metadata, Passage, Vectors

__all__ = [
    "CacheRow",
    "Entry",
    "Head",
    "Source",
    "Space",
    "Store",
    "StoredPassage",
    "check_document",
    "meta_hash",
    "text_hash",
]

RUNS_KEPT = 100
BEING_MADE = "store.new"  # becomes store.db by a rename when it is whole; alone it is no index
_THESE = "IN (SELECT value FROM json_each(?))"


class Store(Writer):
    """A store in a folder. `create()` and `open(write=True)` hold the writer's lock until `close()`.

    Threads may share one Store: transactions and snapshots take turns.
    """

    @classmethod
    def create(cls, folder: Path, fill: Callable[[Store], None] | None = None) -> Store:
        """A new store in `folder`, open for writing. Raises UsageError where something is already.

        It is empty but for what `fill` writes. A kill at any moment, or an error in `fill`, leaves a store that has
        all of that, or a folder in which one can be created.
        """
        with _file_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            _refuse_content(folder)
            lock = WriterLock(folder)
            try:
                _refuse_content(folder)  # another process may have been faster
                _make(folder / BEING_MADE, folder)
                if fill is not None:
                    _fill(cls(folder, lock, BEING_MADE), fill)
                (folder / BEING_MADE).rename(folder / DATABASE)
                sync_folder(folder)
                sync_folder(folder.parent)
                return cls(folder, lock)
            except BaseException:
                lock.release()
                raise

    @classmethod
    def open(cls, folder: Path, *, write: bool = False) -> Store:
        """The store in `folder`. Raises NotFound, Corrupt, SemsearchError (newer schema), and to write Locked."""
        if not (folder / DATABASE).is_file():
            raise NotFound(f"{folder} is not an index.", f"Make one: semsearch index FILES -n {folder.name}")
        if not write:
            return cls(folder, None)
        lock = WriterLock(folder)
        try:
            return cls(folder, lock)
        except BaseException:
            lock.release()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- documents

    def replace(self, entries: Sequence[Entry], space: int) -> None:
        """Store these documents with their passages and vectors, each in place of what its id held before.

        Of two entries with one id the last counts. Raises Unreadable for a document that cannot be kept exactly,
        SemsearchError for passages or vectors that do not fit; nothing of the call is written then.
        """
        dim = self._dim(space)
        latest = {entry.document.id: _checked(entry, dim) for entry in entries}
        with self.transaction():
            self._remove([head.id for head in self.heads(latest).values()])
            self._insert(list(latest.values()), space)

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        """Give existing passages their vectors (n, dim) in another space. Raises SemsearchError for unknown ids.

        Caches that reach beyond the first of them are dropped: they would be taken to hold these vectors.
        """
        rows = check(vectors, dim=self._dim(space), what="put_vectors")
        wanted = [int(passage) for passage in ids]
        with self.transaction():
            if len(wanted) != len(rows) or not self.alive(wanted).all():
                raise SemsearchError(f"{len(rows)} vectors were given for {len(wanted)} passages, or some are gone.")
            sql = f"DELETE FROM vectors WHERE space = ? AND passage {_THESE}"
            had = self._execute(sql, (space, json.dumps(wanted)))
            self._insert_vectors(space, wanted, rows)
            self._count_vectors(space, len(rows) - had)
            if wanted:
                self._execute("DELETE FROM caches WHERE space = ? AND highest_id >= ?", (space, min(wanted)))

    def delete(self, uris: Iterable[str]) -> int:
        """Delete these documents; how many there were."""
        with self.transaction():
            return self._remove([head.id for head in self.heads(uris).values()])

    def rename(self, old_uri: str, new_uri: str) -> None:
        """Give a document another id; passages and vectors stay. Raises NotFound, and UsageError if it is taken."""
        with self.transaction():
            heads = self.heads([old_uri, new_uri])
            if old_uri not in heads:
                raise NotFound(f"{self.folder} has no document {old_uri!r}.")
            if old_uri == new_uri:
                return
            if new_uri in heads:
                raise UsageError(f"{self.folder} already has a document {new_uri!r}.", "Delete it first.")
            document = heads[old_uri].id
            self._execute("UPDATE documents SET uri = ? WHERE id = ?", (new_uri, document))
            rows = self._all("SELECT position, text, id FROM passages WHERE document = ?", (document,))
            self._connection.executemany(
                "UPDATE passages SET identity = ? WHERE id = ?",
                [(identity(new_uri, position, text), passage) for position, text, passage in rows],
            )

    def refresh(self, uri: str, metadata: Metadata, title: str | None) -> None:
        """New metadata and title under an unchanged text. Raises NotFound, Unreadable."""
        check_document(Document(uri, "", metadata, title))
        packed = to_json(dict(metadata))
        sql = "UPDATE documents SET metadata = ?, title = ?, meta_sha256 = ? WHERE uri = ?"
        with self.transaction():
            if not self._execute(sql, (packed, title, meta_hash(title, metadata), uri)):
                raise NotFound(f"{self.folder} has no document {uri!r}.")

    # ---- sources

    def put_source(self, source: Source) -> int:
        """Remember a file, or its new state; its id, which stays the same for the same (root, path)."""
        sql = """INSERT INTO sources (root, path, mtime_ns, size, sha256, loader) VALUES (?, ?, ?, ?, ?, ?)
                 ON CONFLICT (root, path) DO UPDATE SET mtime_ns = excluded.mtime_ns, size = excluded.size,
                 sha256 = excluded.sha256, loader = excluded.loader RETURNING id"""
        with self.transaction():
            ((known,),) = self._all(sql, _columns(source))
            self._tell_documents(known, source)
            return int(known)

    def move_source(self, known: int, source: Source) -> None:
        """A file has moved: the same documents, another place. Raises NotFound, UsageError if the place is taken."""
        sql = "UPDATE sources SET root = ?, path = ?, mtime_ns = ?, size = ?, sha256 = ?, loader = ? WHERE id = ?"
        with self.transaction():
            taken = self._all("SELECT id FROM sources WHERE root = ? AND path = ?", (source.root, source.path))
            if taken and taken[0][0] != known:
                raise UsageError(f"{self.folder} already knows a file {source.path!r}.", "Drop it first.")
            if not self._execute(sql, (*_columns(source), known)):
                raise NotFound(f"{self.folder} knows no source {known}.")
            self._tell_documents(known, source)

    def drop_sources(self, ids: Iterable[int]) -> int:
        """Forget files and delete the documents that came from them; how many documents there were."""
        wanted = json.dumps([int(source) for source in ids])
        with self.transaction():
            sql = f"SELECT id FROM documents WHERE source {_THESE}"
            removed = self._remove([document for (document,) in self._all(sql, (wanted,))])
            self._execute(f"DELETE FROM sources WHERE id {_THESE}", (wanted,))
            return removed

    # ---- the rest

    def set_recipe(self, recipe: Mapping[str, Any]) -> None:
        """Remember how this index is made, in place of what was remembered before."""
        rows = [(key, to_json(value)) for key, value in recipe.items()]
        with self.transaction():
            self._execute("DELETE FROM recipe")
            self._connection.executemany("INSERT INTO recipe VALUES (?, ?)", rows)

    def add_space(self, fingerprint: str, name: str, dim: int, info: Mapping[str, Any]) -> Space:
        """The space of an encoder; a new one where its fingerprint is unknown."""
        sql = "INSERT INTO spaces (fingerprint, name, dim, info) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        with self.transaction():
            self._execute(sql, (fingerprint, name, dim, to_json(dict(info))))
            return next(space for space in self.spaces() if space.fingerprint == fingerprint)

    def set_background(self, space: int, quantiles: Sequence[float], count: int) -> None:
        """Remember the background distribution of a space, measured when it held `count` vectors."""
        packed = np.asarray(quantiles, dtype="<f8").tobytes()
        with self.transaction():
            self._execute("UPDATE spaces SET background = ?, background_count = ? WHERE id = ?", (packed, count, space))

    def add_cache(self, row: CacheRow) -> CacheRow:
        """Announce a finished cache file. Its commit is the switch. `row.id` is ignored."""
        sql = """INSERT INTO caches (space, file, bytes, sha256, highest_id, count, spec, faiss_version, why)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
        values = (row.space, row.file, row.bytes, row.sha256, row.highest_id, row.count, row.spec, row.faiss_version)
        with self.transaction():
            self._execute(sql, (*values, row.why))
            return self.caches(row.space)[0]

    def drop_cache(self, cache: int) -> None:
        """Forget a cache; its file is the caller's."""
        with self.transaction():
            self._execute("DELETE FROM caches WHERE id = ?", (cache,))

    def add_run(self, report: Mapping[str, Any]) -> None:
        """Remember what a run of `index` did. The last 100 are kept."""
        with self.transaction():
            self._execute("INSERT INTO runs (report) VALUES (?)", (to_json(dict(report)),))
            self._execute("DELETE FROM runs WHERE id <= (SELECT max(id) FROM runs) - ?", (RUNS_KEPT,))

    def compact(self) -> None:
        """Give back the room of what was deleted. Needs as much room again for a moment."""
        from sqlite_utils import Database  # 0.2 s to import, and only maintenance needs it

        with self.transaction():
            for table in ("passages_fts", "passages_cjk"):
                self._execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        with self._lock, sqlite.translated(self.folder):
            Database(self._connection).vacuum()
            self._connection.execute("PRAGMA busy_timeout=0")  # a reader at work is no reason to wait: close() does it
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._connection.execute(f"PRAGMA busy_timeout={sqlite.BUSY_MS}")

    # ---- inside

    def _tell_documents(self, source_id: int, source: Source) -> None:
        """Filters on date and loader read these columns."""
        sql = "UPDATE documents SET mtime = ?, loader = ? WHERE source = ?"
        self._execute(sql, (source.mtime_ns, source.loader, source_id))


def _checked(entry: Entry, dim: int) -> Entry:
    """The entry, if all of it can be stored. Raises Unreadable, SemsearchError."""
    check_document(entry.document)
    rows = check(entry.vectors, dim=dim, what=entry.document.id)
    if len(rows) != len(entry.passages):
        raise SemsearchError(f"{entry.document.id}: {len(rows)} vectors for {len(entry.passages)} passages.")
    for passage in entry.passages:
        if not _is_slice(passage, entry.document.text):
            raise SemsearchError(f"{entry.document.id}: the passage at {passage.start} is not a slice of its document.")
    return replace(entry, vectors=rows)


def _is_slice(passage: Passage, text: str) -> bool:
    whole = passage.start >= 0 and passage.end - passage.start == len(passage.text)
    return whole and text[passage.start : passage.end] == passage.text


def _columns(source: Source) -> tuple[str, str, int, int, str, str]:
    return source.root, source.path, source.mtime_ns, source.size, source.sha256, source.loader


def _make(file: Path, folder: Path) -> None:
    """A new, empty store in the file `file` of `folder`, on disk when this returns."""
    for left in folder.glob(f"{file.name}*"):  # of one that was killed
        left.unlink()
    connection = sqlite.connect(file, "rwc")
    try:
        schema.create(connection)
    finally:
        connection.close()
    sync_file(file)


def _fill(made: Store, fill: Callable[[Store], None]) -> None:
    """Let `fill` write, and fold the log into the file; the writer's lock is kept."""
    try:
        fill(made)
    finally:
        Connected.close(made)
    sync_file(made.folder / BEING_MADE)


def _refuse_content(folder: Path) -> None:
    if (folder / DATABASE).exists():
        raise UsageError(f"{folder} already holds an index.", "Open it, or choose another name.")
    ours = {LOCK, PID}
    for item in sorted(folder.iterdir()):
        if item.name not in ours and not item.name.startswith(BEING_MADE):
            raise UsageError(f"{folder} holds something else ({item.name}).", "Choose an empty or a new folder.")


@contextmanager
def _file_errors(folder: Path) -> Iterator[None]:
    with sqlite.translated(folder):
        try:
            yield
        except (FileExistsError, NotADirectoryError) as error:
            raise UsageError(f"{folder} cannot be a folder: a file is in its place.", "Choose another.") from error
        except OSError as error:
            reason = f"{folder} cannot be made: {error.strerror}."
            raise SemsearchError(reason, "Choose another home: --home DIR.") from error
