"""Matching with the postings of frequent terms: the ranking of `Fts5Matching`, at a million passages in milliseconds.

The passages of all segments, and after them the few that wait for the next one, have a place each; scores are arrays
over these places, to which each term adds its part. A frequent term's postings come from the segments, those of another
term from FTS5 without bm25, and the waiting passages are cut in memory. Phrases are left to FTS5's bm25().
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semsearch.stores.local.database.schema import POSTINGS, word_columns
from semsearch.stores.local.full_text.matching import counted, known_terms
from semsearch.stores.local.full_text.occurrences import TABLES, occurrences, short_run, totals
from semsearch.stores.local.full_text.segments import decoded, load, stamp
from semsearch.stores.local.full_text.sums import best_sums
from semsearch.stores.sql import bm25
from semsearch.stores.sql.lexical_search import most_informative
from semsearch.stores.sql.query_terms import quoted
from semsearch.stores.sql.scored_passages import ScoredPassages
from semsearch.stores.sql.tokenizer import GRAMS, WORDS, Tokens, cut
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.local.full_text.segments import Places, Sealed
    from semsearch.stores.sql.bm25 import Scores, Sizes
    from semsearch.stores.sql.tokenizer import Row
    from semsearch.types import Ids

RARE = 100  # passages with a phrase; FTS5 scores each in 4 µs
MOST_WAITING = 8192  # passages without a segment; where more wait, FTS5 alone is asked
_KINDS = {table: kind for kind, table in TABLES.items()}
_ROWS = """SELECT p.segment, p.places, p.counts, p.crc FROM segments s CROSS JOIN postings p
           ON p.segment = s.number AND p.kind = ? AND p.term = ?"""


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages of one moment, by place: ids (n,) ascending, tokens, characters and trigrams; `gone` (n,) where any
    is removed.

    `sealed` are the first ones, `waiting` has the rest.
    """

    ids: Ids
    tokens: Sizes
    characters: Sizes
    trigrams: Sizes
    gone: NDArray[np.bool_] | None
    sealed: Sealed
    waiting: Tokens

    def places(self, ids: Ids) -> Places:
        """The places of passages that have one."""
        first, last = int(self.ids[0]), int(self.ids[-1])
        return ids - first if last - first + 1 == len(self.ids) else np.searchsorted(self.ids, ids)

    def mask(self, allowed: Ids) -> NDArray[np.bool_]:
        """Which places have one of these ids."""
        highest = int(self.ids[-1]) + 1
        if highest > 8 * len(self.ids):  # most ids of long ago are gone
            return np.isin(self.ids, allowed)
        passing = np.zeros(highest, dtype=np.bool_)
        passing[allowed[: np.searchsorted(allowed, highest)]] = True
        return passing[self.ids]

    def present(self, places: Places, counts: Sizes) -> tuple[Places, Sizes]:
        """Without those of removed passages."""
        if self.gone is None:
            return places, counts
        here = ~self.gone[places]
        return places[here], counts[here]


class Postings:
    """The postings of a store, kept between searches; what is in memory follows the store's version."""

    def __init__(self) -> None:
        self._moment: tuple[int, ...] = ()
        self._passages: Passages | None = None
        self._sums: Scores | None = None  # a number for each place, which is 0 between searches

    def matching(self, connection: sqlite3.Connection, allowed: Ids | None) -> PostingsMatching | None:
        """A matching inside the present snapshot; None where the store has no postings, or too few. Raises Damaged."""
        (version,) = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        moment = (version, id(connection))
        if moment != self._moment:
            self._passages = self._read(connection)
            self._moment = moment
        if self._passages is None:
            return None
        if self._sums is None or len(self._sums) != len(self._passages.ids):
            self._sums = np.zeros(len(self._passages.ids))
        return PostingsMatching(connection, self._passages, self._sums, allowed)

    def _read(self, connection: sqlite3.Connection) -> Passages | None:
        if connection.execute("PRAGMA user_version").fetchone()[0] < POSTINGS:
            return None
        before, marks = self._passages, stamp(connection)
        if not marks:
            return None
        kept = before is not None and before.sealed.stamp == marks
        sealed = before.sealed if before is not None and kept else load(connection)
        waiting = before.waiting if before is not None and kept else Tokens()
        return _passages(connection, sealed, waiting)


