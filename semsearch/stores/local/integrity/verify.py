"""Verification of a store: every text, vector, counter and index is compared with the others.

FTS5 checks its own indexes, word by word, in `full_text_check`; the postings beside them are made anew and compared, in
`postings_check`. Cache files are verified by `SpaceVectors.problems`. An
index of an older schema is verified by the checksums that it has.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores.local.database import commit_record, schema, sqlite
from semsearch.stores.local.database.checksums import COLUMNS, vector_crc
from semsearch.stores.local.database.schema import CHECKSUMS, FLOAT16_BYTES, TEXT, document_text
from semsearch.stores.local.database.steps import Steps, watched
from semsearch.stores.local.integrity import full_text_check, postings_check
from semsearch.stores.local.integrity.ahead import Ahead
from semsearch.stores.sql import checks
from semsearch.stores.sql.rows import HASHES, SPACES

if TYPE_CHECKING:
    from semsearch.stores.local.database.connection import Connection
    from semsearch.types import Progress

_PASSAGES = [
    f"""SELECT document, id, position, start, "end", text, crc = {rule}, identity
        FROM passages ORDER BY document, position"""
    for rule in (
        'first_passage_crc(id, document, start, "end", text)',
        'passage_crc(id, document, start, "end", page, line, heading, text)',
    )
]


class _Ended(BaseException):
    """An exception of `progress`, which no check may take for damage."""


def verify(store: Connection, progress: Callable[[Progress], None] = lambda _: None) -> list[str]:
    """Every problem, a sentence each; an empty list is good. Nothing is changed. Raises Locked, and what progress does.

    Memory is bounded: rows are read one after the other.
    """

    def report(step: Progress) -> None:
        try:
            progress(step)
        except Exception as error:
            raise _Ended from error

    names = [check.__name__.strip("_").replace("_", " ") for check in _CHECKS]
    steps = Steps(report, "checks", *names)
    problems = list(_problems(_commits, "commits", store, steps))
    try:
        with store.snapshot(), watched(store.raw, steps.repeat):
            for check, name in zip(_CHECKS, names, strict=True):
                steps.begin()
                problems += checks.shortened(_problems(check, name, store, steps))
    except _Ended as ended:
        raise ended.__cause__ or ended from None
    return problems


def _problems(
    check: Callable[[Connection, Steps], Iterator[str]], name: str, store: Connection, steps: Steps
) -> Iterator[str]:
    def translated() -> Iterator[str]:
        with sqlite.translated(store.folder):
            yield from check(store, steps)

    return checks.caught(translated(), name)


def _commits(store: Connection, _: Steps) -> Iterator[str]:
    if loss := commit_record.loss(store.folder):
        yield loss


def _schema(store: Connection, _: Steps) -> Iterator[str]:
    present = _objects(store.raw)
    (version,) = store.raw.execute("PRAGMA user_version").fetchone()
    expected = _expected(version)
    for name in sorted(expected.keys() | present.keys()):
        if name not in present:
            yield f"the table or index {name} is missing."
        elif name not in expected:
            yield f"{name} does not belong to a store."
        elif present[name] != expected[name]:
            yield f"the definition of {name} is not the one that was made."


@cache
def _expected(version: int) -> dict[str, str | None]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.migrate(connection, version)
        return _objects(connection)


def _objects(connection: sqlite3.Connection) -> dict[str, str | None]:
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%'")
    return dict(rows.fetchall())


def _pages(store: Connection, _: Steps) -> Iterator[str]:
    for (message,) in store.raw.execute("PRAGMA integrity_check"):
        if message != "ok":
            yield f"SQLite finds: {message}."


def _references(store: Connection, _: Steps) -> Iterator[str]:
    for table, row, parent, _ in store.raw.execute("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} belongs to a row of {parent} that is not there."
    sql = "SELECT passage, space FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.id = v.passage)"
    for passage, space in store.raw.execute(sql):
        yield f"a vector in space {space} belongs to passage {passage}, which is not there."


def _documents(store: Connection, steps: Steps) -> Iterator[str]:
    sql = f"SELECT id, uri, {HASHES}, title, metadata, marks, {TEXT} FROM documents ORDER BY id"
    passages = store.raw.execute(_PASSAGES[store.schema() >= CHECKSUMS])
    parts = Ahead((document, row) for document, *row in passages)
    rows = steps.counted(store.raw.execute(sql), store.count("documents"))
    for number, uri, sha256, meta_sha256, title, metadata, marks, body in rows:
        text: str | None = None
        try:
            text = document_text(body)
            yield from checks.of_document(uri, text, sha256, meta_sha256, title, metadata, marks)
        except (ValueError, TypeError) as error:
            yield f"{uri!r} cannot be read: {error}."
        yield from checks.of_passages(parts.at(number), uri, text)


def _vectors(store: Connection, steps: Steps) -> Iterator[str]:
    for space, name, dim in store.raw.execute("SELECT id, name, dim FROM spaces ORDER BY id"):
        width = dim * FLOAT16_BYTES
        sql = "SELECT passage, crc, vector FROM vectors WHERE space = ? ORDER BY passage"
        for passage, crc, blob in steps.counted(store.raw.execute(sql, (space,)), store.count("passages")):
            if len(blob) != width:
                yield f"the vector of passage {passage} has {len(blob)} bytes where {name} makes {width}."
            elif vector_crc(passage, blob) != crc:
                yield f"the vector of passage {passage} in the space of {name} is damaged."
    current = store.raw.execute(f"SELECT id {SPACES} LIMIT 1").fetchone() or (None,)
    sql = """SELECT id FROM passages p WHERE NOT EXISTS
             (SELECT 1 FROM vectors v WHERE v.space = ? AND v.passage = p.id)"""
    for (passage,) in store.raw.execute(sql, current):
        yield f"passage {passage} has no vector."


def _checksums(store: Connection, _: Steps) -> Iterator[str]:
    if store.schema() < CHECKSUMS:
        return
    for table, columns in COLUMNS.items():
        key = {"documents": "uri", "sources": "path", "recipe": "key", "spaces": "name"}.get(table, "id")
        for (name,) in store.raw.execute(f"SELECT {key} FROM {table} WHERE crc IS NOT row_crc({columns})"):
            yield f"the record of {name!r} in the table {table} is damaged."
    sql = """SELECT uri FROM documents d LEFT JOIN sources s ON s.id = d.source
             WHERE d.mtime IS NOT s.mtime_ns OR d.loader IS NOT s.loader"""
    for (uri,) in store.raw.execute(sql):
        yield f"time or loader of {uri!r} are not those of its file."


def _counters(store: Connection, _: Steps) -> Iterator[str]:
    for table in ("documents", "passages"):
        recorded = store.count(table)
        (rows,) = store.raw.execute(f"SELECT count(*) FROM {table}").fetchone()
        if rows != recorded:
            yield f"{recorded} {table} are on record, but {rows} are there."
        sql = f"SELECT coalesce(max(id), 0), (SELECT seq FROM sqlite_sequence WHERE name = ?) FROM {table}"
        highest, used = store.raw.execute(sql, (table,)).fetchone()
        if highest > (used or 0):
            yield f"the next id of {table} would be one that was used before."
    sql = "SELECT id, vectors, (SELECT count(*) FROM vectors v WHERE v.space = s.id) FROM spaces s"
    for space, recorded, rows in store.raw.execute(sql):
        if rows != recorded:
            yield f"{recorded} vectors of space {space} are on record, but {rows} are there."


def _records(store: Connection, _: Steps) -> Iterator[str]:
    sql = """SELECT value FROM recipe UNION ALL SELECT info FROM spaces
             UNION ALL SELECT value FROM meta WHERE key LIKE 'bookmark %'"""
    for (value,) in store.raw.execute(sql):
        store.parsed(value)
    for (report,) in store.raw.execute("SELECT report FROM runs ORDER BY id DESC LIMIT 1"):
        store.parsed(report)
    for name, packed in store.raw.execute("SELECT name, background FROM spaces"):
        if len(packed) % 8 or not np.isfinite(np.frombuffer(packed, "<f8")).all():
            yield f"the null distribution of {name} is damaged."
    sql = "SELECT value FROM meta WHERE key = 'space' AND value NOT IN (SELECT id FROM spaces)"
    for (space,) in store.raw.execute(sql):
        yield f"the current space, {space}, is not there."
    sql = """SELECT file FROM caches WHERE instr(file, '/') OR instr(file, char(92))
             OR highest_id > (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'passages')"""
    for (file,) in store.raw.execute(sql):
        yield f"the record of cache {file!r} cannot be true."


def _full_text(store: Connection, steps: Steps) -> Iterator[str]:
    yield from full_text_check.problems(store, steps.repeat)


def _postings(store: Connection, _: Steps) -> Iterator[str]:
    try:
        yield from postings_check.problems(store)
    except sqlite.Damaged as error:  # as the other problems, without the folder
        yield f"postings: {error}"


_CHECKS = (_schema, _pages, _references, _documents, _vectors, _checksums, _counters, _records, _full_text, _postings)
