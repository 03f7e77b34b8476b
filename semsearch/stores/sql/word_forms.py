"""Forms of a word in other languages than English: the terms of an index that have its stem.

The indexes cut words for English (Porter). Of a query in another language, each word is also searched for in the forms
that Snowball's algorithm for that language gives the same stem, so that "книги" finds "книгу". Nothing of this is
stored: it serves indexes that exist, and a language is chosen with each query.

Stop words by language were tried as well, and lowered the mean reciprocal rank on man pages in all six languages.

Source: https://snowballstem.org
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from semsearch.stores.sql.tokenizer import WORDS, cut
from semsearch.utils.languages import detection

ALGORITHMS = {  # those whose forms differ in their endings alone
    "ru": "russian",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "pt": "portuguese",
    "it": "italian",
    "pl": "polish",
    "nl": "dutch",
    "tr": "turkish",
    "sv": "swedish",
    "cs": "czech",
    "hu": "hungarian",
    "fi": "finnish",
    "da": "danish",
    "nb": "norwegian",
    "ro": "romanian",
    "el": "greek",
    "ca": "catalan",
    "id": "indonesian",
    "lt": "lithuanian",
    "et": "estonian",
}
SHORTEST = 4  # letters of a word with other forms
LONGEST_ENDING = 8  # letters that a form has beyond the stem
MOST_WORDS = 16  # of a query
MOST_FORMS = 12  # of a word
KnownTerms = Callable[[str, int, int, int], list[str]]  # as `Matching.known_terms`


def language(query: Sequence[str]) -> str:
    """The likeliest one of a query in its words; "" where that has no forms."""
    return next(iter(detection.likely(" ".join(query), ALGORITHMS)), "")


def forms(words: Sequence[str], query: Sequence[str], known_terms: KnownTerms) -> dict[str, list[str]]:
    """Word -> its other forms in the index, for those of `words` that have some, in the language of the `query`."""
    of = language(query)
    changing = [word for word in words if len(word) >= SHORTEST and word.isalpha()] if of else []
    pairs = ((word, _forms(word, of, known_terms)) for word in changing[:MOST_WORDS])
    return {word: others for word, others in pairs if others}


def in_text(words: Sequence[str], query: Sequence[str], text: str) -> list[str]:
    """The words of a text that are forms of some of `words`, in the language of the `query`."""
    if not (of := language(query)):
        return []
    stems = {stem(of, term) for word in words for term in cut(WORDS, word)}
    starts = tuple({each[: SHORTEST - 1] for each in stems if len(each) >= SHORTEST - 1})
    pairs = ((word, cut(WORDS, word)) for word in dict.fromkeys(text.split()))
    alike = ((word, terms[0]) for word, terms in pairs if terms and terms[0].startswith(starts))
    return [word for word, term in alike if stem(of, term) in stems]


def _forms(word: str, of: str, known_terms: KnownTerms) -> list[str]:
    (term, *more) = cut(WORDS, word) or ("",)
    if more or len(term) < SHORTEST - 1:
        return []
    own = stem(of, term)
    start = max(SHORTEST - 1, len(own) - 1)  # letters that all forms have: the last one of a stem may differ in some
    known = known_terms(own, start, len(own) + LONGEST_ENDING, start)
    return [each for each in known if each != term and stem(of, each) == own][:MOST_FORMS]


@lru_cache(maxsize=1 << 14)
def stem(of: str, term: str) -> str:
    """The stem of a term in the language `of`."""
    return _stemmer(of)(term)


@cache
def _stemmer(of: str) -> Callable[[str], str]:
    import snowballstemmer  # 30 ms, for queries in other languages than English

    stemmer: Callable[[str], str] = snowballstemmer.stemmer(ALGORITHMS[of]).stemWord
    return stemmer
