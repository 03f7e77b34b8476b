"""Which passages have a word: counts, lists, and the candidates of a search, from what Milvus answers by conditions.

A condition finds the passages with all words of a phrase. Which of them have these in a row is read in their texts,
unless there are more than MOST_READ.

A word that more than LISTED passages have is frequent: it is not listed, but looked for in those that have rarer words,
unless it alone could make a passage one of the best. Then passages are added that have the rarest of the frequent words
and any other word, then any frequent word: at most MOST_FOUND each time; which of them, if there are more, is chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores import bm25
from semsearch.stores.milvus.keywords import columns as words
from semsearch.stores.milvus.keywords.candidates import Candidates, Having
from semsearch.stores.milvus.server.calls import MOST_ROWS
from semsearch.stores.milvus.server.tables import among
from semsearch.stores.terms import GRAMS, WORDS, Tokens

if TYPE_CHECKING:
    from semsearch.stores.milvus.index_tables import IndexTables
    from semsearch.types import Ids

LISTED = 4_096
MOST_FOUND = MOST_ROWS
MOST_READ = 2_000  # passages; of more, those that have the most for certain
_LENGTH = {WORDS: "length", GRAMS: "characters"}
_Lengths = dict[int, int]  # of passages, by their ids


class WordLists:
    """The passages of an index that have a word, in one search.

    within: conditions of which candidates fit any; read: the texts of passages, cut into terms.
    """

    def __init__(
        self, tables: IndexTables, within: Sequence[str] | None, read: Callable[[Sequence[int]], Tokens]
    ) -> None:
        self._tables = tables
        self._within = within
        self._read = read
        self._counts: dict[tuple[int, str], int] = {}
        self._lists: dict[tuple[int, str], _Lengths] = {}
        self._read_in_texts: set[tuple[int, str]] = set()  # what these lists hold is certain

    def count(self, kind: int, phrase: str) -> int:
        """How many passages of the index have a word or phrase; it is listed on the way where that is the same."""
        key = kind, phrase
        if key not in self._counts:
            listed = None if self._within else self._listed(kind, phrase)
            self._counts[key] = self._counted(kind, phrase) if listed is None else len(listed)
        return self._counts[key]

    def _counted(self, kind: int, phrase: str) -> int:
        if self._within and not words.is_exact(kind, phrase):
            return WordLists(self._tables, None, self._read).count(kind, phrase)
        return self._tables.passages.count(words.condition(kind, phrase))

    def candidates(self, kind: int, weights: Mapping[str, float], k: int, mean: float) -> Candidates:
        """Passages with any of some words or phrases, among which the k best ones are."""
        rarest = sorted(weights, key=lambda phrase: (-weights[phrase], phrase))
        if self._within is None or len(self._within) == 1:
            return self._by_word(kind, {phrase: weights[phrase] for phrase in rarest}, k, mean)
        return self._by_passage(kind, weights, mean)

    def with_any(self, kind: int, phrases: Iterable[str]) -> list[int]:
        """At most MOST_FOUND passages that have any of some phrases."""
        return list(self._found(kind, _any_of(kind, phrases)))

    def _by_word(self, kind: int, weights: Mapping[str, float], k: int, mean: float) -> Candidates:
        """The candidates from a list for each word, which are the rarest first."""
        lengths: _Lengths = {}
        having: list[Having] = []
        frequent = []
        for phrase, weight in weights.items():
            if (listed := self._listed(kind, phrase)) is None:
                frequent.append(phrase)
            else:
                lengths |= listed
                having.append(self._having(kind, phrase, weight, listed))
        found = Candidates(lengths, having, mean)
        if not frequent:
            return found
        if found.kth_least(k) < sum(weights[phrase] * (bm25.K1 + 1) for phrase in frequent):
            lengths |= self._of_frequent(kind, frequent, [phrase for phrase in weights if phrase != frequent[0]], k)
            found = Candidates(lengths, having, mean)
        chosen = found.best(max(MOST_READ, 2 * k))
        having += [
            self._having(kind, phrase, weights[phrase], self._among(kind, phrase, chosen)) for phrase in frequent
        ]
        return Candidates({one: lengths[one] for one in chosen.tolist()}, having, mean)

    def _of_frequent(self, kind: int, frequent: Sequence[str], others: Sequence[str], k: int) -> _Lengths:
        both = f"{words.condition(kind, frequent[0])} and {_any_of(kind, others)}" if others else ""
        found = self._found(kind, both) if both else {}
        return found if len(found) >= k else found | self._found(kind, _any_of(kind, frequent))

    def _by_passage(self, kind: int, weights: Mapping[str, float], mean: float) -> Candidates:
        """The candidates from passages that fit any of several conditions, each asked once, and the words of these."""
        lengths: _Lengths = {}
        having: dict[str, _Lengths] = {phrase: {} for phrase in weights}
        any_of = _any_of(kind, weights)
        conditions = [f"({one}) and {any_of}" for one in self._within or ()]
        for piece in self._tables.passages.fitting(conditions, [_LENGTH[kind], "words"]):
            for row in piece:
                there = {*row["words"]}
                lengths[row["id"]] = row[_LENGTH[kind]]
                for phrase, found in having.items():
                    if all(one in there for one in words.stored_terms(kind, phrase)):
                        found[row["id"]] = row[_LENGTH[kind]]
            if len(lengths) >= MOST_FOUND:
                break
        return Candidates(lengths, [self._having(kind, one, weights[one], having[one]) for one in weights], mean)

    def _listed(self, kind: int, phrase: str) -> _Lengths | None:
        """The passages with a phrase, and their lengths; None where there are more than LISTED."""
        key = kind, phrase
        if key in self._lists:
            return self._lists[key]
        if self._counts.get(key, 0) > LISTED and self._within is None:
            return None
        found = self._found(kind, words.condition(kind, phrase), LISTED + 1)
        if len(found) > LISTED:
            return None
        if not words.is_exact(kind, phrase) and len(found) <= MOST_READ:
            with self._read(list(found)) as read:
                found = {one: found[one] for one in read.occurrences_of_phrase(kind, phrase)[0].tolist()}
            self._read_in_texts.add(key)
        self._lists[key] = found
        return found

    def _having(self, kind: int, phrase: str, weight: float, listed: Mapping[int, int]) -> Having:
        ids = np.sort(np.fromiter(listed, dtype=np.int64, count=len(listed)))
        return Having(weight, ids, once=words.is_exact(kind, phrase) or (kind, phrase) in self._read_in_texts)

    def _among(self, kind: int, phrase: str, ids: Ids) -> _Lengths:
        """Those of some passages that have a phrase."""
        found: _Lengths = {}
        for condition in among("id", ids.tolist()):
            found |= self._found(kind, f"{condition} and {words.condition(kind, phrase)}")
        return found

    def _found(self, kind: int, condition: str, limit: int = MOST_FOUND) -> _Lengths:
        """At most `limit` passages that fit a condition and any of those within, in no order, and their lengths."""
        tests = [condition] if self._within is None else [f"({one}) and {condition}" for one in self._within]
        found: _Lengths = {}
        for test in tests:
            if len(found) < limit:
                column, left = _LENGTH[kind], limit - len(found)
                rows = self._tables.server.query(self._tables.passages.collection, test, ["id", column], limit=left)
                found |= {row["id"]: row[column] for row in rows}
        return found


def _any_of(kind: int, phrases: Iterable[str]) -> str:
    return f"({' or '.join(words.condition(kind, phrase) for phrase in phrases)})"
