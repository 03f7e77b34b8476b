"""Lexical search: BM25 of SQLite FTS5, for spaced scripts by word and for unspaced ones by characters.

Words are compared as FTS5's porter tokenizer sees them: without case and accents, "running" finds "runs". A query is
words, never FTS5 syntax; "a phrase in quotes" counts as one word. A passage is found by its text and by the keywords of
its place (`utils.passage_context`), one bm25 over both; `containing` and `Lexical.complete` look at the text alone.

Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese ("CJK" below) go through the trigram index, each run of letters
as a whole and as its trigrams. Runs of one or two letters, which trigrams cannot see, are looked up by reading the
passages with such letters (3 ms per thousand). In those passages Latin words are found inside a run too ("用Python写").

bm25 is summed over words, higher is better (Robertson, Zaragoza 2009, with FTS5's k1 = 1.2 and b = 0.75).
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import reduce
from itertools import islice
from math import log
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from semsearch.errors import UsageError
from semsearch.stores.protocol import Lexical
from semsearch.utils import stop_words
from semsearch.utils.writing_systems import CJK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids

    Scores: TypeAlias = NDArray[np.float64]

TOKENIZER = "porter unicode61 remove_diacritics 2"
MOST_READ = 400  # distinct words of a query that are counted, up to 1 ms each; of a longer query the first ones
MOST_WORDS = 64  # of those, the rarest are searched: 100 words cost 0.2 s at 100,000 passages, 200 cost 0.6 s
ALWAYS = 8  # words that are searched however frequent they are
POSTINGS = 20_000  # beyond ALWAYS, rarest first, until the words occur in this many passages: 4 µs to score each
FEW_PASSAGES = 20  # below, even a word of more than half of the passages is searched for
LONGEST_PHRASE = 20  # words, and characters of a CJK run; longer ones are taken apart
MOST_GRAMS = 8  # short CJK runs that are looked up by reading: 0.1 to 0.3 s each at 100,000 passages
LEAST_LETTERS = 5  # of a word that is corrected
LEAST_ALIKE = 0.83  # difflib's ratio: two letters swapped in a word of six
MOST_CORRECTED = 4  # words of a query: 20 ms each at 100,000 known words
K1, B = 1.2, 0.75  # as FTS5's bm25()

_RUN = re.compile(f"([{CJK}]+)")  # compiled once: 2 ms
_PHRASE = re.compile(r"[\"“”„«»「」『』]([^\"“”„«»「」『』]+)[\"“”„«»「」『』]")
_GAP = re.compile(r"\s+|(?<!\d)[.,]|[.,](?!\d)")  # 3.11 and 1,000 stay whole


class _Letters(dict[int, str]):
    """For str.translate: letters, digits, their marks and ' . , stay; all else (quotes, NUL, surrogates) is a space."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = char if unicodedata.category(char)[0] in "LNM" or char in "'.," else " "
        return self[code]


_LETTERS = _Letters({ord("’"): "'", ord("ʼ"): "'"})


def terms(text: str) -> list[str]:
    """The distinct words and quoted phrases of a query, in order; an unspaced CJK run is one. At most MOST_READ."""
    found: dict[str, str] = {}
    for at, piece in enumerate(_PHRASE.split(text)):  # every second piece was quoted
        words = _words(piece)
        phrase = at % 2 and 1 < len(words) <= LONGEST_PHRASE and not _RUN.search(piece)
        for word in [" ".join(words)] if phrase else words:
            found.setdefault(word.casefold(), word)
        if len(found) >= MOST_READ:
            break
    return list(found.values())[:MOST_READ]


