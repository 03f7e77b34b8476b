"""SQLite: the rows of one SELECT, each a document. The file is opened read-only, and the query may only read.

In place of a query, the name of a program whose database it is: Chroma's chroma.sqlite3, and the `documents` of a txtai
index (written for Chroma 0.4 to 1.5 and txtai 5 to 9). Their texts, ids and metadata are records; vectors and pickled
objects are left alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing.json_size import has_too_many_values
from semsearch.documents.parsing.records import Fields, check_columns, no_text_field, text_fields_of, to_document
from semsearch.errors import Unreadable, UsageError
from semsearch.types import Document, JsonObject, Skipped

RECORDS = True
ISOLATED = True
_MAGIC = b"SQLite format 3\0"
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}

_Records: TypeAlias = Iterator[JsonObject]
_ID = "_id"  # the field of every record that is its id


class _Program(NamedTuple):
    """A program, tables that its databases have, the field of its records that is the text, and how to read them."""

    name: str
    tables: tuple[str, ...]
    text: str
    records: Callable[[sqlite3.Connection], _Records]


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    """Raises UsageError for a query that fails or lacks a chosen column, Unreadable for a file of another type."""
    with open_regular(path) as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise Unreadable("not an SQLite database")
    if not fields.sql:
        raise Unreadable('an SQLite database: choose what to read with a query, "SELECT …"')
    with closing(_open(path)) as connection:
        if program := _PROGRAMS.get(fields.sql):
            yield from _of_program(connection, path.name, fields, program)
        else:
            yield from _documents(connection, path.name, fields, fields.sql)


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute("PRAGMA trusted_schema=OFF")  # a view in the file must not call functions with side effects
    connection.execute("PRAGMA cell_size_check=ON")
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY)
    return connection


def _of_program(
    connection: sqlite3.Connection, name: str, fields: Fields, program: _Program
) -> Iterator[Document | Skipped]:
    chosen = replace(fields, text=fields.text or program.text, id=fields.id or _ID)
    try:
        if missing := _missing_table(connection, program):
            raise Unreadable(f"not a database of {program.name}: it has no table {missing}")
        for number, record in enumerate(program.records(connection), start=1):
            yield to_document(record, chosen, number, name)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise Unreadable(f"the database is damaged: {error}") from error


def _documents(connection: sqlite3.Connection, name: str, fields: Fields, sql: str) -> Iterator[Document | Skipped]:
    try:
        cursor = connection.execute(sql)
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _failure(error, name) from error
    except UnicodeDecodeError as error:  # in a name that SQLite quotes in a message
        raise Unreadable(f"the database is damaged: {error.reason} in a name") from error
    if cursor.description is None:
        raise UsageError(
            "the query of an SQLite database must be one SELECT.",
            'For example: Fields(sql="SELECT id, text FROM notes").',
            'For example: --sql "SELECT id, text FROM notes"',
        )
    columns = [name for name, *_ in cursor.description]
    check_columns(columns, fields, f"the query on {name}")
    if not text_fields_of(columns, fields):
        raise UsageError(
            f"the query on {name} returns {no_text_field(columns, fields)}.",
            "Choose one: Fields(text=…).",
            "Choose one with --text-field.",
        )
    for number, row in enumerate(_rows(cursor), start=1):
        yield to_document(dict(zip(columns, map(_text, row), strict=True)), fields, number, name)


def _rows(cursor: sqlite3.Cursor) -> Iterator[tuple[object, ...]]:
    try:
        yield from cursor
    except sqlite3.Error as error:
        raise Unreadable(f"the database is damaged: {error}") from error


def _text(value: object) -> object:
    """The value; of bytes the text if they are UTF-8, else None."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _failure(error: Exception, name: str) -> Exception:
    text = str(error)
    if "not a database" in text or "malformed" in text:
        return Unreadable(f"the database is damaged: {text}")
    if "authoriz" in text or "prohibited" in text:
        return UsageError("the query of an SQLite database may only read: one SELECT.", f"SQLite reports: {text}.")
    return UsageError(f"the query failed on {name}: {text}.", "Check the names of the tables and columns.")


def _missing_table(connection: sqlite3.Connection, program: _Program) -> str | None:
    """A table that the databases of the program have and this one lacks. Raises sqlite3.Error."""
    return next((table for table in program.tables if not _has_table(connection, table)), None)


def _chroma(connection: sqlite3.Connection) -> _Records:
    """An id is unique in its collection only: where several have records, it begins with the collection's name."""
    query = """SELECT e.id, e.embedding_id, c.name FROM embeddings e
        JOIN segments s ON s.id = e.segment_id JOIN collections c ON c.id = s.collection ORDER BY e.id"""
    several = connection.execute("SELECT count(DISTINCT segment_id) FROM embeddings").fetchone()[0] > 1
    lists = _has_table(connection, "embedding_metadata_array")
    for row, name, collection in connection.execute(query):
        metadata = dict(_chroma_values(connection, "embedding_metadata", row))
        several_values: defaultdict[str, list[object]] = defaultdict(list)
        for key, each in _chroma_values(connection, "embedding_metadata_array", row) if lists else ():
            several_values[key].append(each)
        yield {**metadata, **several_values, "collection": collection, _ID: f"{collection}/{name}" if several else name}


def _chroma_values(connection: sqlite3.Connection, table: str, row: int) -> Iterator[tuple[str, object]]:
    query = f"SELECT key, string_value, int_value, float_value, bool_value FROM {table} WHERE id = ? ORDER BY rowid"
    for key, *values, truth in connection.execute(query, (row,)):
        yield key, bool(truth) if truth is not None else next((each for each in values if each is not None), None)


def _txtai(connection: sqlite3.Connection) -> _Records:
    """A section is a text; what was indexed with it is in `documents`, as JSON."""
    query = """SELECT s.id, s.text, s.tags, d.data FROM sections s LEFT JOIN documents d ON d.id = s.id
        ORDER BY s.indexid"""
    for name, text, tags, data in connection.execute(query):
        tagged = {} if tags is None else {"tags": tags}
        yield {**_object(data), **tagged, "text": text, _ID: name}


def _object(text: object) -> JsonObject:
    """The object that is written in `text`; {} where there is none."""
    if not isinstance(text, str) or has_too_many_values(text.encode("utf-8")):
        return {}
    try:
        value = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


_PROGRAMS = {
    "chroma": _Program(
        "Chroma", ("collections", "segments", "embeddings", "embedding_metadata"), "chroma:document", _chroma
    ),
    "txtai": _Program("txtai", ("sections", "documents"), "text", _txtai),
}
