"""SQLite databases of other programs that hold texts: Chroma's chroma.sqlite3, and the `documents` of a txtai index.

Their texts, ids and metadata are records; vectors and pickled objects are left alone. Written for Chroma 0.4 to 1.5 and
txtai 5 to 9.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from semsearch.documents.parsing.json_size import has_too_many_values
from semsearch.types import JsonObject

Records: TypeAlias = Iterator[JsonObject]
ID = "_id"  # the field of every record that is its id


class Program(NamedTuple):
    """A program, tables that its databases have, the field of its records that is the text, and how to read them."""

    name: str
    tables: tuple[str, ...]
    text: str
    records: Callable[[sqlite3.Connection], Records]


def missing_table(connection: sqlite3.Connection, program: Program) -> str | None:
    """A table that the databases of the program have and this one lacks. Raises sqlite3.Error."""
    return next((table for table in program.tables if not _has_table(connection, table)), None)


def _chroma(connection: sqlite3.Connection) -> Records:
    """An id is unique in its collection only: where several have records, it begins with the collection's name."""
    found = """SELECT e.id, e.embedding_id, c.name FROM embeddings e
        JOIN segments s ON s.id = e.segment_id JOIN collections c ON c.id = s.collection ORDER BY e.id"""
    several = connection.execute("SELECT count(DISTINCT segment_id) FROM embeddings").fetchone()[0] > 1
    lists = _has_table(connection, "embedding_metadata_array")
    for row, name, collection in connection.execute(found):
        metadata = dict(_chroma_values(connection, "embedding_metadata", row))
        several_values: defaultdict[str, list[object]] = defaultdict(list)
        for key, each in _chroma_values(connection, "embedding_metadata_array", row) if lists else ():
            several_values[key].append(each)
        yield {**metadata, **several_values, "collection": collection, ID: f"{collection}/{name}" if several else name}


def _chroma_values(connection: sqlite3.Connection, table: str, row: int) -> Iterator[tuple[str, object]]:
    query = f"SELECT key, string_value, int_value, float_value, bool_value FROM {table} WHERE id = ? ORDER BY rowid"
    for key, *values, truth in connection.execute(query, (row,)):
        yield key, bool(truth) if truth is not None else next((each for each in values if each is not None), None)


def _txtai(connection: sqlite3.Connection) -> Records:
    """A section is a text; what was indexed with it is in `documents`, as JSON."""
    found = """SELECT s.id, s.text, s.tags, d.data FROM sections s LEFT JOIN documents d ON d.id = s.id
        ORDER BY s.indexid"""
    for name, text, tags, data in connection.execute(found):
        given = {} if tags is None else {"tags": tags}
        yield {**_object(data), **given, "text": text, ID: name}


def _object(text: object) -> JsonObject:
    """The object that is written in `text`; {} where there is none."""
    if not isinstance(text, str) or has_too_many_values(text.encode("utf-8")):
        return {}
    try:
        found = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


PROGRAMS = {
    "chroma": Program(
        "Chroma", ("collections", "segments", "embeddings", "embedding_metadata"), "chroma:document", _chroma
    ),
    "txtai": Program("txtai", ("sections", "documents"), "text", _txtai),
}