def _passages(connection: sqlite3.Connection, sealed: Sealed, waiting: Tokens) -> Passages | None:
    """The passages of the present moment; those that wait and are not in `waiting` yet are cut."""
    last = int(sealed.ids[-1])
    sql = f"SELECT id FROM passages WHERE id > ? ORDER BY id LIMIT {MOST_WAITING + 1}"
    present = [row[0] for row in connection.execute(sql, (last,))]
    if len(present) > MOST_WAITING:
        return None
    if new := [one for one in present if one not in waiting.texts]:
        waiting.add(_rows(connection, new))
    ids = np.concatenate([sealed.ids, waiting.ids])
    tokens, characters = waiting.sizes()
    removed = [row[0] for row in connection.execute("SELECT id FROM postings_gone")]
    removed += waiting.texts.keys() - set(present)
    gone = np.isin(ids, removed) if removed else None
    characters = np.concatenate([sealed.characters, characters])
    trigrams = np.maximum(characters - 2, 0)
    tokens = _narrow(np.concatenate([sealed.tokens, tokens]))
    return Passages(ids, tokens, _narrow(characters), _narrow(trigrams), gone, sealed, waiting)


def _rows(connection: sqlite3.Connection, ids: Sequence[int]) -> list[Row]:
    """The words of passages, in the order of their ids."""
    sql = f"SELECT {word_columns(connection)} FROM passages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
    return connection.execute(sql, (json.dumps(ids),)).fetchall()


def _narrow(sizes: Sizes) -> Sizes:
    """The same numbers in two bytes each, if they are small: looking up a million of eight bytes takes long."""
    return sizes.astype(np.uint16) if int(sizes.max(initial=0)) < 2**16 else sizes


