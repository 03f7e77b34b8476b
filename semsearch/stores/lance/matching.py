"""How Lance finds passages by words: its inverted indexes over terms of our own cutting, ranked by its own BM25.

So a word means the same as in every store. The library gives words of many passages more weight than the others do,
log(1 + x) for their log(x), so that here each of these is weighed down to what it has there. Quoted phrases keep the
library's weight, and passages that are newer than the index are counted by themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from math import log1p
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores.lance.client import Arrow
from semsearch.stores.lance.client import words_query as q
from semsearch.stores.lance.rows import KEYWORDS, spaced, terms_of
from semsearch.stores.lance.table import Row, Table
from semsearch.stores.sql import bm25
from semsearch.stores.sql.query_terms import exact_entry, has_cjk
from semsearch.stores.sql.scored_passages import ScoredPassages
from semsearch.stores.sql.tokenizer import GRAMS, WORDS

if TYPE_CHECKING:
    from semsearch.types import Ids

_COLUMNS = {"passages_fts": ("words", WORDS), "passages_cjk": ("grams", GRAMS)}
STEPS = 20  # of weights between 0 and 1: words of one weight are one question, and most words have weight 1
MOST_OF_RUN = 1_000  # passages with a run of one or two letters that are scored
FEW = 5_000  # passages whose words are read once and counted here: a question to an index takes some milliseconds
SIMILAR = 64  # passages whose words are looked through for the one that was meant


class LanceMatching:
    """One search: see `lexical_search.Matching`. Call it inside a snapshot. `allowed`: a condition, "" for none."""

    def __init__(self, table: Table, allowed: str) -> None:
        self._table = table
        self._allowed = allowed
        self._read: dict[int, Row] = {}  # the words of the passages that were scored

    def size(self, table: str) -> int:
        condition = "kind = 'passage'" if table == "passages_fts" else "grams IS NOT NULL"
        return self._table.remembered(("size", table), lambda: self._table.count(condition))

    def counts(self, table: str, phrases: Iterable[str]) -> dict[str, int]:
        return {
            phrase: self._table.remembered((table, phrase), partial(self._count, table, phrase)) for phrase in phrases
        }

    def _count(self, table: str, phrase: str) -> int:
        column, kind = _COLUMNS[table]
        terms = terms_of(kind, phrase)
        if not terms:
            return 0
        if self.size(table) <= FEW:
            together = spaced(terms)
            return sum(together in one for one in self._texts(table))
        query = q.MatchQuery(terms[0], column) if len(terms) == 1 else q.PhraseQuery(" ".join(terms), column)
        now = self._table.now
        with self._table.explained():
            return int(
                now.scanner(
                    columns=[], with_row_id=True, full_text_query=query, disable_scoring_autoprojection=True
                ).count_rows()
            )

    def _texts(self, table: str) -> list[str]:
        """The terms of all passages."""
        column = _COLUMNS[table][0]

        def read() -> list[str]:
            return [row[column] for row in self._table.rows([column], f"{column} IS NOT NULL")]

        return self._table.remembered(("texts", table), read)

    def best(self, table: str, phrases: Sequence[str], k: int) -> ScoredPassages:
        column, kind = _COLUMNS[table]
        by_weight, parts = defaultdict[float, list[str]](list), list[Arrow]()
        for phrase in phrases:
            terms = terms_of(kind, phrase)
            if len(terms) == 1:
                by_weight[self._weight(table, phrase)] += terms
            elif terms:
                parts.append(q.PhraseQuery(" ".join(terms), column))
        parts += [q.MatchQuery(" ".join(words), column, boost=weight) for weight, words in by_weight.items()]
        if not parts or not self.size(table):
            return ScoredPassages.none()
        query = parts[0] if len(parts) == 1 else q.BooleanQuery([(q.Occur.SHOULD, part) for part in parts])
        rows = self._scan(["id", "_score", "words", "grams"], query, k)
        self._read |= {row["id"]: row for row in rows}
        ids: Ids = np.array([row["id"] for row in rows], dtype=np.int64)
        return ScoredPassages.of(ids, np.array([row["_score"] for row in rows], dtype=np.float64))

    def _weight(self, table: str, word: str) -> float:
        """What a word counts, as a part of what the library gives it."""
        size, having = self.size(table), self.counts(table, [word])[word]
        of_library = log1p((size - having + 0.5) / (having + 0.5))
        return max(1e-6, round(STEPS * bm25.idf(size, having) / of_library) / STEPS)

    def scaled(self, part: ScoredPassages, factor: float) -> ScoredPassages:
        return part.scaled(factor)

    def of_short_run(self, run: str) -> ScoredPassages:
        return self.best("passages_cjk", [run], MOST_OF_RUN)

    def ordered(self, part: ScoredPassages, k: int) -> tuple[list[int], list[float]]:
        ids, scores = part.ordered(k)
        return ids.tolist(), scores.tolist()

    def complete(self, ids: Sequence[int], runs: Sequence[str], words: Sequence[str]) -> Iterable[int]:
        entries = [*runs, *words]
        return [one for one in ids if all(_has(self._read[one], entry, inside=bool(runs)) for entry in entries)]

    def known_terms(self, stem: str, least: int, most: int, start: int = 1) -> list[str]:
        """Beyond FEW passages, those that the library takes for similar."""
        if self.size("passages_fts") <= FEW:
            terms = self._table.remembered("vocabulary", lambda: _vocabulary(self._texts("passages_fts")))
        else:
            query = q.MatchQuery(stem, "words", fuzziness=2, prefix_length=1, max_expansions=SIMILAR)
            terms = _vocabulary(row["words"] for row in self._scan(["words"], query, SIMILAR))
        return sorted(term for term in terms if term[:start] == stem[:start] and least <= len(term) <= most)

    def _scan(self, columns: Sequence[str], query: Arrow, k: int) -> list[Row]:
        allowed = self._allowed if "_score" in columns else ""
        return self._table.rows(columns, allowed, full_text_query=query, limit=k, prefilter=True)


def _vocabulary(texts: Iterable[str]) -> set[str]:
    return {term for text in texts for term in text.split(" ")}


def _has(row: Row, entry: str, *, inside: bool) -> bool:
    """Whether the text of a passage has a word or a CJK run; inside: also as a part of a longer word."""
    if has_cjk(entry) or inside:
        grams = row["grams"] or ""
        if spaced(terms_of(GRAMS, exact_entry(entry))) in grams:
            return True
    own = row["words"].partition(f" {KEYWORDS} ")[0] + " "
    return not has_cjk(entry) and spaced(terms_of(WORDS, entry)) in own
