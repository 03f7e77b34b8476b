"""Lexical search: BM25 over the full-text indexes, for spaced scripts by word and for unspaced ones by characters.

Words are compared as FTS5's porter tokenizer sees them: without case and accents, "running" finds "runs". A query is
words, never FTS5 syntax; "a phrase in quotes" counts as one word. A passage is found by its text and by the keywords of
its place (`utils.passage_context`), one bm25 over both; `containing` and `Lexical.complete` look at the text alone.

Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese ("CJK" below) go through the trigram index, each run of letters
as a whole and as its trigrams; runs of one or two letters are looked up as beginnings of trigrams. In passages with
such letters Latin words are found inside a run too ("用Python写").

bm25 is summed over words, higher is better (Robertson, Zaragoza 2009, with FTS5's k1 = 1.2 and b = 0.75). How passages
are found and scored is the `matching`'s matter: FTS5 alone, or with the postings of frequent words beside it, which
give the same ranking.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores.local.full_text import bm25
from semsearch.stores.local.full_text.matching import Fts5Matching, Matching, P, most_informative
from semsearch.stores.local.full_text.segments import WORDS
from semsearch.stores.local.full_text.tokens import TOKENIZERS, cut
from semsearch.stores.local.full_text.words import LONGEST_PHRASE, MOST_READ, RUN, has_cjk, quoted, terms
from semsearch.stores.protocol import Lexical
from semsearch.utils import stop_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.local.full_text.postings import Postings
    from semsearch.types import Ids

MOST_WORDS = 64  # of a query, the rarest are searched: 100 words cost FTS5 0.2 s at 100,000 passages, 200 cost 0.6 s
ALWAYS = 8  # words that are searched however frequent they are
POSTINGS = 20_000  # beyond ALWAYS, rarest first, until the words occur in this many passages: FTS5 scores each in 4 µs
MOST_GRAMS = 8  # short CJK runs that are looked up
LEAST_LETTERS = 5  # of a word that is corrected
LEAST_ALIKE = 0.83  # difflib's ratio: two letters swapped in a word of six
MOST_CORRECTED = 4  # words of a query: 20 ms each at 100,000 known words


def search(
    connection: sqlite3.Connection, text: str, k: int, allowed: Ids | None = None, postings: Postings | None = None
) -> Lexical:
    """The k best passages by the informative words of `text`, ties by id. One of the words is enough.

    Words in more than half of the passages are uninformative and left out while others match, function words of English
    wherever there are others. A coverage of 1 is the bm25 of a passage of average length that has every word once; a
    word that no passage has lowers it most. In unspaced scripts, where words are not known, the best passage has 1.
    Without `postings`, and where they are missing in the store, FTS5 finds the same. Raises Damaged for postings.
    """
    words = terms(text)
    if k < 1 or not words or (allowed is not None and not len(allowed)):
        return Lexical(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.bool_))
    if postings is not None and (fast := postings.matching(connection, allowed)) is not None:
        return _search(connection, fast, words, k)
    return _search(connection, Fts5Matching(connection, allowed), words, k)


def spans(text: str, query: str) -> tuple[tuple[int, int], ...]:
    """The places of the words of `query` in `text`: ascending (start, end) offsets that do not overlap.

    FTS5 itself finds them, with the tokenizer of the index, so that the marked words are the words found. Function
    words of English are marked only where the query has no others.
    """
    words = terms(query)
    found = [span for word in words if has_cjk(word) for span in _run_spans(text, word)]
    spaced = [word for word in words if not has_cjk(word)]
    informative = [word for word in spaced if word.lower() not in stop_words.QUERY]
    if informative or (spaced and not found):
        found += _word_spans(text, informative or spaced)
    return _merged(found)


def _search(connection: sqlite3.Connection, matching: Matching[P], words: Sequence[str], k: int) -> Lexical:
    runs = [word for word in words if has_cjk(word)]
    spaced = [word for word in words if not has_cjk(word)]
    if not runs:
        spaced = [word for word in spaced if word.lower() not in stop_words.QUERY] or spaced
    counts = matching.counts("passages_fts", spaced)
    corrected = _corrected(connection, [word for word, n in counts.items() if not n])
    spaced = [corrected.get(word, word) for word in spaced]
    counts = {word: n for word, n in counts.items() if word not in corrected}
    counts |= matching.counts("passages_fts", corrected.values())
    ids, scores = matching.ordered(_found(matching, runs, spaced, counts, k), k)
    whole = float(np.max(scores, initial=0.0)) if runs else _information(matching, counts)
    complete = _complete(matching, ids, runs, counts)
    return Lexical(ids, scores, np.minimum(1.0, scores / (whole or 1.0)), complete, corrected)


def _found(matching: Matching[P], runs: Sequence[str], spaced: Sequence[str], counts: Mapping[str, int], k: int) -> P:
    """The scores of at least the k best passages."""
    if not matching.size("passages_cjk"):
        return _best(matching, "passages_fts", counts, k)
    depth = 4 * k + 100  # parts are summed: a passage may be lower in each than in their sum
    inside = matching.counts("passages_cjk", [word for word in spaced if len(word) > 2])
    found = _best(matching, "passages_fts", counts, depth)
    found = found | _best(matching, "passages_cjk", inside, depth)  # the same words, in two ways
    return found + _by_characters(matching, runs, depth)


def _by_characters(matching: Matching[P], runs: Sequence[str], k: int) -> P:
    """bm25 of CJK runs: by trigrams, by the runs themselves where they are shorter, and by pairs of letters where
    trigrams find too little."""
    long = [run for run in runs if len(run) > 2]
    found = _best(matching, "passages_cjk", matching.counts("passages_cjk", _grams(long, 3)), k)
    short = [run for run in runs if len(run) < 3]
    if len(found) < k:
        short += [gram for gram in _grams(long, 2) if len(gram) == 2]
    for gram in list(dict.fromkeys(short))[:MOST_GRAMS]:
        found = found + matching.of_short_run(gram)
    return found


def _best(matching: Matching[P], table: str, counts: Mapping[str, int], k: int) -> P:
    return matching.best(table, _informative(matching.size(table), counts), k)


def _complete(matching: Matching[P], ids: Ids, runs: Sequence[str], counts: Mapping[str, int]) -> NDArray[np.bool_]:
    """Which of the passages `ids` contain every CJK run and every word that stands in at most half of all passages."""
    most = most_informative(matching.size("passages_fts"))
    words = [phrase for phrase, n in counts.items() if n <= most]
    if not (runs or words) or not all(counts[word] for word in words) or len(words) > MOST_WORDS:
        return np.zeros(len(ids), dtype=np.bool_)
    return matching.complete(ids, runs, words)


def _informative(size: int, counts: Mapping[str, int]) -> list[str]:
    """The phrases worth searching for: those that occur, rarest first, until enough postings are read.

    FTS5 gives a word of more than half of the passages an idf of 0.000001 and still scores each of them.
    """
    found = sorted((n, phrase) for phrase, n in counts.items() if n)
    informative = [(n, phrase) for n, phrase in found if n <= most_informative(size)] or found
    postings = np.cumsum([n for n, _ in informative])
    return [p for at, (_, p) in enumerate(informative[:MOST_WORDS]) if at < ALWAYS or postings[at] <= POSTINGS]


def _information(matching: Matching[P], counts: Mapping[str, int]) -> float:
    """The summed idf of the phrases, of the rarest where they are many."""
    size = matching.size("passages_fts")
    return sum(bm25.idf(size, n) for n in sorted(counts.values())[:MOST_WORDS])


def _grams(runs: Sequence[str], n: int) -> list[str]:
    """The runs themselves where they are not too long, and their distinct n-grams."""
    whole = [run for run in runs if len(run) <= LONGEST_PHRASE]
    grams = (run[at : at + n] for run in runs for at in range(len(run) - n + 1))
    return list(dict.fromkeys([*whole, *islice(grams, MOST_READ)]))


def _corrected(connection: sqlite3.Connection, unknown: Sequence[str]) -> dict[str, str]:
    """For words that no passage has, the most similar word of the index, as typing errors go: alike, same first letter.

    Words with a digit are names of something, and short ones are too close to each other. Known words are stems.
    """
    typed = [word for word in unknown if len(word) >= LEAST_LETTERS and word.isalpha() and word.isascii()]
    typed = typed[:MOST_CORRECTED]
    if not typed:
        return {}
    import difflib  # 3 ms that most queries do not need

    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, passages_fts, row)")
    found: dict[str, str] = {}
    for word in typed:
        (stem,) = cut(WORDS, word)
        sql = "SELECT term FROM temp.vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?"
        first = stem[0]
        within = (first, chr(ord(first) + 1), len(stem) - 1, len(stem) + 1)
        known = [term for (term,) in connection.execute(sql, within)]
        if similar := difflib.get_close_matches(stem, known, n=1, cutoff=LEAST_ALIKE):
            found[word] = similar[0]
    return found


def _run_spans(text: str, run: str) -> list[tuple[int, int]]:
    """The places of a CJK run in text; without any, those of its trigrams, else of its bigrams."""
    for n in (len(run), 3, 2):
        grams = {run[at : at + n] for at in range(len(run) - n + 1)}
        found = [m.span() for gram in grams for m in re.finditer(f"(?={re.escape(gram)})", text)]
        if found:
            return [(start, start + n) for start, _ in found]
    return []


def _word_spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Matches by FTS5's own highlight(). CJK letters are blanked first: they would glue Latin words into one token."""
    blanked = RUN.sub(lambda run: " " * len(run[0]), text).translate({0: " ", 2: " ", 3: " "})
    plain = blanked.encode("utf-8", "replace").decode()  # a lone surrogate becomes one "?"
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(f"CREATE VIRTUAL TABLE one USING fts5(text, tokenize='{TOKENIZERS[WORDS]}')")
        memory.execute("INSERT INTO one VALUES (?)", (plain,))
        sql = "SELECT highlight(one, 0, char(2), char(3)) FROM one WHERE one MATCH ?"
        marked = memory.execute(sql, (" OR ".join(map(quoted, words)),)).fetchone()
    matches = re.finditer("\x02(.*?)\x03", marked[0] if marked else "", re.DOTALL)
    return [(m.start() - 2 * at, m.end() - 2 * at - 2) for at, m in enumerate(matches)]


def _merged(found: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
