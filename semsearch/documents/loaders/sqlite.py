"""SQLite: the rows of one SELECT, each a document. The file is opened read-only, and the query may only read.

In place of a query, the name of a program whose database it is: see `other_programs`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from semsearch.documents.parsing import other_programs
from semsearch.documents.parsing.other_programs import Program
from semsearch.documents.parsing.records import Fields, check_columns, no_text_field, text_fields_of, to_document
from semsearch.documents.parsing.regular_file import open_regular
from semsearch.errors import Unreadable, UsageError
from semsearch.types import Document, Skipped

RECORDS = True
ISOLATED = True
_MAGIC = b"SQLite format 3\0"
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    """Raises UsageError for a query that fails or lacks a chosen column, Unreadable for a file of another type."""
    with open_regular(path) as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise Unreadable("not an SQLite database")
    if not fields.sql:
        raise Unreadable('an SQLite database: choose what to read with a query, "SELECT …"')
    with closing(_open(path)) as connection:
        if program := other_programs.PROGRAMS.get(fields.sql):
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
    connection: sqlite3.Connection, name: str, fields: Fields, program: Program
) -> Iterator[Document | Skipped]:
    chosen = replace(fields, text=fields.text or program.text, id=fields.id or other_programs.ID)
    try:
        if missing := other_programs.missing_table(connection, program):
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
