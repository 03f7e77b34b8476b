"""How Lance finds passages by words: its inverted indexes over terms of our own cutting, ranked by its own BM25.

So a word means the same as in every store, while scores, and with them the order, are the library's: it counts the
passages of an index at once, and those that are newer than the index by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores.lance.client import Arrow
from semsearch.stores.lance.client import words_query as q
from semsearch.stores.lance.rows import KEYWORDS, spaced, terms_of
from semsearch.stores.lance.table import Row, Table
from semsearch.stores.sql.query_terms import exact_entry, has_cjk
from semsearch.stores.sql.scored_passages import ScoredPassages
from semsearch.stores.sql.tokenizer import GRAMS, WORDS

if TYPE_CHECKING:
    from semsearch.types import Ids

_COLUMNS = {"passages_fts": ("words", WORDS), "passages_cjk": ("grams", GRAMS)}
MOST_OF_RUN = 1_000  # passages with a run of one or two letters that are scored
FEW = 5_000  # passages whose words are read once and counted here: a question to an index takes some milliseconds
SIMILAR = 64  # passages whose words are looked through for the one that was meant


class LanceMatching:
    """One search: see `lexical_search.Matching`. Call it inside a snapshot. `allowed`: a condition, "" for none."""

    def __init__(self, table: Table, allowed: str) -> None:
        self._table = table
        self._allowed = allowed

    def size(self, table: str) -> int:
        condition = "kind = 'passage'" if table == "passages_fts" else "grams IS NOT NULL"
        return self._table.remembered(("size", table), lambda: self._table.count(condition))

    def counts(self, table: str, phrases: Iterable[str]) -> dict[str, int]:
        return {
            phrase: self._table.remembered((table, phrase), partial(self._count, table, phrase)) for phrase in phrases
        }

    def _count(self, table: str, phrase: str) -> int:
        query = _query(table, [phrase])
        if query is None:
            return 0
        if self.size(table) <= FEW:
            terms = spaced(terms_of(_COLUMNS[table][1], phrase))
            return sum(terms in one for one in self._texts(table))
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
        query = _query(table, phrases)
        if query is None or not self.size(table):
            return ScoredPassages.none()
        rows = self._scan(["id", "_score"], query, k)
        ids: Ids = np.array([row["id"] for row in rows], dtype=np.int64)
        return ScoredPassages.of(ids, np.array([row["_score"] for row in rows], dtype=np.float64))

    def scaled(self, part: ScoredPassages, factor: float) -> ScoredPassages:
        return part.scaled(factor)

    def of_short_run(self, run: str) -> ScoredPassages:
        return self.best("passages_cjk", [run], MOST_OF_RUN)

    def ordered(self, part: ScoredPassages, k: int) -> tuple[list[int], list[float]]:
        ids, scores = part.ordered(k)
        return ids.tolist(), scores.tolist()

    def complete(self, ids: Sequence[int], runs: Sequence[str], words: Sequence[str]) -> Iterable[int]:
        rows = self._table.rows_among(["id", "words", "grams"], "id", ids)
        return [row["id"] for row in rows if all(_has(row, entry, inside=bool(runs)) for entry in [*runs, *words])]

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


def _query(table: str, phrases: Sequence[str]) -> Arrow:
    """Passages with any of some words and phrases; None where they have no term."""
    column, kind = _COLUMNS[table]
    terms = [found for phrase in phrases if (found := terms_of(kind, phrase))]
    words = " ".join(one[0] for one in terms if len(one) == 1)
    parts: list[Arrow] = [q.MatchQuery(words, column)] if words else []
    parts += [q.PhraseQuery(" ".join(one), column) for one in terms if len(one) > 1]
    return q.BooleanQuery([(q.Occur.SHOULD, part) for part in parts]) if len(parts) > 1 else next(iter(parts), None)


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