class PostingsMatching:
    """One search: see `matching.Matching`."""

    def __init__(self, connection: sqlite3.Connection, passages: Passages, sums: Scores, allowed: Ids | None) -> None:
        self._db = connection
        self._passages = passages
        self._sums = sums
        self._allowed = None if allowed is None else passages.mask(allowed)
        self._read: dict[tuple[int, str], tuple[Places, Sizes]] = {}
        self._phrases: dict[tuple[str, str], tuple[Places, Scores]] = {}
        self._totals = {kind: totals(connection, kind) for kind in TABLES}

    def size(self, table: str) -> int:
        return self._totals[_KINDS[table]][0]

    def counts(self, table: str, phrases: Iterable[str]) -> dict[str, int]:
        kind, most = _KINDS[table], most_informative(self.size(table))
        counts = {}
        for phrase in phrases:
            term = _term(kind, phrase)
            n = self._count_of_phrase(table, phrase, most) if term is None else len(self._postings(kind, term)[0])
            counts[phrase] = min(n, most + 1)
        return counts

    def best(self, table: str, phrases: Sequence[str], k: int) -> ScoredPassages:
        kind = _KINDS[table]
        size, tokens = self._totals[kind]
        lengths = self._passages.tokens if kind == WORDS else self._passages.trigrams
        parts = []
        for phrase in phrases:
            term = _term(kind, phrase)
            if term is None:
                parts.append(self._phrase(table, phrase))
            else:
                places, counts = self._postings(kind, term)
                weight = bm25.idf(size, len(places))
                parts.append((places, bm25.scores(weight, counts, lengths[places], tokens / size)))
        return best_sums([self._allowed_of(*part) for part in parts], k, self._sums)

    def scaled(self, part: ScoredPassages, factor: float) -> ScoredPassages:
        return part.scaled(factor)

    def of_short_run(self, run: str) -> ScoredPassages:
        places, counts = self._postings(GRAMS, run)
        lengths = self._passages.characters[places]
        weight = bm25.idf(self.size("passages_fts"), len(places))
        mean = float(lengths.mean()) if len(lengths) else 1.0
        return ScoredPassages(*self._allowed_of(places, bm25.scores(weight, counts, lengths, mean)))

    def ordered(self, part: ScoredPassages, k: int) -> tuple[list[int], list[float]]:
        places, scores = part.ordered(k)
        return self._passages.ids[places].tolist(), scores.tolist()

    def complete(self, ids: Sequence[int], runs: Sequence[str], words: Sequence[str]) -> Iterable[int]:
        having = np.array(ids, dtype=np.int64)
        if not runs:  # beside runs, a word may be inside one
            places = self._passages.places(having)
            of_all = np.ones(len(ids), dtype=np.bool_)
            for word in words:
                of_all &= _are_in(places, self._having(word))
            having = having[of_all]
        rows = _rows(self._db, np.sort(having).tolist())
        rows = [row for row in rows if all(run in row[1] for run in runs)]
        plain = not runs and all(_term(WORDS, word) is not None for word in words)
        sure = {row[0] for row in rows if not words or (plain and not row[2])}  # without keywords, it is in the text
        if rest := [row for row in rows if row[0] not in sure]:
            with Tokens(rest) as tokens:
                sure |= tokens.having([] if runs else words, words if runs else ())
        return sure

    def known_terms(self, stem: str, least: int, most: int, start: int = 1) -> list[str]:
        return known_terms(self._db, stem[:start], least, most)

    def _having(self, word: str) -> Places:
        """The places, ascending, that have a word or phrase."""
        term = _term(WORDS, word)
        return self._phrase("passages_fts", word)[0] if term is None else self._postings(WORDS, term)[0]

    def _postings(self, kind: int, term: str) -> tuple[Places, Sizes]:
        """The places (n,), ascending, of a term, and how often each has it (n,)."""
        if (kind, term) not in self._read:
            frequent = self._db.execute("SELECT 1 FROM frequent_terms WHERE kind = ? AND term = ?", (kind, term))
            read = self._from_segments if frequent.fetchone() else self._from_fts5
            self._read[kind, term] = read(kind, term)
        return self._read[kind, term]

    def _from_segments(self, kind: int, term: str) -> tuple[Places, Sizes]:
        rows = self._db.execute(_ROWS, (kind, term)).fetchall()
        places, counts = decoded(rows, kind, term, self._passages.sealed)
        ids, often = self._passages.waiting.occurrences(kind, term)
        if len(ids):
            places = np.concatenate([places, self._passages.places(ids)])
            counts = np.concatenate([counts, often])
        return self._passages.present(places, counts)

    def _from_fts5(self, kind: int, term: str) -> tuple[Places, Sizes]:
        short = kind == GRAMS and len(term) < 3
        ids, counts = short_run(self._db, term)[:2] if short else occurrences(self._db, kind, term)
        return self._passages.places(ids), counts

    def _count_of_phrase(self, table: str, phrase: str, most: int) -> int:
        """As `counted`; of a rare phrase the scores are read with its passages, because they are asked for next."""
        rare = self._phrase(table, phrase, RARE + 1)
        if len(rare[0]) > RARE:
            return counted(self._db, table, phrase, most)
        self._phrases[table, phrase] = rare
        return len(rare[0])

    def _phrase(self, table: str, phrase: str, most: int = -1) -> tuple[Places, Scores]:
        """The places (n,) of a phrase of several tokens, and its part of bm25 (n,)."""
        if (table, phrase) in self._phrases:
            return self._phrases[table, phrase]
        sql = f"SELECT rowid, -bm25({table}) FROM {table} WHERE {table} MATCH ? LIMIT ?"
        rows = self._db.execute(sql, (quoted(phrase), most)).fetchall()
        ids = np.array([row for row, _ in rows], dtype=np.int64)
        return self._passages.places(ids), np.array([score for _, score in rows], dtype=np.float64)

    def _allowed_of(self, places: Places, scores: Scores) -> tuple[Places, Scores]:
        if self._allowed is None:
            return places, scores
        inside = self._allowed[places]
        return places[inside], scores[inside]


def _are_in(places: Places, some: Places) -> NDArray[np.bool_]:
    """(n,) whether each of `places` is among `some`, which ascend."""
    if not len(some):
        return np.zeros(len(places), dtype=np.bool_)
    at = np.minimum(np.searchsorted(some, places), len(some) - 1)
    return np.asarray(some[at] == places)


def _term(kind: int, phrase: str) -> str | None:
    """The only token of a word; None for several."""
    tokens = cut(kind, phrase)
    return tokens[0] if len(tokens) == 1 else None
