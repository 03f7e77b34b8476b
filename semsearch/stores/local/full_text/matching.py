"""How passages are matched and scored by FTS5 alone: a form of `keyword_search.Matching`.

FTS5's bm25() takes 4 µs a passage, and reading 3 µs: right for some thousand passages. `postings` is the form
for many.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from semsearch.stores.local.database.schema import FOLDED, POSTINGS, indexed_text
from semsearch.stores.local.full_text.occurrences import numbers, short_run
from semsearch.stores.sql import bm25
from semsearch.stores.sql.folding import fold
from semsearch.stores.sql.lexical_search import most_informative
from semsearch.stores.sql.query_terms import after, exact_entry, has_cjk, quoted, required_words
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.stores.sql.bm25 import Sizes
    from semsearch.types import Ids


class Fts5Matching:
    """Matching by FTS5 alone, in a store of any size and schema."""

    def __init__(self, connection: sqlite3.Connection, allowed: Ids | None) -> None:
        self._db = connection
        self._allowed = allowed
        self._sizes: dict[str, int] = {}

    def size(self, table: str) -> int:
        """FTS5's docsize table has one narrow row for each passage (0.4 ms per 100,000); it is counted once."""
        if table not in self._sizes:
            self._sizes[table] = int(self._db.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()[0])
        return self._sizes[table]

    def counts(self, table: str, phrases: Iterable[str]) -> dict[str, int]:
        most = most_informative(self.size(table))
        return {phrase: counted(self._db, table, phrase, most) for phrase in phrases}

    def best(self, table: str, phrases: Sequence[str], k: int) -> Counter[int]:
        """+rowid: without the plus SQLite would run the whole match once for every allowed id (31 s, not 17 ms)."""
        if not phrases:
            return Counter()
        only = "" if self._allowed is None else "AND +rowid IN (SELECT value FROM json_each(?))"
        sql = (
            f"SELECT rowid, -bm25({table}) AS score FROM {table} WHERE {table} MATCH ? {only} "
            "ORDER BY score DESC, rowid LIMIT ?"
        )
        within = () if self._allowed is None else (json.dumps(self._allowed.tolist()),)
        return Counter(dict(self._db.execute(sql, (" OR ".join(map(quoted, phrases)), *within, k)).fetchall()))

    def scaled(self, part: Counter[int], factor: float) -> Counter[int]:
        return Counter({passage: score * factor for passage, score in part.items()})

    def of_short_run(self, run: str) -> Counter[int]:
        ids, counts, lengths = _short_run(self._db, run)
        if not len(ids):
            return Counter()
        weight = bm25.idf(self.size("passages_fts"), len(ids))  # rare among all passages, as a Latin word is
        scores = bm25.scores(weight, counts, lengths, float(lengths.mean()))
        inside = np.ones(len(ids), dtype=bool) if self._allowed is None else np.isin(ids, self._allowed)
        return Counter(dict(zip(ids[inside].tolist(), scores[inside].tolist(), strict=True)))

    def ordered(self, part: Counter[int], k: int) -> tuple[list[int], list[float]]:
        best = sorted(part.items(), key=lambda item: (-item[1], item[0]))[:k]
        return [passage for passage, _ in best], [score for _, score in best]

    def complete(self, ids: Sequence[int], runs: Sequence[str], words: Sequence[str]) -> Iterable[int]:
        if runs:
            return set(ids).intersection(containing(self._db, [*runs, *words]).tolist())
        sql = "SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? AND +rowid IN (SELECT value FROM json_each(?))"
        complete = self._db.execute(sql, (_in_text(" AND ".join(map(quoted, words))), json.dumps(ids)))
        return [row for (row,) in complete]

    def known_terms(self, stem: str, least: int, most: int, start: int = 1) -> list[str]:
        return known_terms(self._db, stem[:start], least, most)


def known_terms(connection: sqlite3.Connection, first: str, least: int, most: int) -> list[str]:
    """See `Matching.known_terms`."""
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, passages_fts, row)")
    sql = "SELECT term FROM temp.vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?"
    return [term for (term,) in connection.execute(sql, (first, after(first), least, most))]


def counted(connection: sqlite3.Connection, table: str, phrase: str, most: int) -> int:
    """The number of passages with a phrase, at most `most` and one."""
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT {most + 1})"
    return int(connection.execute(sql, (quoted(phrase),)).fetchone()[0])


def containing(connection: sqlite3.Connection, words: Sequence[str]) -> Ids:
    """Ids, ascending, of the passages that contain every entry of `words`; several words in one entry are a phrase.

    Raises UsageError for an entry without a letter or digit.
    """
    return reduce(np.intersect1d, [_containing(connection, entry) for entry in words])


def _containing(connection: sqlite3.Connection, entry: str) -> Ids:
    entry = as_indexed(connection, entry)
    words, exact = required_words(entry), exact_entry(entry)
    rows: list[tuple[int]] = []
    if not has_cjk(exact):
        sql = "SELECT rowid FROM passages_fts WHERE passages_fts MATCH ?"
        rows += connection.execute(sql, (_in_text(quoted(" ".join(words))),)).fetchall()
    if len(exact) > 2:
        sql = "SELECT rowid FROM passages_cjk WHERE passages_cjk MATCH ?"
        rows += connection.execute(sql, (quoted(exact),)).fetchall()
    elif has_cjk(exact):
        return np.unique(_short_run(connection, exact)[0])
    return np.array(sorted({row[0] for row in rows}), dtype=np.int64)


def _short_run(connection: sqlite3.Connection, run: str) -> tuple[Ids, Sizes, Sizes]:
    """Ids, numbers and lengths of the passages with a short run; before schema 4, every one with such letters is read.

    So it is with a run that has another character beside a CJK letter: it may be in two forms.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version >= POSTINGS and all(map(has_cjk, run)):
        return short_run(connection, run)
    text = indexed_text(connection)
    sql = f"""SELECT id, (length({text}) - length(replace({text}, ?1, ''))) / length(?1), length({text}) FROM passages
              WHERE cjk = 1 AND instr({text}, ?1) > 0"""
    columns = numbers(connection.execute(sql, (run,)), 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def _in_text(expression: str) -> str:
    """Matches in the passage itself, not in the keywords of its place."""
    return f"{{text}} : ({expression})"


def as_indexed(connection: sqlite3.Connection, text: str) -> str:
    """The words of a query, in the letters of the full-text indexes."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return fold(text) if version >= FOLDED else text
