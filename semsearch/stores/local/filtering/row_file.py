"""Documents and the places of their passages in a file of SQLite that is written once, for a store without SQL.

Filters, facets and lists of documents mean in it what they mean in a local store. Texts are not in it.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import quote

import numpy as np

from semsearch.errors import Corrupt, SemsearchError
from semsearch.stores.local import facets
from semsearch.stores.local.filtering import filter_sql
from semsearch.types import Facet, JsonObject
from semsearch.utils.globs import matches
from semsearch.utils.vectors import LARGEST_ID

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.types import Ids

_TABLES = """
    CREATE TABLE sources (id INTEGER PRIMARY KEY, root TEXT, path TEXT);
    CREATE TABLE documents (id INTEGER PRIMARY KEY, uri TEXT UNIQUE, source INTEGER, mtime INTEGER, size INTEGER,
        loader TEXT, title TEXT, metadata TEXT);
    CREATE TABLE passages (id INTEGER PRIMARY KEY, document INTEGER, page INTEGER, heading TEXT);
"""
_LISTING = """SELECT d.uri, d.title, d.metadata, (SELECT count(*) FROM passages p WHERE p.document = d.id)
              FROM documents d"""
REPAIR = "Build it again: semsearch index --store shards:DIR"


class PassageRow(NamedTuple):
    """A passage as a shard has it: its id, document, title, metadata (JSON), page and heading."""

    id: int
    document: str
    title: str | None
    metadata: str
    page: int | None
    heading: str | None


class RowFileWriter:
    """Writes a new file, shard by shard."""

    def __init__(self, file: Path) -> None:
        self._file = sqlite3.connect(file, isolation_level=None)
        self._file.execute("PRAGMA journal_mode = OFF")  # after a kill it is begun anew
        self._file.execute("PRAGMA synchronous = OFF")
        self._file.executescript(_TABLES)
        self._file.execute("BEGIN")
        self._own: dict[str, int] = {}
        self.documents = self.passages = 0

    def begin_shard(self) -> None:
        """What comes now is of another shard: a document that is there already is another of the same id."""
        self._own = {}

    def put(self, row: PassageRow) -> bool:
        """Add a passage; False where its document is in an earlier shard, so that the passage is left out."""
        number = self._own.get(row.document)
        if number is None:
            number = self._document(row)
            if number is None:
                return False
        self._file.execute("INSERT INTO passages VALUES (?, ?, ?, ?)", (row.id, number, row.page, row.heading))
        self.passages += 1
        return True

    def close(self) -> None:
        """Complete the file."""
        self._file.execute("CREATE INDEX passages_document ON passages (document)")
        self._file.execute("COMMIT")
        self._file.close()

    def _document(self, row: PassageRow) -> int | None:
        added = self._file.execute(
            "INSERT OR IGNORE INTO documents (uri, title, metadata) VALUES (?, ?, ?)",
            (row.document, row.title, row.metadata),
        )
        if not added.rowcount:
            return None
        self.documents += 1
        self._own[row.document] = number = int(added.lastrowid or 0)
        return number


class RowFile:
    """Such a file, open for reading. Threads may share it. Raises Corrupt."""

    def __init__(self, file: Path) -> None:
        self._turn, self._file = threading.RLock(), file
        try:
            # immutable: nobody changes it, so no lock is taken, which disks that machines share may not have
            uri = f"file:{quote(str(file.absolute()))}?mode=ro&immutable=1"
            self._rows = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
            self._rows.execute("SELECT 1 FROM documents LIMIT 1")
        except sqlite3.Error as error:
            raise Corrupt(f"{file} cannot be read: {error}.", REPAIR) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Every later call raises SemsearchError."""
        with self._turn:
            self._rows.close()

    def passing(self, tree: Filter) -> Ids:
        """Ids, ascending, of the passages that pass a filter. Raises UnknownName for a key that no document has."""
        with self._reading() as rows:
            return filter_sql.allowed(rows, tree)

    def documents_passing(self, tree: Filter | None, after: str, limit: int) -> list[str]:
        """Ids, sorted, of the documents that pass a filter: the first ones above `after`."""
        with self._reading() as rows:
            if tree is not None:
                return filter_sql.allowed_documents(rows, tree, after, limit)
            found = rows.execute("SELECT uri FROM documents WHERE uri > ? ORDER BY uri LIMIT ?", (after, limit))
            return [uri for (uri,) in found]

    def listing(self, path: str | None, ids: Sequence[str] | None, limit: int, offset: int) -> list[JsonObject]:
        """As `StoreReader.documents`, with what is known."""
        where, values = "", list[object]()
        if ids is not None:
            where, values = "WHERE d.uri IN (SELECT value FROM json_each(?))", [json.dumps(list(ids))]
        with self._reading() as rows:
            every = rows.execute(f"{_LISTING} {where} ORDER BY d.uri", values)
            found = (row for row in every if path is None or matches(path, row[0]))
            some = [row for at, row in enumerate(found) if at >= offset and (limit < 0 or at < offset + limit)]
        return [_listed(uri, title, metadata, passages) for uri, title, metadata, passages in some]

    def titles(self) -> list[tuple[str, str | None]]:
        """Id and title of every document, by id."""
        with self._reading() as rows:
            return rows.execute("SELECT uri, title FROM documents ORDER BY uri").fetchall()

    def passages_of(self, uri: str) -> list[int]:
        """The passages of a document, in their order."""
        sql = "SELECT p.id FROM documents d JOIN passages p ON p.document = d.id WHERE d.uri = ? ORDER BY p.id"
        with self._reading() as rows:
            return [number for (number,) in rows.execute(sql, (uri,))]

    def numbers(self, uris: Sequence[str]) -> dict[str, int]:
        """The number of each of these documents that is there."""
        sql = "SELECT uri, id FROM documents WHERE uri IN (SELECT value FROM json_each(?))"
        with self._reading() as rows:
            return dict(rows.execute(sql, (json.dumps(list(uris)),)))

    def owners(self, ids: Sequence[int]) -> dict[int, int]:
        """Passage -> the number of its document, for those that are there."""
        sql = "SELECT p.id, p.document FROM json_each(?) wanted CROSS JOIN passages p ON p.id = wanted.value"
        with self._reading() as rows:
            return dict(rows.execute(sql, (json.dumps([int(one) for one in ids]),)))

    def ids(self, after: int = 0, until: int = LARGEST_ID) -> Ids:
        """Every passage above `after` up to `until`, ascending."""
        with self._reading() as rows:
            found = rows.execute("SELECT id FROM passages WHERE id > ? AND id <= ? ORDER BY id", (after, until))
            return np.fromiter((number for (number,) in found), dtype=np.int64)

    def facets(self) -> list[Facet]:
        """The properties by which the documents differ."""
        with self._reading() as rows:
            return facets.facets(rows)

    def damage(self) -> str:
        """What SQLite finds wrong with the file; "" for nothing."""
        with self._reading() as rows:
            (found,) = rows.execute("PRAGMA integrity_check(1)").fetchone()
            return "" if found == "ok" else str(found)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            try:
                yield self._rows
            except sqlite3.ProgrammingError as error:
                raise SemsearchError(f"{self._file.name} is closed.", "Open the index again.") from error
            except sqlite3.DatabaseError as error:
                raise Corrupt(f"{self._file} cannot be read: {error}.", REPAIR) from error


def _listed(uri: str, title: str | None, metadata: str, passages: int) -> JsonObject:
    unknown = dict.fromkeys(("size", "mtime", "loader", "root", "path"))
    return {"id": uri, "title": title, **unknown, "passages": passages, "metadata": json.loads(metadata)}
