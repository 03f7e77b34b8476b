"""The terms of texts, cut as FTS5 cuts them: in memory, 30 µs a passage.

Every store cuts its texts in this way, so that a word means the same in all of them, whatever finds it there.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Self, TypeAlias

from semsearch.stores.sql.query_terms import RUN, quoted
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.stores.sql.bm25 import Sizes
    from semsearch.types import Ids


class Kind(IntEnum):
    """Kinds of terms. The numbers stand in the tables of stores."""

    WORDS = 0
    GRAMS = 1  # runs of one to three characters, in texts with CJK letters


WORDS, GRAMS = Kind

Row: TypeAlias = tuple[int, str, str, int]  # id; text and keywords as `folding` writes them; whether it has CJK letters

TOKENIZERS: dict[int, str] = {WORDS: "porter unicode61 remove_diacritics 2", GRAMS: "trigram"}
_COLUMNS: dict[int, str] = {WORDS: "text, keywords", GRAMS: "text"}


class Tokens:
    """Terms of passages that are added in the order of their ids."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        for kind, tokenizer in TOKENIZERS.items():
            columns, tokenize = _COLUMNS[kind], f"tokenize='{tokenizer}'"
            self._memory.execute(f"CREATE VIRTUAL TABLE terms{kind} USING fts5({columns}, content='', {tokenize})")
            self._memory.execute(f"CREATE VIRTUAL TABLE list{kind} USING fts5vocab(terms{kind}, row)")
            self._memory.execute(f"CREATE VIRTUAL TABLE places{kind} USING fts5vocab(terms{kind}, instance)")
        self.texts: dict[int, str] = {}
        self._cjk: dict[int, str] = {}
        self._grams: dict[str, dict[int, int]] | None = None
        self.add(rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory."""
        self._memory.close()

    def add(self, rows: Iterable[Row]) -> None:
        """Add passages, all with higher ids than those before."""
        self._grams = None
        self._memory.execute("BEGIN")
        for number, text, keywords, cjk in rows:
            self._memory.execute(
                "INSERT INTO terms0 (rowid, text, keywords) VALUES (?, ?, ?)", (number, text, keywords)
            )
            self.texts[number] = text
            if cjk:
                self._memory.execute("INSERT INTO terms1 (rowid, text) VALUES (?, ?)", (number, text))
                self._cjk[number] = text.partition("\0")[0]  # SQL's functions see no more of it
        self._memory.execute("COMMIT")

    @property
    def ids(self) -> Ids:
        """Of the passages, ascending."""
        return np.fromiter(self.texts, dtype=np.int64, count=len(self.texts))

    def sizes(self) -> tuple[Sizes, Sizes]:
        """Tokens, and characters of those with CJK letters, of each passage."""
        rows = self._memory.execute("SELECT sz FROM terms0_docsize ORDER BY id").fetchall()
        tokens = np.array([sum(varints(packed)) for (packed,) in rows], dtype=np.int64)
        return tokens, np.array([len(self._cjk.get(one, "")) for one in self.texts], dtype=np.int64)

    def places(self, kind: int) -> list[tuple[int, str, str, int]]:
        """(id, column, term, number of the token in that column) of every token."""
        return self._memory.execute(f"SELECT doc, col, term, offset FROM places{kind}").fetchall()

    def occurrences(self, kind: int, term: str) -> tuple[Ids, Sizes]:
        """The ids (n,), ascending, of the passages that have a term, and how often (n,)."""
        if kind == GRAMS and len(term) < 3:
            counts = {number: often for number, text in self._cjk.items() if (often := text.count(term))}
            return _arrays(counts)
        rows = self._memory.execute(f"SELECT doc FROM places{kind} WHERE term = ?", (term,)).fetchall()
        return counted(rows)

    def several(self, least: int) -> list[tuple[int, str]]:
        """(kind, term) of the terms that at least `least` of the passages have."""
        sql = "SELECT {0}, term FROM list{0} WHERE doc >= ?"
        rows = [row for kind in TOKENIZERS for row in self._memory.execute(sql.format(kind), (least,))]
        return rows + [(GRAMS, gram) for gram, having in self._short_grams().items() if len(having) >= least]

    def of(self, terms: set[tuple[int, str]]) -> Iterator[tuple[int, str, Ids, Sizes]]:
        """(kind, term, ids, how often) of those of the terms that a passage has."""
        for kind in TOKENIZERS:
            for (term,) in self._memory.execute(f"SELECT term FROM list{kind}").fetchall():
                if (kind, term) in terms:
                    yield kind, term, *self.occurrences(kind, term)
        for gram, having in self._short_grams().items():
            if (GRAMS, gram) in terms:
                yield GRAMS, gram, *_arrays(having)

    def _short_grams(self) -> dict[str, dict[int, int]]:
        """CJK letters and pairs of them -> passage -> how often, without overlaps."""
        if self._grams is None:
            self._grams = _short_grams(self._cjk)
        return self._grams

    def having(self, words: Sequence[str], entries: Sequence[str] = ()) -> set[int]:
        """The passages whose own text has all `words` as words, and all `entries` as words or inside a CJK passage."""
        passages = set(self.texts)
        for word in words:
            passages &= self._in_text(WORDS, word)
        for entry in entries:
            inside = self._in_text(GRAMS, entry) if len(entry) > 2 else set()
            passages &= self._in_text(WORDS, entry) | inside
        return passages

    def _in_text(self, kind: int, phrase: str) -> set[int]:
        sql = f"SELECT rowid FROM terms{kind} WHERE terms{kind} MATCH ?"
        return {row for (row,) in self._memory.execute(sql, (f"{{text}} : {quoted(phrase)}",))}


class _Cutter:
    """FTS5 indexes of one text, to see how it is cut. Threads take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        for kind, tokenizer in TOKENIZERS.items():
            self._memory.execute(f"CREATE VIRTUAL TABLE one{kind} USING fts5(text, content='', tokenize='{tokenizer}')")
            self._memory.execute(f"CREATE VIRTUAL TABLE terms{kind} USING fts5vocab(one{kind}, instance)")

    def cut(self, kind: int, text: str) -> tuple[str, ...]:
        with self._lock:
            self._memory.execute(f"INSERT INTO one{kind} (rowid, text) VALUES (1, ?)", (text,))
            rows = self._memory.execute(f"SELECT term FROM terms{kind} ORDER BY offset").fetchall()
            self._memory.execute(f"INSERT INTO one{kind} (one{kind}) VALUES ('delete-all')")
        return tuple(term for (term,) in rows)


@lru_cache(maxsize=1)
def _cutter() -> _Cutter:
    return _Cutter()


@lru_cache(maxsize=4096)
def cut(kind: int, phrase: str) -> tuple[str, ...]:
    """The tokens of a word or phrase, in order."""
    return _cutter().cut(kind, phrase)


def spans_of_words(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
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


def varints(packed: bytes) -> Iterator[int]:
    """Numbers as SQLite packs them: seven bits a byte, the highest first, each but the last with its top bit set.

    Of nine bytes, the last has eight bits; sizes and their sums are shorter.
    """
    value = 0
    for byte in packed:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            yield value
            value = 0


def counted(rows: Sequence[tuple[int]]) -> tuple[Ids, Sizes]:
    """Distinct ids, ascending, and how often each is in `rows`."""
    ids, counts = np.unique(np.array(rows, dtype=np.int64).reshape(-1), return_counts=True)
    return ids, counts


def _arrays(counts: dict[int, int]) -> tuple[Ids, Sizes]:
    n = len(counts)
    return np.fromiter(counts, dtype=np.int64, count=n), np.fromiter(counts.values(), dtype=np.int64, count=n)


def _short_grams(texts: Mapping[int, str]) -> dict[str, dict[int, int]]:
    grams: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for number, text in texts.items():
        runs = RUN.findall(text)
        counts = Counter(char for run in runs for char in run)
        counts.update(run[at : at + 2] for run in runs for at in range(len(run) - 1))
        for gram, often in counts.items():
            grams[gram][number] = text.count(gram) if len(gram) == 2 and gram[0] == gram[1] else often
    return grams
