"""Is the store what was written? Every text, vector, counter and index is compared with the others.

On a connection that may write, FTS5 checks its own index word by word. It does so through an INSERT (rolled back
here), so on a reader the rows are counted and a sample of passages is looked up instead. The files of caches are
checked by `caches.check`.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from semsearch.errors import Locked, SemsearchError
from semsearch.stores.local import schema, sqlite
from semsearch.stores.local.row_codec import FLOAT16, decompress, passage_crc, vector_crc
from semsearch.stores.local.tables import Tables
from semsearch.stores.records import meta_hash, stable_id, text_hash
from semsearch.types import Progress
from semsearch.utils.writing_systems import CJK

MOST_OF_A_KIND = 5  # problems of one kind that are listed; more are counted
SAMPLE = 200
_WORD = re.compile(r"[^\W_]+")


def verify(tables: Tables, progress: Callable[[Progress], None] = lambda _: None) -> list[str]:
    """Everything that is off, a sentence each; an empty list is good. Nothing is changed. Raises Locked."""
    problems: list[str] = []
    with tables.connection.snapshot():
        for done, check in enumerate(_CHECKS):
            progress(Progress(done, len(_CHECKS), "checks", _named(check)))
            problems += _shortened(_caught(check, tables))
    return problems


def _caught(check: Callable[[Tables], Iterator[str]], tables: Tables) -> Iterator[str]:
    """The problems that a check finds, and the one that stops it."""
    try:
        with sqlite.translated(tables.folder):
            yield from check(tables)
    except Locked:
        raise
    except (SemsearchError, TypeError, ValueError, AttributeError, OverflowError) as error:  # damage has any type
        yield f"{_named(check)}: {getattr(error, 'message', error)}"


def _named(check: Callable[[Tables], Iterator[str]]) -> str:
    return check.__name__.strip("_").replace("_", " ")


def _shortened(problems: Iterable[str]) -> Iterator[str]:
    found = iter(problems)
    yield from islice(found, MOST_OF_A_KIND)
    if more := sum(1 for _ in found):
        yield f"… and {more} more like that."


def _schema(tables: Tables) -> Iterator[str]:
    found = _objects(tables.connection.raw)
    wanted = _expected()
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found:
            yield f"the table or index {name} is missing."
        elif name not in wanted:
            yield f"{name} does not belong to a store."
        elif found[name] != wanted[name]:
            yield f"the definition of {name} is not the one that was made."


@cache
def _expected() -> dict[str, str | None]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        schema.migrate(connection)
        return _objects(connection)
    finally:
        connection.close()


def _objects(connection: sqlite3.Connection) -> dict[str, str | None]:
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%'")
    return dict(rows.fetchall())


def _pages(tables: Tables) -> Iterator[str]:
    for (said,) in tables.connection.raw.execute("PRAGMA integrity_check"):
        if said != "ok":
            yield f"SQLite finds: {said}."


def _references(tables: Tables) -> Iterator[str]:
    for table, row, parent, _ in tables.connection.raw.execute("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} belongs to a row of {parent} that is not there."
    sql = "SELECT passage, space FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.id = v.passage)"
    for passage, space in tables.connection.raw.execute(sql):
        yield f"a vector in space {space} belongs to passage {passage}, which is not there."


def _documents(tables: Tables) -> Iterator[str]:
    columns = "id, uri, sha256, meta_sha256, title, metadata, marks, body"
    for number, uri, sha256, meta_sha256, title, metadata, marks, body in tables.connection.raw.execute(
        f"SELECT {columns} FROM documents ORDER BY id"
    ):
        text: str | None = None
        try:
            text = decompress(body)
            if text_hash(text) != sha256:
                yield f"the text of {uri!r} is not the one that was stored."
            if meta_hash(title, json.loads(metadata)) != meta_sha256:
                yield f"title or metadata of {uri!r} are not what was stored."
            json.loads(marks)
        except (ValueError, TypeError) as error:
            yield f"{uri!r} cannot be read: {error}."
        yield from _passages(tables, number, uri, text)


def _passages(tables: Tables, document: int, uri: str, text: str | None) -> Iterator[str]:
    sql = 'SELECT id, position, start, "end", text, crc, identity FROM passages WHERE document = ? ORDER BY position'
    rows = tables.connection.raw.execute(sql, (document,)).fetchall()
    for expected, (number, position, start, end, part, crc, name) in enumerate(rows):
        if position != expected:
            yield f"passage {number} of {uri!r} is number {position} where {expected} should be."
        if passage_crc(number, document, start, end, part) != crc:
            yield f"passage {number} of {uri!r} is damaged."
        elif text is not None and text[start:end] != part:
            yield f"passage {number} is not what stands at {start} to {end} of {uri!r}."
        elif stable_id(uri, position, part) != name:
            yield f"the identity of passage {number} of {uri!r} is wrong."


def _vectors(tables: Tables) -> Iterator[str]:
    for space in tables.spaces():
        width = space.dim * FLOAT16.itemsize
        sql = "SELECT passage, crc, vector FROM vectors WHERE space = ? ORDER BY passage"
        for passage, crc, blob in tables.connection.raw.execute(sql, (space.id,)):
            if len(blob) != width:
                yield f"the vector of passage {passage} has {len(blob)} bytes where {space.name} makes {width}."
            elif vector_crc(passage, blob) != crc:
                yield f"the vector of passage {passage} in the space of {space.name} is damaged."
    sql = """SELECT id FROM passages p WHERE NOT EXISTS
             (SELECT 1 FROM vectors v WHERE v.space IN (SELECT id FROM spaces) AND v.passage = p.id)"""
    for (passage,) in tables.connection.raw.execute(sql):
        yield f"passage {passage} has no vector."


def _counters(tables: Tables) -> Iterator[str]:
    counted = tables.counts()
    for table in ("documents", "passages"):
        (rows,) = tables.connection.raw.execute(f"SELECT count(*) FROM {table}").fetchone()
        if rows != counted[table]:
            yield f"{counted[table]} {table} are on record, but {rows} are there."
        sql = f"SELECT coalesce(max(id), 0), (SELECT seq FROM sqlite_sequence WHERE name = ?) FROM {table}"
        highest, given = tables.connection.raw.execute(sql, (table,)).fetchone()
        if highest > (given or 0):
            yield f"the next id of {table} would be one that was used before."
    for space, vectors in counted["vectors"].items():
        (rows,) = tables.connection.raw.execute("SELECT count(*) FROM vectors WHERE space = ?", (space,)).fetchone()
        if rows != vectors:
            yield f"{vectors} vectors of space {space} are on record, but {rows} are there."


def _records(tables: Tables) -> Iterator[str]:
    tables.recipe()
    next(tables.runs(), None)
    for space in tables.spaces():
        quantiles = space.background
        if any(not math.isfinite(q) for q in quantiles) or list(quantiles) != sorted(quantiles):
            yield f"the background distribution of {space.name} is damaged."
        for row in tables.caches(space.id):
            if "/" in row.file or "\\" in row.file or row.highest_id > tables.highest_given():
                yield f"the record of cache {row.file!r} cannot be true."


def _full_text(tables: Tables) -> Iterator[str]:
    for table, only in (("passages_fts", ""), ("passages_cjk", "WHERE cjk = 1")):
        (rows,) = tables.connection.raw.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()
        (wanted,) = tables.connection.raw.execute(f"SELECT count(*) FROM passages {only}").fetchone()
        if rows != wanted:
            yield f"the full-text index {table} knows {rows} passages where there are {wanted}."
        if not tables.connection.writable:
            yield from _sampled(tables, table, only)
        elif not _agrees(tables, table):
            yield f"the full-text index {table} does not agree with the passages."


def _agrees(tables: Tables, table: str) -> bool:
    try:  # rank 1: compare with the passages too
        tables.connection.raw.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        if sqlite.code(error) != sqlite3.SQLITE_CORRUPT:
            raise
        return False
    return True


def _sampled(tables: Tables, table: str, only: str) -> Iterator[str]:
    """Passages in equal steps that are not found by a word of their own."""
    (wanted,) = tables.connection.raw.execute(f"SELECT count(*) FROM passages {only}").fetchone()
    numbers = tables.connection.raw.execute(f"SELECT id FROM passages {only} ORDER BY id")
    for (number,) in islice(numbers, 0, None, max(1, wanted // SAMPLE)):
        (text,) = tables.connection.raw.execute("SELECT text FROM passages WHERE id = ?", (number,)).fetchone()
        term = _term(table, text)
        sql = f"SELECT 1 FROM {table} WHERE {table} MATCH ? AND rowid = ?"
        if term and tables.connection.raw.execute(sql, (f'"{term}"', number)).fetchone() is None:
            yield f"the full-text index {table} does not find passage {number} by its word {term!r}."


def _term(table: str, text: str) -> str | None:
    found: list[Any] = (re.compile(f"[{CJK}]{{3}}") if table == "passages_cjk" else _WORD).findall(text)
    return max(found, key=len) if found else None


_CHECKS = (_schema, _pages, _references, _documents, _vectors, _counters, _records, _full_text)
