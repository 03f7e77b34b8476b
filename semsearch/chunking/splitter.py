"""The splitter of documents into passages: windows of whole sentences, each an exact slice of the text.

The encoders are sentence models, so a window consists of sentences, and of a part of one only where the sentence is
longer than the window. The encoder counts the tokens, in one call for some thousand sentences, and two more where any
of them has to be cut; none for a text with fewer letters than a window has tokens. The time is linear in the length of
the text; beside the passages, memory is that of a few sentences, and no step keeps other threads waiting.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache
from heapq import merge
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Literal, NamedTuple, TypeAlias, get_args

from semsearch.chunking.sentences import after_space, before_space
from semsearch.chunking.sentences import spans as sentence_spans
from semsearch.errors import UnknownName, UsageError
from semsearch.types import Document, Mark, Passage
from semsearch.utils.batches import batches
from semsearch.utils.languages.writing_systems import EAST_ASIAN, EAST_ASIAN_SYMBOLS

Kind: TypeAlias = Literal["sentences", "tokens", "markdown", "none"]
CountTokens: TypeAlias = Callable[[Sequence[str]], Sequence[int]]

SIZE = 192  # tokens; best nDCG@10 on SciFact train and Cranfield among 64 to 256 (docs/choices.md)
OVERLAP = 0  # tokens
WIDEST_TOKEN = 16  # characters: a tokenizer may call 10,000 of them one unknown word; English has 4.5 a token
WIDEST_ATOM = 24  # characters, and at most as many tokens: where longer words are cut
COUNTED, COUNTED_CHARACTERS = 2048, 2**18  # spans, and their characters, whose tokens are counted in one call
_CJK = EAST_ASIAN + EAST_ASIAN_SYMBOLS  # text can be cut before and after each
_LETTER = rf"[^\s{_CJK}]"
_LINE = re.compile(r"[^\n]+")


@cache
def _atom() -> re.Pattern[str]:
    """A word, or a part of a long one; compiled at first use, as it takes 10 ms and a search needs none."""
    return re.compile(
        rf"\S(?:(?<=[{_CJK}])|{_LETTER}{{0,{WIDEST_ATOM - 1}}}+(?!{_LETTER})|(?P<slice>{_LETTER}{{{WIDEST_ATOM - 1}}}))"
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
        hard: set[int] = set()
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
    units: Iterable[_Unit], splitter: Splitter, borders: Sequence[int], hard: Set[int], fullness: int
) -> Iterator[tuple[int, int]]:
    """Runs of units of up to `size` tokens. One of `fullness` tokens ends before a border, any before a `hard` one."""
    window: list[_Unit] = []
    total = 0
    upcoming = iter([*borders, math.inf])
    border = next(upcoming)
    for unit in units:
        crossed = must = False
        while border <= unit.start:
            crossed, must, border = True, must or border in hard, next(upcoming)
        breaks = must or (crossed and total >= fullness)
        if window and (breaks or total + unit.tokens > splitter.size or _too_wide(window[0], unit, splitter.size)):
            yield window[0].start, window[-1].end
            window = [] if crossed else _repeated(window, unit, splitter)
            total = sum(each.tokens for each in window)
        window.append(unit)
        total += unit.tokens
    if window:
        yield window[0].start, window[-1].end


def _repeated(window: list[_Unit], following: _Unit, splitter: Splitter) -> list[_Unit]:
    """The last units of a window, never all of them, that the next one repeats before the unit `following`."""
    room = min(splitter.overlap, splitter.size - following.tokens)
    repeated: list[_Unit] = []
    for unit in reversed(window[1:]):
        room -= unit.tokens
        if room < 0 or _too_wide(unit, following, splitter.size):
            break
        repeated.insert(0, unit)
    return repeated


def _too_wide(first: _Unit, last: _Unit, size: int) -> bool:
    return last.end - first.start > size * WIDEST_TOKEN


def _units(text: str, spans: Iterable[tuple[int, int]], size: int, count_tokens: CountTokens) -> Iterator[_Unit]:
    """Sentences; the lines of sentences that are too long; pieces of lines that are too long."""
    lines = (line for span in spans for line in ([span] if _countable(span, size) else _lines(text, *span)))
    for some in batches(lines, COUNTED, weight=lambda span: span[1] - span[0], heaviest=COUNTED_CHARACTERS):
        units = _counted(text, some, size, count_tokens)
        long = [unit for unit in units if unit.tokens > size]
        if not long:
            yield from units
            continue
        parts = [line for unit in long for line in _lines(text, unit.start, unit.end)]
        counted = _counted(text, parts, size, count_tokens)
        short = sorted(unit for unit in (*units, *counted) if unit.tokens <= size)
        rest = [(line.start, line.end) for line in counted if line.tokens > size]
        yield from merge(short, _pieces(text, rest, size, count_tokens))


def _countable(span: tuple[int, int], size: int) -> bool:
    """Whether a span may be in one window; a wider one is cut, whatever its tokens are."""
    return span[1] - span[0] <= size * WIDEST_TOKEN


def _counted(text: str, spans: Sequence[tuple[int, int]], size: int, count_tokens: CountTokens) -> list[_Unit]:
    """Each span with its number of tokens, counted in one call; a span that is too wide counts as size + 1."""
    countable = [text[start:end] for start, end in spans if _countable((start, end), size)]
    counts = iter(count_tokens(countable) if countable else ())
    return [_Unit(*span, next(counts) if _countable(span, size) else size + 1) for span in spans]


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for line in _LINE.finditer(text, start, end):
        yield from _stripped(text, line.start(), line.end())


def _pieces(text: str, spans: Iterable[tuple[int, int]], size: int, count_tokens: CountTokens) -> Iterator[_Unit]:
    """Runs of words (or CJK characters) of up to an eighth of `size`, each inside a span."""
    grain = max(1, size // 8)
    for _, atoms in groupby(_atoms(text, spans, size, count_tokens), key=itemgetter(0)):
        yield from _packed(atoms, grain)


def _atoms(
    text: str, spans: Iterable[tuple[int, int]], size: int, count_tokens: CountTokens
) -> Iterator[tuple[int, int, int, int]]:
    """(number of its span, start, end, tokens) of words and parts of long words. Of some thousand of them, each
    different one is counted once.
    """
    atoms = ((number, atom) for number, span in enumerate(spans) for atom in _atom().finditer(text, *span))
    for some in batches(atoms, COUNTED):
        words = list({atom.group() for _, atom in some})
        counts = dict(zip(words, count_tokens(words), strict=True))
        for number, atom in some:
            start, end = atom.span()
            tokens = counts[atom.group()]
            if atom.lastgroup == "slice":  # a part of a longer word: at most one token for each letter
                tokens = max(tokens, end - start)
            if tokens <= size:
                yield number, start, end, tokens
            else:
                yield from ((number, at, min(at + size, end), min(size, end - at)) for at in range(start, end, size))


def _packed(atoms: Iterable[tuple[int, int, int, int]], grain: int) -> Iterator[_Unit]:
    begin = last = -1
    total = 0
    for _, start, end, tokens in atoms:
        if begin < 0:
            begin = start
        elif total + tokens > grain or end - begin > grain * WIDEST_TOKEN:
            yield _Unit(begin, last, total)
            begin, total = start, 0
        last = end
        total += tokens
    if begin >= 0:
        yield _Unit(begin, last, total)


def _parted(text: str, borders: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The sentences of `text`, cut where a border falls into one."""
    upcoming = iter([*borders, math.inf])
    border = next(upcoming)
    for start, end in sentence_spans(text):
        while border < end:
            if border > start:
                yield from _stripped(text, start, int(border))
                start = after_space(text, int(border), end)
            border = next(upcoming)
        yield start, end


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
