"""Whether the text of a passage contains something: conditions on a row of the table `words`, with their values."""

from __future__ import annotations

from semsearch.stores.postgres.full_text import words
from semsearch.stores.query_words import exact_entry, has_cjk, required_words
from semsearch.stores.terms import GRAMS, WORDS


def contains(entry: str) -> tuple[str, list[str]]:
    """A condition on a row of `words`: the text of the passage contains a word, a phrase or a CJK run.

    Raises UsageError for an entry without a letter or digit.
    """
    plain, exact = required_words(entry), exact_entry(entry)
    tests, queries = list[str](), list[str]()
    if not has_cjk(exact):
        tests.append("vector @@ %s::tsquery")
        queries.append(words.phrase(WORDS, " ".join(plain), in_text=True))
    if len(exact) > 2 or has_cjk(exact):
        tests.append("grams @@ %s::tsquery")
        queries.append(words.phrase(GRAMS, exact))
    return f"({' OR '.join(tests)})", queries


def has_word(entry: str) -> tuple[str, list[str]]:
    """The same of a word or phrase that is no part of a longer word."""
    kind = GRAMS if has_cjk(entry) else WORDS
    column = "grams" if kind == GRAMS else "vector"
    return f"{column} @@ %s::tsquery", [words.phrase(kind, entry, in_text=True)]
