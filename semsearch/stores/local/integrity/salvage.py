"""What can still be read of a damaged store, with right checksums: documents with passages and vectors, one by one.

The tables are read in the order of their row ids, in small ranges; a range that cannot be read is halved until the
unreadable rows are found. No index of SQLite is needed: documents, passages and vectors are inserted in the same order,
so three readings side by side find what belongs together. Full text and caches are not read, since they follow from
the rest. Nothing is written.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from semsearch.errors import Corrupt
from semsearch.stores.local.database import commit_record, schema, sqlite
from semsearch.stores.local.database.checksums import COLUMNS, vector_crc
from semsearch.stores.local.database.schema import CHECKSUMS, FLOAT16, FLOAT16_BYTES, document_text
from semsearch.stores.local.integrity.ahead import Ahead
from semsearch.stores.local.location import DATABASE, require_store
from semsearch.stores.records import Salvaged, Source, Space, meta_hash, stable_id, text_hash
from semsearch.stores.sql.rows import HASHES
from semsearch.types import Document, JsonObject, Mark, Passage, Skipped
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from semsearch.types import Vectors

STEP = 256  # rows that are read at once
FARTHEST = 10_000_000  # row ids beyond the last readable one that are tried
_UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
_MALFORMED = (ValueError, TypeError, AttributeError, KeyError, OverflowError)  # damage has any type
_DOCUMENT = f"uri, source, body, {HASHES}, lines, title, metadata, marks"
_PASSAGE = 'document, position, identity, start, "end", text, page, line, heading'
_CRC = 'passage_crc(id, document, start, "end", page, line, heading, text)'
_FIRST_CRC = 'first_passage_crc(id, document, start, "end", text)'

_Cut: TypeAlias = tuple[int, int, str, Passage]  # row id, position, identity
T = TypeVar("T")


class Salvage:
    """A damaged store, open for reading. `lost`: what could not be read so far, each with the reason.

    It is complete once `documents()` has been read to the end.
    """

    def __init__(self, folder: Path) -> None:
        """Raises NotFound; Corrupt where not even the list of tables can be read."""
        require_store(folder)
        self.lost: list[Skipped] = []
        with suppress(Corrupt):
            if loss := commit_record.loss(folder):
                self.lost.append(Skipped("changes", loss))
        with sqlite.translated(folder):
            self._db = sqlite.connect_reader(folder / DATABASE)[0]
            with sqlite.on_error(self._db.close):
                schema.check(self._db, folder, write=False)
                self._db.execute("BEGIN")
                self._has_checksums = self._db.execute("PRAGMA user_version").fetchone()[0] >= CHECKSUMS

    def close(self) -> None:
        """Close the files."""
        self._db.close()

    def count(self) -> int:
        """How many documents there should be; 0 where that cannot be read."""
        rows = self._read("SELECT value FROM meta WHERE key = 'documents'")
        return rows[0][0] if rows and isinstance(rows[0][0], int) else 0

    # ---- small tables

    def recipe(self) -> JsonObject:
        """What is right of the recipe."""
        rows = self._read(f"SELECT key, {self._is_sound('recipe')}, key, value FROM recipe")
        if rows is None:
            self.lost.append(Skipped("recipe", "it cannot be read"))
        return dict(self._parsed("recipe", rows or (), lambda key, value: (key, json.loads(value))))

    def space(self) -> Space | None:
        """The current space of the index; None where its record is damaged."""
        rows = self._rows("spaces", "id, fingerprint, name, dim, info", self._is_sound("spaces"))
        made = {space.id: space for space in self._parsed("spaces", rows, _space)}
        current = self._read("SELECT value FROM meta WHERE key = 'space'")
        return made.get(current[0][0]) if current else next(iter(made.values()), None)

    def _sources(self) -> dict[int, Source]:
        rows = self._rows("sources", "root, path, mtime_ns, size, sha256, loader, id", self._is_sound("sources"))
        return {source.id: source for source in self._parsed("sources", rows, Source)}

    def _parsed(self, table: str, rows: Iterable[Any], made: Callable[..., T]) -> Iterator[T]:
        """An object for each sound row; the others are lost."""
        for key, sound, *row in rows:
            try:
                if sound:
                    yield made(*row)
                    continue
            except _MALFORMED:
                pass
            self.lost.append(Skipped(f"{table} {key}", "the record is damaged"))

    def _is_sound(self, table: str) -> str:
        return f"crc IS row_crc({COLUMNS[table]})" if self._has_checksums else "1"

    # ---- documents

    def documents(self, space: Space | None) -> Iterator[Salvaged]:
        """Every document whose text, title and metadata are right, with what is right of its passages and vectors."""
        sources, names = self._sources(), self._names()
        missing, count = dict(names or {}), 0
        passages, vectors = Ahead(self._passages()), Ahead(self._vectors(space))
        for number, sound, uri, source, body, *row in self._rows("documents", _DOCUMENT, self._is_sound("documents")):
            cut = [one for one in passages.at(number) if not one[2] or one[2] == stable_id(uri, one[1], one[3].text)]
            if body == b"":  # a passage has all of its text
                body = next((passage.text for _, position, _, passage in cut if position == 0), body)
            document = _document(uri, body, *row) if sound else None
            if document is None or (names is not None and number not in names):
                continue
            count += 1
            missing.pop(number, None)
            rows = [next(iter(vectors.at(one[0])), None) for one in cut]
            file = sources.get(source)
            if source is not None and file is None:
                self.lost.append(Skipped(uri, "the record of its file is damaged; its text is there"))
            yield Salvaged(document, file, _whole(document.text, cut), rows)
        self.lost += [Skipped(uri, "its text or its record is damaged") for uri in missing.values()]
        if names is None and (more := self.count() - count) > 0:
            self.lost.append(Skipped(f"{more:,} documents", "their records cannot be read"))

    def _names(self) -> dict[int, str] | None:
        """The id of every document, from an index of SQLite that has nothing else; None where it is damaged."""
        rows = self._read("SELECT id, uri FROM documents INDEXED BY sqlite_autoindex_documents_1")
        return None if rows is None else {number: uri for number, uri in rows if isinstance(uri, str)}

    def _passages(self) -> Iterator[tuple[int, _Cut]]:
        crc = f"crc IS {_CRC if self._has_checksums else _FIRST_CRC}"
        for number, sound, document, position, name, *row in self._rows("passages", _PASSAGE, crc):
            if sound:
                yield document, (number, position, name, Passage(*row))

    def _vectors(self, space: Space | None) -> Iterator[tuple[int, Vectors]]:
        for _, _, of, passage, crc, blob in self._rows("vectors", "space, passage, crc, vector"):
            if space is None or of != space.id or not isinstance(blob, bytes):
                continue
            if len(blob) == space.dim * FLOAT16_BYTES and vector_crc(passage, blob) == crc:
                yield passage, unit_rows(np.frombuffer(blob, FLOAT16)[None])

    # ---- rows

    def _rows(self, table: str, columns: str, sound: str = "1") -> Iterator[Any]:
        """(row id, whether it is `sound`, its columns) of every row that can be read, in the order of row ids."""
        sql = f"SELECT rowid, {sound}, {columns} FROM {table} NOT INDEXED WHERE rowid > ? AND rowid <= ?"
        after, end, barren = 0, self._end(table), 0
        while after < end and barren < FARTHEST:
            rows = self._read(f"{sql} ORDER BY rowid LIMIT {STEP}", after, 2**62)
            if rows is None:
                yield from self._halves(sql, after, after + STEP)
                after, barren = after + STEP, barren + STEP
            elif rows:
                yield from rows
                after, barren = rows[-1][0], 0
                end = max(end, after + 1)
            else:
                return

    def _halves(self, sql: str, after: int, last: int) -> Iterator[Any]:
        """The readable rows of a range of row ids that has unreadable ones."""
        rows = self._read(sql, after, last)
        if rows is not None:
            yield from rows
        elif last - after > 1:
            middle = (after + last) // 2
            yield from self._halves(sql, after, middle)
            yield from self._halves(sql, middle, last)

    def _end(self, table: str) -> int:
        """The highest row id; where that cannot be read, a number of rows for which the file has no room."""
        if (highest := self._read(f"SELECT max(rowid) FROM {table}")) is not None:
            return int(highest[0][0] or 0)
        pages = self._read("PRAGMA page_count")
        return int(pages[0][0]) * schema.PAGE_SIZE // 32 if pages else FARTHEST

    def _read(self, sql: str, *parameters: object) -> list[Any] | None:
        """The rows of a statement; None where the file is damaged there. Raises Locked."""
        try:
            return self._db.execute(sql, parameters).fetchall()
        except _UNREADABLE as error:
            if isinstance(error, sqlite3.Error) and sqlite.is_busy(error):
                raise
            return None


def _space(number: int, fingerprint: str, name: str, dim: int, info: str) -> Space:
    return Space(number, fingerprint, name, dim, json.loads(info))


def _document(uri: str, stored: bytes | str, sha256: str, meta_sha256: str, *row: Any) -> Document | None:
    """The document, if text, title and metadata are those that were stored."""
    lines, title, metadata, marks = row
    try:
        text, parsed = document_text(stored), json.loads(metadata)
        if (text_hash(text), meta_hash(title, parsed)) != (sha256, meta_sha256):
            return None
        return Document(uri, text, parsed, title, tuple(Mark(*mark) for mark in json.loads(marks)), bool(lines))
    except _MALFORMED:
        return None


def _whole(text: str, cut: list[_Cut]) -> list[Passage] | None:
    """The passages of a document, if none is missing: each character that is no space is in one. None otherwise."""
    end = 0
    for expected, (_, position, _, passage) in enumerate(cut):
        if position != expected or text[passage.start : passage.end] != passage.text:
            return None
        if text[end : passage.start].strip():
            return None
        end = max(end, passage.end)
    return None if text[end:].strip() else [passage for *_, passage in cut]


salvage = Salvage
