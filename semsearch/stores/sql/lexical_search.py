"""Search by words, the same in every store: which words of a query are searched for, BM25, coverage, corrections.

Words are compared as FTS5's porter tokenizer sees them (`tokenizer`): without case and accents, "running" finds "runs";
before that, texts and queries are written in the same letters (`folding`). For other languages see `word_forms`. A
query is words, never the syntax of a search engine; "a phrase in quotes" counts as one word. A passage is found by its
text and by the keywords of its place (`utils.passage_context`), one bm25 over both; `Lexical.complete` looks at the
text alone.

Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese ("CJK" below) are searched for by trigrams, each run of letters
as a whole and as its trigrams; runs of one or two letters are looked up as they are. In passages with such letters
Latin words are found inside a run too ("用Python写").

bm25 is summed over words, higher is better (Robertson, Zaragoza 2009, with FTS5's k1 = 1.2 and b = 0.75). How passages
are found and scored is a store's matter: its `Matching`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial, reduce
from itertools import accumulate, islice
from operator import or_
from typing import Protocol, Self, TypeVar

from semsearch.stores import sql
from semsearch.stores.protocol import Lexical
from semsearch.stores.sql import bm25, spelling
from semsearch.stores.sql.folding import fold, folded
from semsearch.stores.sql.query_terms import LONGEST_PHRASE, MOST_READ, has_cjk, query_terms
from semsearch.stores.sql.tokenizer import WORDS, cut, spans_of_words
from semsearch.utils.languages import detection, stop_words

FEW_PASSAGES = 20  # below, even a word of more than half of the passages is searched for
MOST_WORDS = 64  # of a query, the rarest are searched: 100 words cost FTS5 0.2 s at 100,000 passages, 200 cost 0.6 s
ALWAYS = 8  # words that are searched however frequent they are
POSTINGS = 20_000  # beyond ALWAYS, rarest first, until the words occur in this many passages: FTS5 scores each in 4 µs
MOST_GRAMS = 8  # short CJK runs that are looked up
ENGLISH = "en"
SHORTEST_NAME = 3  # characters of a number that names something; a shorter one counts
MEASURE = re.compile(r"\d+(?:[km]?[glm]|mcg|[cd][lm]|k?wh?|k?v|[kmg]?hz|[kmgt]b|k?cal|min|h)", re.IGNORECASE)  # 75g
NAMED = 0.4  # a number and two other words: "invoice roof 4711"
MOST_CORRECTED = 4  # words of a query: 20 ms each at 100,000 known words


class Part(Protocol):
    """Scores of passages; `len`: how many were found."""

    def __len__(self) -> int: ...
    def __add__(self, other: Self, /) -> Self: ...
    def __or__(self, other: Self, /) -> Self:
        """The higher of both scores of each passage."""


P = TypeVar("P", bound=Part)


class Matching(Protocol[P]):
    """One search in the full-text indexes; what it is allowed to find was said when it was made.

    `table` is "passages_fts", the index of words, or "passages_cjk", that of trigrams in passages with CJK letters.
    """

    def size(self, table: str) -> int:
        """Passages in a full-text index."""

    def counts(self, table: str, phrases: Iterable[str]) -> dict[str, int]:
        """The number of passages with each phrase; beyond half of all, the exact number does not matter."""

    def best(self, table: str, phrases: Sequence[str], k: int) -> P:
        """The k best passages by bm25 over some phrases that occur."""

    def scaled(self, part: P, factor: float) -> P:
        """The scores times a factor."""

    def of_short_run(self, run: str) -> P:
        """bm25 of every passage with a run of one or two CJK letters."""

    def ordered(self, part: P, k: int) -> tuple[list[int], list[float]]:
        """The k best passages and their scores, best first, ties by id."""

    def complete(self, ids: Sequence[int], runs: Sequence[str], words: Sequence[str]) -> Iterable[int]:
        """Those of these passages that have every CJK run and every word in their text."""

    def known_terms(self, stem: str, least: int, most: int, start: int = 1) -> list[str]:
        """The terms of words that begin with the first `start` letters of `stem` and have `least` to `most`, sorted.

        A term that no passage has any more may be among them, and those that are little like it may be left out.
        """


def most_informative(size: int) -> int:
    """A word of more passages is uninformative."""
    return max(size // 2, FEW_PASSAGES)


def search(matching: Matching[P], words: Sequence[str], k: int) -> Lexical:
    """The k best passages by the informative ones of `words`, ties by id. One of the words is enough.

    Words in more than half of the passages are uninformative and left out while others match, function words of English
    and question words of any language wherever there are others. Forms of a word count as the word. A coverage of 1 is
    the bm25 of a passage of average length that has every word once, and in unspaced scripts, where words are not
    known, every trigram; one that no passage has lowers it most. A query of function words alone says nothing: passages
    are found and cover none of it.
    """
    is_empty = _is_empty(words)
    words = _telling(words)
    runs = [word for word in words if has_cjk(word)]
    spaced = [word for word in words if not has_cjk(word)]
    if not runs:
        spaced = [word for word in spaced if word.lower() not in stop_words.QUERY] or spaced
    counts = matching.counts("passages_fts", spaced)
    forms = sql.word_forms.forms(spaced, words, matching.known_terms) if _inflected(tuple(words)) else {}
    corrected, of_corrected = _corrected(matching, [word for word, n in counts.items() if not n and word not in forms])
    spaced = [corrected.get(word, word) for word in spaced]
    counts = {word: n for word, n in counts.items() if word not in corrected} | of_corrected
    inflected = {word: {word: counts[word]} | matching.counts("passages_fts", others) for word, others in forms.items()}
    ids, scores = matching.ordered(_scored(matching, runs, spaced, counts, inflected, k), k)
    whole = _information(matching, counts, inflected) + _of_trigrams(matching, runs) or 1.0
    if has_short := any(len(run) < 3 for run in runs):  # what a letter or two tell is not known
        whole = max(whole, *scores, 0.0)
    coverage = [min(1.0, score / whole) for score in scores]
    if is_empty:
        return Lexical(ids, scores, [0.0] * len(ids), frozenset(), corrected)
    absent = () if has_short else _absent_names(matching, counts, whole)
    return Lexical(ids, scores, coverage, _complete(matching, ids, runs, counts), corrected, absent)


@lru_cache(1024)  # every new index is asked the same null queries
def _inflected(words: tuple[str, ...]) -> bool:
    """Whether a query is surely in another language than English, for which the words are cut."""
    return not detection.is_readable(" ".join(words), [ENGLISH])


def _telling(words: Sequence[str]) -> list[str]:
    """The words of a query without those that any question has, in languages other than English; all where there are no
    others.
    """
    return _without_question(words) or list(words)


def _without_question(words: Sequence[str]) -> list[str]:
    query = " ".join(words)
    parts = (_unspaced_question().split(word) if has_cjk(word) else [word] for word in words)
    return [part for some in parts for part in some if part and not _asks(part.lower(), query)]


def _asks(word: str, query: str) -> bool:
    """Whether a word only makes a question of the `query`."""
    anywhere, in_one = _question_words()
    if word in anywhere or word not in in_one:
        return word in anywhere
    likely = detection.likely(query, detection.NAMES)
    return ENGLISH not in likely and not in_one[word].isdisjoint(likely)


@cache
def _question_words() -> tuple[frozenset[str], dict[str, set[str]]]:
    """Those of any language, folded; and those of some, each with these languages."""
    in_one: dict[str, set[str]] = {}
    for language, words in stop_words.QUESTION_IN.items():
        for word in fold(words).split():
            in_one.setdefault(word, set()).add(language)
    return frozenset(fold(stop_words.QUESTION).split()), in_one


@cache
def _unspaced_question() -> re.Pattern[str]:
    return re.compile(stop_words.QUESTION_UNSPACED)


def _is_empty(words: Sequence[str]) -> bool:
    """Whether a query has function words alone."""
    function_words = stop_words.MULTILINGUAL if _inflected(tuple(words)) else stop_words.ENGLISH
    return all(word.lower() in function_words for word in _without_question(words))


def nothing() -> Lexical:
    """What a search without words finds."""
    return Lexical([], [], [], frozenset())


def spans(text: str, query: str) -> tuple[tuple[int, int], ...]:
    """The places of the words of `query` in `text`: ascending (start, end) offsets that do not overlap.

    FTS5 itself finds them, with the tokenizer of the index, so that the marked words are the words found. Function
    words of English are marked only where the query has no others.
    """
    words, plain = _telling(query_terms(fold(query))), folded(text)
    places = [span for word in words if has_cjk(word) for span in _run_spans(plain.text, word)]
    spaced = [word for word in words if not has_cjk(word)]
    informative = [word for word in spaced if word.lower() not in stop_words.QUERY]
    if informative or (spaced and not places):
        marked = informative or spaced
        marked += sql.word_forms.in_text(marked, words, plain.text) if _inflected(tuple(words)) else []
        places += spans_of_words(plain.text, marked)
    return _merged(plain.place(*span) for span in places)


def _scored(
    matching: Matching[P],
    runs: Sequence[str],
    spaced: Sequence[str],
    counts: Mapping[str, int],
    inflected: Mapping[str, Mapping[str, int]],
    k: int,
) -> P:
    """The scores of at least the k best passages. Of a word and its forms, the one that scores highest counts."""
    cjk = matching.size("passages_cjk")
    if not cjk and not inflected:
        return _best(matching, "passages_fts", counts, k)
    depth = 4 * k + 100  # parts are summed: a passage may be lower in each than in their sum
    part = _best(matching, "passages_fts", {word: n for word, n in counts.items() if word not in inflected}, depth)
    for forms in inflected.values():
        part = part + _of_forms(matching, forms, depth)
    if not cjk:
        return part
    inside = matching.counts("passages_cjk", [word for word in spaced if len(word) > 2])
    part = part | _best(matching, "passages_cjk", inside, depth)  # the same words, in two ways
    return part + _by_characters(matching, runs, depth)


def _of_forms(matching: Matching[P], counts: Mapping[str, int], k: int) -> P:
    """bm25 of the best form of a word in each passage. All weigh as much as one word that is in all their passages."""
    size = matching.size("passages_fts")
    weight = bm25.idf(size, min(size, sum(counts.values())))
    parts = (
        matching.scaled(matching.best("passages_fts", [form], k), weight / bm25.idf(size, counts[form]))
        for form in _informative(size, counts)
    )
    return reduce(or_, parts, matching.best("passages_fts", [], k))


def _by_characters(matching: Matching[P], runs: Sequence[str], k: int) -> P:
    """bm25 of CJK runs: by trigrams, by the runs themselves where they are shorter, and by pairs of letters where
    trigrams find too little."""
    long = [run for run in runs if len(run) > 2]
    part = _best(matching, "passages_cjk", matching.counts("passages_cjk", _grams(long, 3)), k)
    short = [run for run in runs if len(run) < 3]
    if len(part) < k:
        short += [gram for gram in _grams(long, 2) if len(gram) == 2]
    for gram in list(dict.fromkeys(short))[:MOST_GRAMS]:
        part = part + matching.of_short_run(gram)
    return part


def _best(matching: Matching[P], table: str, counts: Mapping[str, int], k: int) -> P:
    return matching.best(table, _informative(matching.size(table), counts), k)


def _complete(
    matching: Matching[P], ids: Sequence[int], runs: Sequence[str], counts: Mapping[str, int]
) -> frozenset[int]:
    """Those of the passages `ids` contain every CJK run and every word that stands in at most half of all passages."""
    most = most_informative(matching.size("passages_fts"))
    words = [phrase for phrase, n in counts.items() if n <= most]
    if not (runs or words) or not all(counts[word] for word in words) or len(words) > MOST_WORDS:
        return frozenset()
    return frozenset(matching.complete(ids, runs, words))


def _informative(size: int, counts: Mapping[str, int]) -> list[str]:
    """The phrases worth searching for: those that occur, rarest first, until enough postings are read.

    FTS5 gives a word of more than half of the passages an idf of 0.000001 and still scores each of them.
    """
    occurring = sorted((n, phrase) for phrase, n in counts.items() if n)
    informative = [(n, phrase) for n, phrase in occurring if n <= most_informative(size)] or occurring
    rarest = informative[:MOST_WORDS]
    postings = accumulate(n for n, _ in rarest)
    return [p for at, ((_, p), n) in enumerate(zip(rarest, postings, strict=True)) if at < ALWAYS or n <= POSTINGS]


def _information(matching: Matching[P], counts: Mapping[str, int], inflected: Mapping[str, Mapping[str, int]]) -> float:
    """The summed idf of the phrases, of the rarest where they are many."""
    size = matching.size("passages_fts")
    having = {**counts, **{word: min(size, sum(forms.values())) for word, forms in inflected.items()}}
    return sum(bm25.idf(size, n) for n in sorted(having.values())[:MOST_WORDS])


def _of_trigrams(matching: Matching[P], runs: Sequence[str]) -> float:
    """The summed idf of the trigrams of CJK runs."""
    trigrams = {run[at : at + 3] for run in runs for at in range(len(run) - 2)}
    size = matching.size("passages_cjk")
    return sum(bm25.idf(size, n) for n in matching.counts("passages_cjk", islice(sorted(trigrams), MOST_READ)).values())


def _absent_names(matching: Matching[P], counts: Mapping[str, int], whole: float) -> tuple[str, ...]:
    """The words with digits that no passage has, where they are NAMED of the information of a query or more.

    Other words may be said in another way, and so may a quantity; a number is in a passage or it is not.
    """
    numbers = [word for word in counts if any(map(str.isdigit, word)) and not MEASURE.fullmatch(word)]
    absent = [word for word in numbers if not counts[word] and len(word) >= SHORTEST_NAME]
    return tuple(absent) if len(absent) * bm25.idf(matching.size("passages_fts"), 0) >= NAMED * whole else ()


def _grams(runs: Sequence[str], n: int) -> list[str]:
    """The runs themselves where they are not too long, and their distinct n-grams."""
    whole = [run for run in runs if len(run) <= LONGEST_PHRASE]
    grams = (run[at : at + n] for run in runs for at in range(len(run) - n + 1))
    return list(dict.fromkeys([*whole, *islice(grams, MOST_READ)]))


def _corrected(matching: Matching[P], unknown: Sequence[str]) -> tuple[dict[str, str], dict[str, int]]:
    """For words that no passage has, the word of the index that was meant, where a slip of typing is likely.

    The second dictionary has the number of passages of each of these. Words with a digit are names of something. Known
    words are stems.
    """
    replaced: dict[str, str] = {}
    counts: dict[str, int] = {}
    inside = matching.counts("passages_cjk", unknown) if matching.size("passages_cjk") else {}
    typed = [word for word in unknown if len(word) >= spelling.SHORTEST and word.isalpha() and not inside.get(word)]
    of_words = partial(matching.counts, "passages_fts")
    for word in typed[:MOST_CORRECTED]:
        stem = "".join(cut(WORDS, word))
        terms = matching.known_terms(stem, len(stem) - spelling.ENDING, len(stem) + spelling.ENDING) if stem else []
        if similar := spelling.meant(stem, terms, of_words, matching.size("passages_fts")):
            replaced[word] = similar
            counts |= of_words([similar])
    return replaced, counts


def _run_spans(text: str, run: str) -> list[tuple[int, int]]:
    """The places of a CJK run in text; without any, those of its trigrams, else of its bigrams."""
    for n in (len(run), 3, 2):
        grams = {run[at : at + n] for at in range(len(run) - n + 1)}
        places = [m.span() for gram in grams for m in re.finditer(f"(?={re.escape(gram)})", text)]
        if places:
            return [(start, start + n) for start, _ in places]
    return []


def _merged(places: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