def search(connection: sqlite3.Connection, text: str, k: int, allowed: Ids | None = None) -> Lexical:
    """The k best passages by the informative words of `text`, ties by id. One of the words is enough.

    Words in more than half of the passages are uninformative and left out while others match, function words of English
    wherever there are others. A coverage of 1 is the bm25 of a passage of average length that has every word once; a
    word that no passage has lowers it most. In unspaced scripts, where words are not known, the best passage has 1.
    """
    words = terms(text)
    if k < 1 or not words or (allowed is not None and not len(allowed)):
        return Lexical(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.bool_))
    runs = [word for word in words if _RUN.search(word)]
    spaced = [word for word in words if not _RUN.search(word)]
    if not runs:
        spaced = [word for word in spaced if word.lower() not in stop_words.QUERY] or spaced
    counts = _counts(connection, "passages_fts", spaced)
    corrected = _corrected(connection, [word for word, n in counts.items() if not n])
    spaced = [corrected.get(word, word) for word in spaced]
    counts = {word: n for word, n in counts.items() if word not in corrected}
    counts |= _counts(connection, "passages_fts", corrected.values())
    if not _size(connection, "passages_cjk"):
        ids, scores = _ordered(_matching(connection, "passages_fts", counts, k, allowed), k)
    else:
        depth = 4 * k + 100  # parts are summed: a passage may be lower in each than in their sum
        inside = _counts(connection, "passages_cjk", [word for word in spaced if len(word) > 2])
        found = Counter(_matching(connection, "passages_fts", counts, depth, allowed))
        found |= Counter(_matching(connection, "passages_cjk", inside, depth, allowed))  # the same words, in two ways
        ids, scores = _ordered(found + _by_characters(connection, runs, depth, allowed), k)
    whole = float(np.max(scores, initial=0.0)) if runs else _information(connection, counts)
    complete = _complete(connection, ids, runs, counts)
    return Lexical(ids, scores, np.minimum(1.0, scores / (whole or 1.0)), complete, corrected)


def containing(connection: sqlite3.Connection, words: Sequence[str]) -> Ids:
    """Ids, ascending, of the passages that contain every entry of `words`; several words in one entry are a phrase.

    Raises UsageError for an entry without a letter or digit.
    """
    return reduce(np.intersect1d, [_containing(connection, entry) for entry in words])


def spans(text: str, query: str) -> tuple[tuple[int, int], ...]:
    """The places of the words of `query` in `text`: ascending (start, end) offsets that do not overlap.

    FTS5 itself finds them, with the tokenizer of the index, so that the marked words are the words found. Function
    words of English are marked only where the query has no others.
    """
    words = terms(query)
    found = [span for word in words if _RUN.search(word) for span in _run_spans(text, word)]
    spaced = [word for word in words if not _RUN.search(word)]
    informative = [word for word in spaced if word.lower() not in stop_words.QUERY]
    if informative or (spaced and not found):
        found += _word_spans(text, informative or spaced)
    return _merged(found)


def _words(text: str) -> list[str]:
    """Words as FTS5 would cut them, but "don't" and 3.11 stay whole; CJK runs are apart from what is around them."""
    pieces = (run for piece in _GAP.split(text.translate(_LETTERS)) for run in _RUN.split(piece))
    return [word for piece in pieces if (word := piece.strip("'.,"))]


def _matching(
    connection: sqlite3.Connection, table: str, counts: Mapping[str, int], k: int, allowed: Ids | None
) -> dict[int, float]:
    """Passage id -> bm25 of the k best for the informative phrases in `counts`.

    +rowid: without the plus SQLite would run the whole match once for every allowed id (measured: 31 s, not 17 ms).
    """
    informative = _informative(_size(connection, table), counts)
    if not informative:
        return {}
    only = "" if allowed is None else "AND +rowid IN (SELECT value FROM json_each(?))"
    sql = (
        f"SELECT rowid, -bm25({table}) AS score FROM {table} WHERE {table} MATCH ? {only} "
        "ORDER BY score DESC, rowid LIMIT ?"
    )
    within = () if allowed is None else (json.dumps(allowed.tolist()),)
    return dict(connection.execute(sql, (" OR ".join(map(_quoted, informative)), *within, k)).fetchall())


