"""Where FTS5 has a term: its passages and how often each has it, without bm25: 0.5 µs an occurrence."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from semsearch.stores.local.database.schema import indexed_text
from semsearch.stores.sql.tokenizer import GRAMS, WORDS, varints
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.stores.sql.bm25 import Sizes
    from semsearch.types import Ids

TABLES: dict[int, str] = {WORDS: "passages_fts", GRAMS: "passages_cjk"}
_LAST = chr(0x10FFFF)


def occurrences(connection: sqlite3.Connection, kind: int, term: str) -> tuple[Ids, Sizes]:
    """The ids (n,), ascending, of the passages that have a term, and how often (n,). Short CJK runs: schema 4."""
    if kind == GRAMS and len(term) < 3:
        return short_run(connection, term)[:2]
    places = _vocabulary(connection, kind, "instance")
    sql = f"SELECT doc, count(*) FROM {places} WHERE term = ? GROUP BY doc ORDER BY doc"
    columns = numbers(connection.execute(sql, (term,)), 2)
    return columns[:, 0], columns[:, 1]


def short_run(connection: sqlite3.Connection, run: str) -> tuple[Ids, Sizes, Sizes]:
    """Of the passages with a run of one or two CJK letters: ids (n,), how often each has it, lengths in characters.

    Every run is the beginning of a trigram, except at the end of a text; for the ends there are indexes of SQLite.
    """
    places, text = _vocabulary(connection, GRAMS, "instance"), indexed_text(connection)
    at_end = f"SELECT id FROM passages WHERE cjk = 1 AND substr({text}, -{len(run)}) = ?1"
    if len(run) == 1:
        at_end += f" UNION SELECT id FROM passages WHERE cjk = 1 AND substr({text}, -2) BETWEEN ?1 AND ?2"
    sql = f"SELECT doc FROM {places} WHERE term >= ?1 AND term <= ?2 UNION {at_end}"
    having = np.sort(numbers(connection.execute(sql, (run, run + _LAST)), 1)[:, 0])
    sql = f"""SELECT p.id, (length({text}) - length(replace({text}, ?1, ''))) / length(?1), length({text})
             FROM json_each(?2) one CROSS JOIN passages p ON p.id = one.value"""
    columns = numbers(connection.execute(sql, (run, json.dumps(having.tolist()))), 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def numbers(rows: Iterable[Sequence[int]], columns: int) -> Ids:
    """Rows as an array (n, columns). NumPy would read a list of them in one step, and keep all threads waiting."""
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64).reshape(-1, columns)


def at_least(connection: sqlite3.Connection, kind: int, term: str, least: int) -> bool:
    """Whether a term occurs in at least so many passages; short CJK runs: so often."""
    if kind == GRAMS and len(term) < 3:
        places = _vocabulary(connection, GRAMS, "instance")
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {places} WHERE term >= ? AND term <= ? LIMIT {least})"
        return bool(connection.execute(sql, (term, term + _LAST)).fetchone()[0] >= least)
    rows = connection.execute(
        f"SELECT doc FROM {_vocabulary(connection, kind, 'row')} WHERE term = ?", (term,)
    ).fetchall()
    return bool(rows and rows[0][0] >= least)


def totals(connection: sqlite3.Connection, kind: int) -> tuple[int, int]:
    """Passages in a full-text index, and their tokens: the record from which bm25() takes the mean length."""
    (packed,) = connection.execute(f"SELECT block FROM {TABLES[kind]}_data WHERE id = 1").fetchone()
    rows, *tokens = varints(packed or b"\0")
    return rows, sum(tokens)


def _vocabulary(connection: sqlite3.Connection, kind: int, form: str) -> str:
    """A temporary table of FTS5 that lists the terms of an index (`row`) or their places (`instance`)."""
    table = TABLES[kind]
    name = f"temp.{table}_{form}"
    connection.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab(main, {table}, {form})")
    return name
