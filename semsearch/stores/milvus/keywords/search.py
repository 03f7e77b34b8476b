"""Keyword search: the form of `keyword_search.Matching` in which Milvus finds the passages, and we score them.

Milvus searches a list of words, which every version since 2.3.2 can and later ones have an index for. Sparse vectors
came in 2.4 and BM25 in 2.5, with other statistics and another notion of a word. Here both are the local store's, so a
search finds the same. Of more than MOST_READ passages with the words of a query, those are read that are best when each
word stands in them once; of more than MOST_FOUND, only so many are looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores import bm25, keyword_search
from semsearch.stores.entries import keywords
from semsearch.stores.milvus import rows
from semsearch.stores.milvus.keywords import columns as words
from semsearch.stores.query_words import has_cjk, terms
from semsearch.stores.terms import GRAMS, WORDS, Tokens, cut
from semsearch.types import Document

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.bm25 import Scores
    from semsearch.stores.milvus.index_tables import IndexTables
    from semsearch.stores.milvus.server.calls import Row
    from semsearch.stores.protocol import Lexical
    from semsearch.types import Ids

MOST_FOUND = 20_000
MOST_READ = 2_000
SAMPLE = 2_000  # passages whose lengths give the mean
KINDS = {"passages_fts": WORDS, "passages_cjk": GRAMS}
_LENGTH = {WORDS: "length", GRAMS: "characters"}


def search(tables: IndexTables, text: str, k: int, within: Sequence[str] | None) -> Lexical:
    """The k best passages among those that fit any of the conditions `within`."""
    asked = terms(text)
    if k < 1 or not asked or (within is not None and not within):
        return keyword_search.nothing()
    return keyword_search.search(MilvusMatching(tables, within), asked, k)


class MilvusMatching:
    """One search in the words of an index."""

    def __init__(self, tables: IndexTables, within: Sequence[str] | None) -> None:
        self._tables = tables
        self._within = within
        self._sizes: dict[str, int] = {}
        self._counted: dict[tuple[int, str], int] = {}
        self._means: dict[int, float] = {}

    def size(self, table: str) -> int:
        if table not in self._sizes:
            condition = "" if KINDS[table] == WORDS else words.all_of([words.GRAM])
            self._sizes[table] = self._tables.passages.count(condition)
        return self._sizes[table]

    def counts(self, table: str, phrases: Iterable[str]) -> dict[str, int]:
        return {phrase: self._having(KINDS[table], phrase) for phrase in phrases}

    def _having(self, kind: int, phrase: str) -> int:
        key = kind, phrase
        if key not in self._counted:
            self._counted[key] = self._tables.passages.count(words.condition(kind, phrase))
        return self._counted[key]

    def best(self, table: str, phrases: Sequence[str], k: int) -> Counter[int]:
        kind = KINDS[table]
        weights = {phrase: bm25.idf(self.size(table), self._having(kind, phrase)) for phrase in phrases}
        mean = self._mean(kind) if phrases else 1.0
        found = self._candidates(kind, phrases)
        if len(found) > MOST_READ:
            found = sorted(found, key=lambda row: -_rough(row, kind, weights, mean))[: max(MOST_READ, 2 * k)]
        scores: Counter[int] = Counter()
        with self._read([row["id"] for row in found]) as read:
            lengths = dict(zip(read.texts, read.sizes()[kind].tolist(), strict=True))
            for phrase, weight in weights.items():
                ids, counts = _occurrences(read, kind, phrase)
                sizes = np.array([lengths[one] for one in ids], dtype=np.int64)
                scored = bm25.scores(weight, np.array(counts, dtype=np.int64), sizes, mean)
                scores.update(dict(zip(ids, scored.tolist(), strict=True)))
        return Counter(dict(sorted(scores.items(), key=_order)[:k]))

    def of_short_run(self, run: str) -> Counter[int]:
        found = [row["id"] for row in self._candidates(GRAMS, [run])]
        with self._read(found) as read:
            ids, counts = read.occurrences(GRAMS, run)
            lengths = np.array([len(read.texts[one]) for one in ids.tolist()], dtype=np.int64)
        if not len(ids):
            return Counter()
        weight = bm25.idf(self.size("passages_fts"), self._having(GRAMS, run))
        scores = bm25.scores(weight, counts, lengths, float(lengths.mean()))
        return Counter(dict(zip(ids.tolist(), scores.tolist(), strict=True)))

    def ordered(self, part: Counter[int], k: int) -> tuple[Ids, Scores]:
        best = sorted(part.items(), key=_order)[:k]
        return rows.array([one for one, _ in best]), np.array([score for _, score in best], dtype=np.float64)

    def complete(self, ids: Ids, runs: Sequence[str], words: Sequence[str]) -> NDArray[np.bool_]:
        with self._read(ids.tolist()) as read:
            spaced = read.having([] if runs else words, words if runs else [])
            having = [one for one in spaced if all(run in read.texts[one] for run in runs)]
        return np.isin(ids, having)

    def known_terms(self, first: str, least: int, most: int) -> list[str]:
        """Milvus cannot list them, so no word is corrected."""
        return []

    def _candidates(self, kind: int, phrases: Sequence[str]) -> list[Row]:
        """At most MOST_FOUND passages with any of some phrases: their ids, lengths and words."""
        if not phrases:
            return []
        any_of = " or ".join(words.condition(kind, phrase) for phrase in phrases)
        conditions = [f"({any_of})"] if self._within is None else [f"({one}) and ({any_of})" for one in self._within]
        found: list[Row] = []
        for piece in self._tables.passages.fitting(conditions, ["length", "characters", "words"]):
            found += piece
            if len(found) >= MOST_FOUND:
                break
        return found

    def _read(self, ids: Sequence[int]) -> Tokens:
        """The texts of passages that their documents name, cut into terms."""
        tables = self._tables
        found = list(tables.passages.get(ids, ["document", "data"]).values())
        documents = tables.documents.get({row["document"] for row in found}, ["head"])
        heads = {row["key"]: head for row, head in tables.heads(list(documents.values()))}
        parts = tables.parts(found, "data")
        read = []
        for row in sorted(found, key=lambda row: int(row["id"])):
            head = heads.get(row["document"])
            if head is not None and row["id"] in head.ids:
                passage = rows.passage_of(row, parts)
                more = keywords(Document(head.uri, "", title=head.title), passage)
                read.append((int(row["id"]), passage.text, more, int(has_cjk(passage.text))))
        return Tokens(read)

    def _mean(self, kind: int) -> float:
        if kind not in self._means:
            column = _LENGTH[kind]
            found = self._tables.server.query(self._tables.passages.collection, f"{column} > 0", [column], limit=SAMPLE)
            self._means[kind] = float(np.mean([row[column] for row in found])) if found else 1.0
        return self._means[kind]


def _occurrences(read: Tokens, kind: int, phrase: str) -> tuple[list[int], list[int]]:
    """The passages that have a phrase, and how often; in a phrase of several terms, once."""
    found = cut(kind, phrase)
    if len(found) == 1:
        ids, counts = read.occurrences(kind, found[0])
        return ids.tolist(), counts.tolist()
    having = sorted(read.matching(kind, phrase))
    return having, [1] * len(having)


def _order(scored: tuple[int, float]) -> tuple[float, int]:
    return -scored[1], scored[0]


def _rough(row: Row, kind: int, weights: dict[str, float], mean: float) -> float:
    """The BM25 of a passage in which each of its words stands once."""
    there = {*row["words"]}
    prefix = words.GRAM if kind == GRAMS else ""
    norm = bm25.K1 * (1 - bm25.B + bm25.B * row[_LENGTH[kind]] / mean)
    found = [weight for phrase, weight in weights.items() if all(prefix + one in there for one in cut(kind, phrase))]
    return float(sum(found) * (bm25.K1 + 1) / (1 + norm))
