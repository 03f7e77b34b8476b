"""How PostgreSQL finds passages by words: its GIN indexes say which passages have a term, and bm25 is computed here.

So words, coverage, completeness and corrections are those of the local store (`keyword_search`), and so are the scores
of passages that a tsvector holds whole (see `words`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semsearch.stores.postgres.full_text import occurrences, words
from semsearch.stores.postgres.full_text.words import contains, has_word
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.sql import bm25
from semsearch.stores.sql.query_terms import after
from semsearch.stores.sql.scored_passages import ScoredPassages
from semsearch.stores.sql.tokenizer import GRAMS, WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.sql.bm25 import Sizes
    from semsearch.types import Ids


class _Index(NamedTuple):
    """A full-text index: the column of the table `words`, that of the lengths, and its counters."""

    kind: int
    column: str
    lengths: str
    passages: str
    tokens: str


_INDEXES = {
    "passages_fts": _Index(WORDS, "vector", "tokens", "passages", "tokens"),
    "passages_cjk": _Index(GRAMS, "grams", "greatest(characters - 2, 0)", "cjk", "trigrams"),
}


class Postings(NamedTuple):
    """The passages with a phrase: ids (n,), how often each has it, and their lengths."""

    ids: Ids
    counts: Sizes
    lengths: Sizes


class PostgresMatching:
    """One search: see `keyword_search.Matching`. Call it inside a snapshot.

    `inside` says of ids (n,) whether each may be found (n,); None where all may.
    """

    def __init__(self, connection: Connection, inside: Callable[[Ids], NDArray[np.bool_]] | None) -> None:
        self._db = connection
        self._allowed = inside
        self._counters: dict[str, int] = {}
        self._read: dict[tuple[str, str], Postings] = {}

    def size(self, table: str) -> int:
        return self._counter(_INDEXES[table].passages)

    def counts(self, table: str, phrases: Iterable[str]) -> dict[str, int]:
        return {phrase: len(self._postings(table, phrase).ids) for phrase in phrases}

    def best(self, table: str, phrases: Sequence[str], k: int) -> ScoredPassages:
        parts = (self._inside(self._scored(table, phrase)) for phrase in phrases)
        return sum(parts, ScoredPassages.none())

    def scaled(self, part: ScoredPassages, factor: float) -> ScoredPassages:
        return part.scaled(factor)

    def of_short_run(self, run: str) -> ScoredPassages:
        postings = self._postings("passages_cjk", run)
        lengths = np.asarray(postings.lengths)
        weight = bm25.idf(self.size("passages_fts"), len(postings.ids))  # rare among all passages, as a Latin word is
        mean = float(lengths.mean()) if len(lengths) else 1.0
        return self._inside(ScoredPassages.of(postings.ids, bm25.scores(weight, postings.counts, lengths, mean)))

    def ordered(self, part: ScoredPassages, k: int) -> tuple[list[int], list[float]]:
        ids, scores = part.ordered(k)
        return ids.tolist(), scores.tolist()

    def complete(self, ids: Sequence[int], runs: Sequence[str], words: Sequence[str]) -> Iterable[int]:
        tests = [contains(entry) if runs else has_word(entry) for entry in [*runs, *words]]
        condition = " AND ".join(sql for sql, _ in tests)
        values = [value for _, queries in tests for value in queries]
        sql = f"SELECT passage FROM words WHERE passage = ANY(?::bigint[]) AND {condition}"
        return [row for (row,) in self._db.rows(sql, [list(ids), *values])]

    def known_terms(self, stem: str, least: int, most: int, start: int = 1) -> list[str]:
        sql = """SELECT term FROM vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?
                 ORDER BY term"""
        return [term for (term,) in self._db.rows(sql, (stem[:start], after(stem[:start]), least, most))]

    # ---- one phrase

    def _scored(self, table: str, phrase: str) -> ScoredPassages:
        postings, size = self._postings(table, phrase), self.size(table)
        mean = self._counter(_INDEXES[table].tokens) / max(1, size)
        weight = bm25.idf(size, len(postings.ids))
        scores = bm25.scores(weight, postings.counts, postings.lengths, mean or 1.0)
        return ScoredPassages.of(postings.ids, scores)

    def _inside(self, scored: ScoredPassages) -> ScoredPassages:
        if self._allowed is None:
            return scored
        inside = self._allowed(scored.keys)
        return ScoredPassages(scored.keys[inside], scored.scores[inside])

    def _postings(self, table: str, phrase: str) -> Postings:
        if (table, phrase) not in self._read:
            self._read[table, phrase] = self._query(table, phrase)
        return self._read[table, phrase]

    def _query(self, table: str, phrase: str) -> Postings:
        index = _INDEXES[table]
        terms, query = words.terms_of(index.kind, phrase), words.phrase(index.kind, phrase)
        if not terms:
            return _postings([])
        if len(terms) > 1:
            return self._query_phrase(index, terms, query)
        lengths = "characters" if index.kind == GRAMS and len(phrase) < 3 else index.lengths
        having = f"{lengths} FROM words WHERE {index.column} @@ ?::tsquery"
        sql = f"SELECT passage, ts_rank({occurrences.WEIGHTS}, {index.column}, ?::tsquery), {having}"
        columns = np.array(self._db.rows(sql, [query, query]), dtype=np.float64).reshape(-1, 3)
        counts = occurrences.counts(columns[:, 1])
        if counts is not None:
            return Postings(columns[:, 0].astype(np.int64), counts, columns[:, 2].astype(np.int64))
        positions = f"(SELECT cardinality(positions) FROM unnest({index.column}) WHERE lexeme = ?)"
        return _postings(self._db.rows(f"SELECT passage, {positions}, {having}", [terms[0], query]))

    def _query_phrase(self, index: _Index, terms: Sequence[str], query: str) -> Postings:
        places = f"(SELECT json_object_agg(lexeme, positions) FROM unnest({index.column}) WHERE lexeme = ANY(?))"
        sql = f"SELECT passage, {places}::text, {index.lengths} FROM words WHERE {index.column} @@ ?::tsquery"
        rows = self._db.rows(sql, [list(set(terms)), query])
        return _postings([(passage, _occurrences(terms, json.loads(at)), size) for passage, at, size in rows])

    def _counter(self, name: str) -> int:
        if name not in self._counters:
            self._counters[name] = self._db.count(name)
        return self._counters[name]


def _occurrences(terms: Sequence[str], places: Mapping[str, Sequence[int]]) -> int:
    """How often a phrase stands in a passage with its terms at these places."""
    later = [(set(places[term]), at) for at, term in enumerate(terms)]
    return max(1, sum(all(start + at in there for there, at in later) for start in places[terms[0]]))


def _postings(rows: Sequence[tuple[int, int, int]]) -> Postings:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Postings(columns[:, 0], columns[:, 1], columns[:, 2])
