"""Keyword search: the form of `keyword_search.Matching` in which Milvus finds the passages, and we score them.

Milvus searches a list of words, which every version since 2.3.2 can and later ones have an index for. Sparse vectors
came in 2.4 and BM25 in 2.5, with other statistics and another notion of a word. Here both are the local store's, so a
search finds the same. Only passages are read that may be among the best (`candidates`), and at most MOST_READ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores import bm25, keyword_search
from semsearch.stores.entries import keywords
from semsearch.stores.milvus import rows
from semsearch.stores.milvus.keywords import columns as words
from semsearch.stores.milvus.keywords.lists import MOST_READ, WordLists
from semsearch.stores.query_words import has_cjk, terms
from semsearch.stores.terms import GRAMS, WORDS, Row, Tokens
from semsearch.types import Document

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.bm25 import Scores
    from semsearch.stores.milvus.index_tables import IndexTables
    from semsearch.stores.protocol import Lexical
    from semsearch.types import Ids

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
        self._lists = WordLists(tables, within, self._read)
        self._texts: dict[int, Row] = {}
        self._sizes: dict[str, int] = {}
        self._means: dict[int, float] = {}

    def size(self, table: str) -> int:
        if table not in self._sizes:
            condition = "" if KINDS[table] == WORDS else words.all_of([words.GRAM])
            self._sizes[table] = self._tables.passages.count(condition)
        return self._sizes[table]

    def counts(self, table: str, phrases: Iterable[str]) -> dict[str, int]:
        return {phrase: self._lists.count(KINDS[table], phrase) for phrase in phrases}

    def best(self, table: str, phrases: Sequence[str], k: int) -> Counter[int]:
        kind = KINDS[table]
        weights = {phrase: bm25.idf(self.size(table), self._lists.count(kind, phrase)) for phrase in phrases}
        scores: Counter[int] = Counter()
        if not weights:
            return scores
        mean = self._mean(kind)
        found = self._lists.candidates(kind, weights, k, mean)
        for ids, most in found.reading(k, max(MOST_READ, 2 * k)):
            kth = sorted(scores.values())[-k] if len(scores) >= k else 0.0
            if not (wanted := ids[most >= kth].tolist()):
                break
            scores.update(self._scored(kind, weights, mean, wanted))
        return Counter(dict(sorted(scores.items(), key=_order)[:k]))

    def _scored(self, kind: int, weights: Mapping[str, float], mean: float, ids: Sequence[int]) -> Counter[int]:
        scores: Counter[int] = Counter()
        with self._read(ids) as read:
            lengths = dict(zip(read.texts, read.sizes()[kind].tolist(), strict=True))
            for phrase, weight in weights.items():
                having, counts = read.occurrences_of_phrase(kind, phrase)
                sizes = np.array([lengths[one] for one in having.tolist()], dtype=np.int64)
                scored = bm25.scores(weight, counts, sizes, mean)
                scores.update(dict(zip(having.tolist(), scored.tolist(), strict=True)))
        return scores

    def of_short_run(self, run: str) -> Counter[int]:
        with self._read(self._lists.with_any(GRAMS, [run])) as read:
            ids, counts = read.occurrences(GRAMS, run)
            lengths = np.array([len(read.texts[one]) for one in ids.tolist()], dtype=np.int64)
        if not len(ids):
            return Counter()
        weight = bm25.idf(self.size("passages_fts"), self._lists.count(GRAMS, run))
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

    def _read(self, ids: Sequence[int]) -> Tokens:
        """The texts of passages that their documents name, cut into terms."""
        self._remember([one for one in ids if one not in self._texts])
        return Tokens([self._texts[one] for one in sorted(ids) if one in self._texts])

    def _remember(self, ids: Sequence[int]) -> None:
        tables = self._tables
        found = list(tables.passages.get(ids, ["document", "data"]).values())
        documents = tables.documents.get({row["document"] for row in found}, ["head"])
        heads = {row["key"]: head for row, head in tables.heads(list(documents.values()))}
        parts = tables.parts(found, "data")
        for row in found:
            head = heads.get(row["document"])
            if head is not None and row["id"] in head.ids:
                passage = rows.passage_of(row, parts)
                more = keywords(Document(head.uri, "", title=head.title), passage)
                self._texts[row["id"]] = row["id"], passage.text, more, int(has_cjk(passage.text))

    def _mean(self, kind: int) -> float:
        if kind not in self._means:
            column = _LENGTH[kind]
            found = self._tables.server.query(self._tables.passages.collection, f"{column} > 0", [column], limit=SAMPLE)
            self._means[kind] = float(np.mean([row[column] for row in found])) if found else 1.0
        return self._means[kind]


def _order(scored: tuple[int, float]) -> tuple[float, int]:
    return -scored[1], scored[0]
