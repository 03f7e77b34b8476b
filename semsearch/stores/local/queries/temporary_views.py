"""The views of the schema for one connection, with the texts of documents and a column for each key of the metadata.

They have the same names, and hide those of the schema. Stores from before migration 6 have these alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from semsearch.stores.local.database import schema
from semsearch.stores.local.database.schema import DOCUMENT, DOCUMENTS, PASSAGE, PASSAGES, VIEWS

MOST_KEYS = 500  # columns of metadata; SQLite allows 2,000 of a view


def create(connection: sqlite3.Connection) -> None:
    """Make the views. Raises sqlite3.Error."""
    connection.create_function("semsearch_text", 1, schema.document_text, deterministic=True)
    text = f"semsearch_text((SELECT {schema.TEXT} FROM documents WHERE documents.id = d.id)) AS text"
    keys = _keys(connection)
    for name, query in VIEWS.items():
        if name == "documents_view":
            query = query.replace(DOCUMENT, _with_keys(f"{DOCUMENT}, {text}", keys, connection, DOCUMENTS))
        elif name == "passages_view":
            query = query.replace(PASSAGE, _with_keys(PASSAGE, keys, connection, PASSAGES))
        connection.execute(f"CREATE TEMP VIEW {name} AS {query}")


def _keys(connection: sqlite3.Connection) -> list[str]:
    """The keys of the metadata, the most frequent first. A quote in a key has no place in a path of JSON."""
    sql = """SELECT key FROM documents, json_each(metadata) WHERE metadata <> '{}' AND instr(key, '"') = 0
        GROUP BY key ORDER BY count(*) DESC, key LIMIT ?"""
    return [key for (key,) in connection.execute(sql, (MOST_KEYS,))]


def _with_keys(columns: str, keys: Sequence[str], connection: sqlite3.Connection, query: str) -> str:
    """The columns with those of the metadata; one whose name is taken has `metadata_` before it."""
    described = connection.execute(f"SELECT * FROM ({query}) LIMIT 0").description
    taken = {"text", *(column[0].casefold() for column in described)}
    listed = [columns]
    for key in keys:
        name = f"metadata_{key}" if key.casefold() in taken else key
        if name.casefold() not in taken:
            taken.add(name.casefold())
            path = f'$."{key}"'.replace("'", "''")
            listed.append(f"""d.metadata ->> '{path}' AS "{name}\"""")
    return ", ".join(listed)
