"""Verification of the full-text indexes: FTS5 checks a private copy of each, and compares it with the texts.

FTS5 offers its check as an INSERT only, which a reader cannot do, and which would keep writers away. So the tables of
each index are copied to the temporary database of a connection that only reads: a file that SQLite removes, a third of
the size of the texts. The texts themselves are read in place, through a view. Memory is bounded by the page caches.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from semsearch.stores.local.database import sqlite
from semsearch.stores.local.database.schema import indexed_text
from semsearch.stores.local.database.steps import watched
from semsearch.stores.local.location import DATABASE

if TYPE_CHECKING:
    from semsearch.stores.local.database.connection import Connection

TABLES = {"passages_fts": "passages", "passages_cjk": "passages_cjk_text"}  # and where their texts are
_PARTS = ("data", "idx", "docsize", "config")


def problems(store: Connection, report: Callable[[], None] = lambda: None) -> Iterator[str]:
    """What is wrong with the full-text indexes, a sentence each. Raises sqlite3.Error, Locked, and what `report` does.

    `report` is called from time to time.
    """
    for table, content in TABLES.items():
        with closing(sqlite.connect_reader(store.folder / DATABASE)[0]) as connection:
            connection.execute("BEGIN")
            with watched(connection, report):
                yield from _problems(connection, table, content)


def _problems(connection: sqlite3.Connection, table: str, content: str) -> Iterator[str]:
    (rows,) = connection.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()
    (expected,) = connection.execute(f"SELECT count(*) FROM {content}").fetchone()
    if rows != expected:
        yield f"the full-text index {table} has {rows} passages where there are {expected}."
    if not _settings_agree(connection, table, content):
        yield f"the settings of the full-text index {table} are not those that it was made with."
    try:
        for part in _PARTS:
            connection.execute(f"DELETE FROM temp.{table}_{part}")
            connection.execute(f"INSERT INTO temp.{table}_{part} SELECT * FROM main.{table}_{part}")
        # rank 1: compare with the texts too
        connection.execute(f"INSERT INTO temp.{table} ({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        if sqlite.code(error) != sqlite3.SQLITE_CORRUPT:
            raise
        yield f"the full-text index {table} does not agree with the passages."


def _settings_agree(connection: sqlite3.Connection, table: str, content: str) -> bool:
    """Make an empty index like `table` in the temporary database, and compare what FTS5 writes there."""
    (sql,) = connection.execute("SELECT sql FROM main.sqlite_master WHERE name = ?", (table,)).fetchone()
    words = indexed_text(connection)
    columns = "*" if words == "text" or content != "passages" else f"id, {words} AS text, keywords"
    connection.execute(f"CREATE TEMP VIEW {content} AS SELECT {columns} FROM main.{content}")
    connection.execute(sql.replace(table, f"temp.{table}", 1))
    made, stored = (
        connection.execute(f"SELECT * FROM {where}.{table}_config").fetchall() for where in ("temp", "main")
    )
    return bool(made == stored)