def _complete(
    connection: sqlite3.Connection, ids: Ids, runs: Sequence[str], counts: Mapping[str, int]
) -> NDArray[np.bool_]:
    """Which of the passages `ids` contain every CJK run and every word that stands in at most half of all passages."""
    most = _most(_size(connection, "passages_fts"))
    words = [phrase for phrase, n in counts.items() if n <= most]
    if not (runs or words) or not all(counts[word] for word in words) or len(words) > MOST_WORDS:
        return np.zeros(len(ids), dtype=np.bool_)
    if runs:
        return np.isin(ids, containing(connection, [*runs, *words]))
    sql = "SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? AND +rowid IN (SELECT value FROM json_each(?))"
    found = connection.execute(sql, (_in_text(" AND ".join(map(_quoted, words))), json.dumps(ids.tolist())))
    return np.isin(ids, [row for (row,) in found])


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
        stem = _stem(word)
        sql = "SELECT term FROM temp.vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?"
        first = stem[0]
        within = (first, chr(ord(first) + 1), len(stem) - 1, len(stem) + 1)
        known = [term for (term,) in connection.execute(sql, within)]
        if similar := difflib.get_close_matches(stem, known, n=1, cutoff=LEAST_ALIKE):
            found[word] = similar[0]
    return found


def _stem(word: str) -> str:
    """A word as FTS5 stores it."""
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(f"CREATE VIRTUAL TABLE one USING fts5(text, tokenize='{TOKENIZER}')")
        memory.execute("CREATE VIRTUAL TABLE known USING fts5vocab(one, row)")
        memory.execute("INSERT INTO one VALUES (?)", (word,))
        return str(memory.execute("SELECT term FROM known").fetchone()[0])


def _counts(connection: sqlite3.Connection, table: str, phrases: Iterable[str]) -> dict[str, int]:
    """The number of passages with each phrase; beyond half of all, the exact number does not matter."""
    most = _most(_size(connection, table))
    count = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT {most + 1})"
    return {phrase: connection.execute(count, (_quoted(phrase),)).fetchone()[0] for phrase in phrases}


