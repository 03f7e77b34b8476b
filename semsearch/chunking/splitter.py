"""The splitter of documents into passages: windows of whole sentences, each an exact slice of the text.

The encoders are sentence models, so a window consists of sentences, and of a part of one only where the sentence is
longer than the window. The encoder counts the tokens, in one call per document, and two more where there are sentences
to cut; none for a text with fewer letters than a window has tokens. The time is linear in the length of the text.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, get_args

from semsearch.chunking.sentences import after_space, before_space, sentences
from semsearch.errors import UnknownName, UsageError
from semsearch.types import Document, Mark, Passage
from semsearch.utils.languages.writing_systems import EAST_ASIAN, EAST_ASIAN_SYMBOLS

Kind: TypeAlias = Literal["sentences", "tokens", "markdown", "none"]
CountTokens: TypeAlias = Callable[[Sequence[str]], Sequence[int]]

SIZE = 192  # tokens; best nDCG@10 on SciFact train and Cranfield among 64 to 256 (docs/choices.md)
OVERLAP = 0  # tokens
WIDEST_TOKEN = 16  # characters: a tokenizer may call 10,000 of them one unknown word; English has 4.5 a token
WIDEST_ATOM = 24  # characters, and at most as many tokens: where longer words are cut
_CJK = EAST_ASIAN + EAST_ASIAN_SYMBOLS  # text can be cut before and after each
_LETTER = rf"[^\s{_CJK}]"
_LINE = re.compile(r"[^\n]+")


@cache
def _atom() -> re.Pattern[str]:
    """A word, or a part of a long one; compiled at first use, as it takes 10 ms and a search needs none."""
    return re.compile(
        rf"(?!\s)[{_CJK}]|{_LETTER}{{1,{WIDEST_ATOM}}}+(?!{_LETTER})|(?P<slice>{_LETTER}{{{WIDEST_ATOM}}})"
    )


@dataclass(frozen=True, slots=True)
class Splitter:
    """How to split: into windows of `size` tokens, each repeating about `overlap` tokens of the one before.

    "sentences": windows of whole sentences; a heading or a page begins a new one once a third is full.
    "markdown": the same within each heading's section, never across. Both keep furniture apart.
    "tokens": windows of words, wherever sentences end. "none": the whole document.
    """

    kind: Kind = "sentences"
    size: int = SIZE
    overlap: int = OVERLAP

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise UnknownName("splitter", self.kind, get_args(Kind))
        if self.size < 1:
            raise UsageError(
                f"passages cannot have {self.size} tokens.",
                "Choose a size of 1 or more.",
                "Use --chunk-size 1 or more.",
            )
        if not 0 <= self.overlap < self.size:
            raise UsageError(
                f"an overlap of {self.overlap} tokens does not fit into passages of {self.size}.",
                f"Choose an overlap between 0 and {self.size - 1}.",
                f"Use --overlap between 0 and {self.size - 1}.",
            )


class _Unit(NamedTuple):
    """A span of text that is not cut any further, and its number of tokens."""

    start: int
    end: int
    tokens: int


def passages(document: Document, splitter: Splitter, count_tokens: CountTokens) -> list[Passage]:
    """The passages of `document`, ascending. Every character but white space is in at least one.

    None has more than `splitter.size` tokens, as far as the tokens of a text are those of its words; with kind "none"
    there is one passage of any size. A document without text has no passages.
    """
    text = document.text
    whole = _stripped(text, 0, len(text))
    if splitter.kind == "none":
        return list(_placed(document, whole))
    if splitter.kind == "tokens":
        units, borders = _pieces(text, whole, splitter.size, count_tokens), []
        hard = set()
    else:
        pairs = list(pairwise([Mark(0), *document.marks]))
        headings = [mark.start for before, mark in pairs if mark.heading != before.heading]
        pages = [mark.start for before, mark in pairs if mark.page != before.page]
        hard = {mark.start for before, mark in pairs if mark.furniture != before.furniture}
        borders = sorted({*headings, *hard, *(pages if splitter.kind == "sentences" else ())})
        if not borders and len(text) < splitter.size and text.isascii():  # a token has a letter of ASCII at least
            return list(_placed(document, whole))
        units = _units(text, _parted(text, sorted({*headings, *hard})), splitter.size, count_tokens)
    fullness = 0 if splitter.kind == "markdown" else -(-splitter.size // 3)
    return list(_placed(document, _windows(units, splitter, borders, hard, fullness)))


def _windows(
    units: Sequence[_Unit], splitter: Splitter, borders: Sequence[int], hard: Set[int], fullness: int
) -> Iterator[tuple[int, int]]:
    """Runs of units of up to `size` tokens. One of `fullness` tokens ends before a border, any before a `hard` one."""
    first = total = 0
    upcoming = iter([*borders, math.inf])
    border = next(upcoming)
    for at, unit in enumerate(units):
        crossed = must = False
        while border <= unit.start:
            crossed, must, border = True, must or border in hard, next(upcoming)
        if at == first:
            total = unit.tokens
            continue
        breaks = must or (crossed and total >= fullness)
        if breaks or total + unit.tokens > splitter.size or _too_wide(units[first], unit, splitter.size):
            yield units[first].start, units[at - 1].end
            back = 0 if crossed else _back(units, first, at, splitter)
            first, total = at - back, sum(u.tokens for u in units[at - back : at])
        total += unit.tokens
    if units:
        yield units[first].start, units[-1].end


def _back(units: Sequence[_Unit], first: int, at: int, splitter: Splitter) -> int:
    """How many units before `at` are repeated by the window that begins there."""
    room = min(splitter.overlap, splitter.size - units[at].tokens)
    back = 0
    while at - back - 1 > first and (room := room - units[at - back - 1].tokens) >= 0:
        if _too_wide(units[at - back - 1], units[at], splitter.size):
            break
        back += 1
    return back


def _too_wide(first: _Unit, last: _Unit, size: int) -> bool:
    return last.end - first.start > size * WIDEST_TOKEN


def _units(text: str, spans: Sequence[tuple[int, int]], size: int, count_tokens: CountTokens) -> list[_Unit]:
    """Sentences; the lines of sentences that are too long; pieces of lines that are too long."""
    units = _counted(text, spans, size, count_tokens)
    long = [unit for unit in units if unit.tokens > size]
    if not long:
        return units
    lines = _counted(text, [line for unit in long for line in _lines(text, unit)], size, count_tokens)
    short = [unit for unit in (*units, *lines) if unit.tokens <= size]
    rest = [(line.start, line.end) for line in lines if line.tokens > size]
    return sorted([*short, *_pieces(text, rest, size, count_tokens)])


def _counted(text: str, spans: Sequence[tuple[int, int]], size: int, count_tokens: CountTokens) -> list[_Unit]:
    """Each span with its number of tokens, counted in one call; a span that is too wide counts as size + 1."""
    countable = [text[start:end] for start, end in spans if end - start <= size * WIDEST_TOKEN]
    counts = iter(count_tokens(countable) if countable else ())
    return [_Unit(start, end, next(counts) if end - start <= size * WIDEST_TOKEN else size + 1) for start, end in spans]


def _lines(text: str, unit: _Unit) -> Iterator[tuple[int, int]]:
    for line in _LINE.finditer(text, unit.start, unit.end):
        yield from _stripped(text, line.start(), line.end())


def _pieces(text: str, spans: Sequence[tuple[int, int]], size: int, count_tokens: CountTokens) -> list[_Unit]:
    """Runs of words (or CJK characters) of up to an eighth of `size`; each different word is counted once."""
    words = list({atom.group() for start, end in spans for atom in _atom().finditer(text, start, end)})
    counts = dict(zip(words, count_tokens(words), strict=True)) if words else {}
    grain = max(1, size // 8)
    return [piece for span in spans for piece in _packed(_atoms(text, span, size, counts), grain)]


def _atoms(text: str, span: tuple[int, int], size: int, counts: Mapping[str, int]) -> Iterator[tuple[int, int, int]]:
    """(start, end, tokens) of words and parts of long words; plain tuples, as there may be millions."""
    for atom in _atom().finditer(text, *span):
        start, end = atom.span()
        tokens = counts[atom.group()]
        if atom.lastgroup == "slice":  # a part of a longer word: at most one token for each letter
            tokens = max(tokens, end - start)
        if tokens <= size:
            yield start, end, tokens
        else:
            yield from ((at, min(at + size, end), min(size, end - at)) for at in range(start, end, size))


def _packed(atoms: Iterable[tuple[int, int, int]], grain: int) -> Iterator[_Unit]:
    begin = last = -1
    total = 0
    for start, end, tokens in atoms:
        if begin < 0:
            begin = start
        elif total + tokens > grain or end - begin > grain * WIDEST_TOKEN:
            yield _Unit(begin, last, total)
            begin, total = start, 0
        last = end
        total += tokens
    if begin >= 0:
        yield _Unit(begin, last, total)


def _parted(text: str, borders: Sequence[int]) -> list[tuple[int, int]]:
    """The sentences of `text`, cut where a border falls into one."""
    spans = sentences(text)
    if not borders:
        return spans
    parted: list[tuple[int, int]] = []
    upcoming = iter([*borders, math.inf])
    border = next(upcoming)
    for start, end in spans:
        while border < end:
            if border > start:
                parted += _stripped(text, start, int(border))
                start = after_space(text, int(border), end)
            border = next(upcoming)
        parted.append((start, end))
    return parted


def _stripped(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The span without white space at its ends, or none if nothing is left."""
    start = after_space(text, start, end)
    end = before_space(text, start, end)
    return [(start, end)] if end > start else []


def _placed(document: Document, spans: Iterable[tuple[int, int]]) -> Iterator[Passage]:
    """Spans as passages, each with the page, line and heading at its start."""
    starts = [mark.start for mark in document.marks]
    line = 1
    counted = 0
    for start, end in spans:
        line += document.text.count("\n", counted, start)
        counted = start
        at = bisect_right(starts, start) - 1
        mark = document.marks[at] if at >= 0 else Mark(0)
        text = document.text[start:end]
        yield Passage(start, end, text, mark.page, line if document.lines else None, mark.heading)
