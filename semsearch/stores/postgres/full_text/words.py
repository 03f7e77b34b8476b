"""The words of passages as PostgreSQL indexes them: tsvectors of our own making, cut as every store cuts texts.

A lexeme is a term of `stores.sql.tokenizer`; its positions are the numbers of the tokens, those of the text with the
weight A, those of the keywords after them, with a gap that no phrase spans. PostgreSQL's own text search configurations
are not used. `grams` has the trigrams of passages with CJK letters, and single letters and pairs for short runs, at the
positions of their characters.

What a tsvector cannot hold: beyond 255 occurrences of a term in a passage there is no counting, beyond 16,383 tokens no
phrase, and the last terms of a passage of more than about a megabyte are not found.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from semsearch.stores.sql.folding import fold
from semsearch.stores.sql.query_terms import exact_entry, has_cjk, required_words
from semsearch.stores.sql.tokenizer import GRAMS, WORDS, Tokens, cut

LAST_POSITION = 16_383
LONGEST_TERM = 255  # bytes; a longer one stands as its hash. PostgreSQL's limit is 2,046
MOST_BYTES = 1_000_000  # of a tsvector's terms and positions; PostgreSQL's limit is 2^20
GAP = 2  # between the positions of text and keywords
CORRECTED_LETTERS = range(4, 65)  # of terms in the vocabulary, from which words are corrected


class PassageWords(NamedTuple):
    """A row of the table `words`, and the terms for the vocabulary."""

    passage: int
    tokens: int
    vector: str
    characters: int
    grams: str | None
    terms: frozenset[str]


def of_passages(passages: Iterable[tuple[int, str, str]]) -> list[PassageWords]:
    """The words of passages: id, text, keywords; ids ascend."""
    rows = [(number, fold(text), fold(more)) for number, text, more in passages]
    with_cjk = {number for number, text, _ in rows if has_cjk(text)}
    with Tokens((number, text, keywords, int(number in with_cjk)) for number, text, keywords in rows) as tokens:
        words, sizes = _words(tokens), dict(zip(tokens.ids.tolist(), tokens.sizes()[0].tolist(), strict=True))
        grams = _grams(tokens, {number: text.partition("\0")[0] for number, text, _ in rows if number in with_cjk})
    made = []
    for number, text, _ in rows:
        here = words.get(number, {})
        vocabulary = frozenset(term for term in here if len(term) in CORRECTED_LETTERS)
        characters = len(text.partition("\0")[0]) if number in with_cjk else 0
        of_grams = _tsvector(grams.get(number, {})) if number in with_cjk else None
        made.append(PassageWords(number, sizes[number], _tsvector(here), characters, of_grams, vocabulary))
    return made


def phrase(kind: int, text: str, *, in_text: bool = False) -> str:
    """A word or phrase as a tsquery; "" where it has no term. in_text: not among the keywords."""
    weight = ":A" if in_text else ""
    terms = [text.lower()] if kind == GRAMS and len(text) < 3 else list(cut(kind, text))
    return " <-> ".join(f"{lexeme(term)}{weight}" for term in terms)


def contains(entry: str) -> tuple[str, list[str]]:
    """A condition on a row of `words`: the text of the passage contains a word, a phrase or a CJK run.

    Raises UsageError for an entry without a letter or digit.
    """
    plain, exact = required_words(entry), exact_entry(entry)
    tests, queries = list[str](), list[str]()
    if not has_cjk(exact):
        tests.append("vector @@ ?::tsquery")
        queries.append(phrase(WORDS, " ".join(plain), in_text=True))
    if len(exact) > 2 or has_cjk(exact):
        tests.append("grams @@ ?::tsquery")
        queries.append(phrase(GRAMS, exact))
    return f"({' OR '.join(tests)})", queries


def has_word(entry: str) -> tuple[str, list[str]]:
    """The same of a word or phrase that is no part of a longer word."""
    kind = GRAMS if has_cjk(entry) else WORDS
    column = "grams" if kind == GRAMS else "vector"
    return f"{column} @@ ?::tsquery", [phrase(kind, entry, in_text=True)]


def terms_of(kind: int, text: str) -> list[str]:
    """The terms of a word or phrase, as they stand in a tsvector."""
    return [text.lower()] if kind == GRAMS and len(text) < 3 else [_short(term) for term in cut(kind, text)]


def lexeme(term: str) -> str:
    """A term in the syntax of tsvector and tsquery."""
    return "'" + _short(term).replace("\\", "\\\\").replace("'", "''") + "'"


def _short(term: str) -> str:
    term = term.replace("\0", "\ufffd")
    packed = term.encode("utf-8", "replace")
    return term if len(packed) <= LONGEST_TERM else f"sha256 {hashlib.sha256(packed).hexdigest()}"


def _words(tokens: Tokens) -> dict[int, dict[str, list[str]]]:
    """Passage -> term -> its positions, with their weights."""
    rows = tokens.places(WORDS)
    ends: defaultdict[int, int] = defaultdict(int)  # the position after the last one of the text
    for number, column, _, offset in rows:
        if column == "text":
            ends[number] = max(ends[number], offset + 1)
    places: defaultdict[int, dict[str, list[str]]] = defaultdict(dict)
    for number, column, term, offset in rows:
        at = offset + 1 if column == "text" else ends[number] + GAP + offset
        position = f"{min(at, LAST_POSITION)}{'A' if column == 'text' else ''}"
        places[number].setdefault(term, []).append(position)
    return places


def _grams(tokens: Tokens, texts: Mapping[int, str]) -> dict[int, dict[str, list[str]]]:
    """Passage -> run of one to three characters -> its positions."""
    places: defaultdict[int, dict[str, list[str]]] = defaultdict(dict)
    for number, _, term, offset in tokens.places(GRAMS):
        places[number].setdefault(term, []).append(f"{min(offset + 1, LAST_POSITION)}A")
    for number, text in texts.items():
        lower = text.lower()
        for size in (1, 2):
            for at in range(len(lower) - size + 1):
                if has_cjk(gram := lower[at : at + size]):
                    places[number].setdefault(gram, []).append(f"{min(at + 1, LAST_POSITION)}A")
    return places


def _tsvector(places: Mapping[str, Iterable[str]]) -> str:
    parts, size = [], 0
    for term, positions in places.items():
        listed = list(positions)
        written = lexeme(term)
        size += len(written.encode()) + 2 * len(listed) + 4
        if size > MOST_BYTES:
            break
        parts.append(f"{written}:{','.join(listed)}")
    return " ".join(parts)
