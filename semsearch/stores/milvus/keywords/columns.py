"""The words of passages as Milvus stores them: the terms of `stores.terms` in a list, those of letters behind a ~.

A passage with letters of an unspaced script has the single letters and pairs of its runs, the trigrams of its text, and
~ alone. What is too long for a row is cut to its beginning, so a list finds too much at most; the text decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from semsearch.stores.entries import keywords
from semsearch.stores.milvus.filtering.facts import is_plain
from semsearch.stores.milvus.server.schema import LONGEST_WORD, MOST_WORDS
from semsearch.stores.query_words import RUN, has_cjk
from semsearch.stores.terms import GRAMS, WORDS, Tokens, cut
from semsearch.types import Document, Passage

if TYPE_CHECKING:
    from semsearch.stores.milvus.server.calls import Row

GRAM = "~"
_CJK_RUN = re.compile(RUN.pattern)


def columns(passages: Sequence[tuple[Document, Passage]]) -> list[Row]:
    """The columns `words`, `length` and `characters` of some passages."""
    rows = [
        (number, passage.text, keywords(document, passage), int(has_cjk(passage.text)))
        for number, (document, passage) in enumerate(passages)
    ]
    with Tokens(rows) as tokens:
        lengths, characters = tokens.sizes()
        words: list[dict[str, None]] = [{} for _ in rows]
        for number, _, term, _ in tokens.places(WORDS):
            words[number][_cut(term)] = None
        for number, _, term, _ in tokens.places(GRAMS):
            words[number][_cut(GRAM + term)] = None
    for number, text, _, cjk in rows:
        words[number] |= dict.fromkeys([GRAM, *_short_grams(text)] if cjk else [])
    return [
        {"words": [*filter(is_plain, found)][:MOST_WORDS], "length": int(length), "characters": int(letters)}
        for found, length, letters in zip(words, lengths, characters, strict=True)
    ]


def condition(kind: int, phrase: str) -> str:
    """The condition on the column `words` that every passage with a word, phrase or run fits."""
    return all_of(_terms(kind, phrase))


def is_exact(kind: int, phrase: str) -> bool:
    """Whether only passages with it fit its condition: it is one word, stored as it is."""
    terms = _terms(kind, phrase)
    return len(terms) == 1 and stored_terms(kind, phrase) == terms


def stored_terms(kind: int, phrase: str) -> list[str]:
    """What the column `words` of every passage with a word, phrase or run has."""
    return [term for term in dict.fromkeys(map(_cut, _terms(kind, phrase))) if is_plain(term)]


def all_of(terms: Iterable[str]) -> str:
    """The condition that a passage has every one of some words; all passages fit none."""
    tests = [f'array_contains(words, "{term}")' for term in dict.fromkeys(map(_cut, terms)) if is_plain(term)]
    return f"({' and '.join(tests)})" if tests else "length >= 0"


def of_entry(entry: str) -> str:
    """The condition that every passage fits which contains an entry of `must`."""
    if has_cjk(entry):
        return condition(GRAMS, next(iter(_CJK_RUN.findall(entry)))[:1])
    inside = f" or {condition(GRAMS, entry)}" if len(entry) > 2 else ""
    return f"({condition(WORDS, entry)}{inside})"


def _terms(kind: int, phrase: str) -> list[str]:
    if kind == WORDS:
        return list(cut(WORDS, phrase))
    return [GRAM + phrase] if len(phrase) < 3 else [GRAM + term for term in cut(GRAMS, phrase)]


def _short_grams(text: str) -> Iterable[str]:
    for run in RUN.findall(text):
        yield from (GRAM + letter for letter in run)
        yield from (GRAM + run[at : at + 2] for at in range(len(run) - 1))


def _cut(word: str) -> str:
    """The beginning of a word that is too long for a row."""
    packed = word.encode()
    return word if len(packed) <= LONGEST_WORD else packed[:LONGEST_WORD].decode("utf-8", "ignore")