def _most(size: int) -> int:
    return max(size // 2, FEW_PASSAGES)


def _informative(size: int, counts: Mapping[str, int]) -> list[str]:
    """The phrases worth searching for: those that occur, rarest first, until enough postings are read.

    FTS5 gives a word of more than half of the passages an idf of 0.000001 and still scores each of them.
    """
    found = sorted((n, phrase) for phrase, n in counts.items() if n)
    informative = [(n, phrase) for n, phrase in found if n <= _most(size)] or found
    postings = np.cumsum([n for n, _ in informative])
    return [p for at, (_, p) in enumerate(informative[:MOST_WORDS]) if at < ALWAYS or postings[at] <= POSTINGS]


def _information(connection: sqlite3.Connection, counts: Mapping[str, int]) -> float:
    """The summed idf of the phrases, of the rarest where they are many."""
    size = _size(connection, "passages_fts")
    return sum(_idf(size, n) for n in sorted(counts.values())[:MOST_WORDS])


def _idf(size: int, having: int) -> float:
    return max(1e-6, log(max(size - having + 0.5, 0.5) / (having + 0.5)))  # as FTS5 clamps it


def _by_characters(connection: sqlite3.Connection, runs: Sequence[str], k: int, allowed: Ids | None) -> Counter[int]:
    """Passage id -> bm25 of CJK runs: by trigrams, by reading where a run is shorter or trigrams find too little."""
    long = [run for run in runs if len(run) > 2]
    grams = _counts(connection, "passages_cjk", _grams(long, 3))
    found = Counter(_matching(connection, "passages_cjk", grams, k, allowed))
    short = [run for run in runs if len(run) < 3]
    if len(found) < k:
        short += [gram for gram in _grams(long, 2) if len(gram) == 2]
    for gram in list(dict.fromkeys(short))[:MOST_GRAMS]:
        found += _read(connection, gram, allowed)
    return found


def _grams(runs: Sequence[str], n: int) -> list[str]:
    """The runs themselves where they are not too long, and their distinct n-grams."""
    whole = [run for run in runs if len(run) <= LONGEST_PHRASE]
    grams = (run[at : at + n] for run in runs for at in range(len(run) - n + 1))
    return list(dict.fromkeys([*whole, *islice(grams, MOST_READ)]))


def _read(connection: sqlite3.Connection, gram: str, allowed: Ids | None) -> Counter[int]:
    """Passage id -> bm25 of one short run, found by reading every passage with CJK letters."""
    sql = (
        "SELECT id, (length(text) - length(replace(text, ?1, ''))) / length(?1), length(text) FROM passages "
        "WHERE cjk = 1 AND instr(text, ?1) > 0"
    )
    rows = np.array(connection.execute(sql, (gram,)).fetchall(), dtype=np.float64).reshape(-1, 3)
    if not len(rows):
        return Counter()
    counts, lengths = rows[:, 1], rows[:, 2]
    size = _size(connection, "passages_fts")  # rare among all passages, as a Latin word is
    scores = _idf(size, len(rows)) * counts * (K1 + 1) / (counts + K1 * (1 - B + B * lengths / lengths.mean()))
    ids = rows[:, 0].astype(np.int64)
    inside = np.ones(len(ids), dtype=bool) if allowed is None else np.isin(ids, allowed)
    return Counter(dict(zip(ids[inside].tolist(), scores[inside].tolist(), strict=True)))


def _containing(connection: sqlite3.Connection, entry: str) -> Ids:
    words = _words(entry)
    if not words:
        raise UsageError(f"must needs a word, not {entry!r}.")
    exact = "".join(char for char in entry.strip() if unicodedata.category(char)[0] != "C")
    found: list[tuple[int]] = []
    if not _RUN.search(exact):
        sql = "SELECT rowid FROM passages_fts WHERE passages_fts MATCH ?"
        found += connection.execute(sql, (_in_text(_quoted(" ".join(words))),)).fetchall()
    if len(exact) > 2:
        sql = "SELECT rowid FROM passages_cjk WHERE passages_cjk MATCH ?"
        found += connection.execute(sql, (_quoted(exact),)).fetchall()
    elif _RUN.search(exact):
        sql = "SELECT id FROM passages WHERE cjk = 1 AND instr(text, ?) > 0"
        found += connection.execute(sql, (exact,)).fetchall()
    return np.array(sorted({row[0] for row in found}), dtype=np.int64)


def _size(connection: sqlite3.Connection, table: str) -> int:
    """Passages in an FTS5 table: its docsize table has one narrow row each (0.4 ms per 100,000)."""
    return int(connection.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()[0])


def _in_text(expression: str) -> str:
    """Matches in the passage itself, not in the keywords of its place."""
    return f"{{text}} : ({expression})"


def _quoted(phrase: str) -> str:
    return '"' + phrase.replace('"', '""') + '"'


def _ordered(scores: Mapping[int, float], k: int) -> tuple[Ids, Scores]:
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
    return np.array([i for i, _ in best], dtype=np.int64), np.array([score for _, score in best], dtype=np.float64)


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
    blanked = _RUN.sub(lambda run: " " * len(run[0]), text).translate({0: " ", 2: " ", 3: " "})
    plain = blanked.encode("utf-8", "replace").decode()  # a lone surrogate becomes one "?"
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(f"CREATE VIRTUAL TABLE one USING fts5(text, tokenize='{TOKENIZER}')")
        memory.execute("INSERT INTO one VALUES (?)", (plain,))
        sql = "SELECT highlight(one, 0, char(2), char(3)) FROM one WHERE one MATCH ?"
        marked = memory.execute(sql, (" OR ".join(map(_quoted, words)),)).fetchone()
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
