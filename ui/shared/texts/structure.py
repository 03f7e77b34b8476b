"""The text of a document as blocks: headings, items of lists, quotations, tables, code and paragraphs, with its matches
marked.

Markdown is told by its signs (markup.py), and a heading of any other format by the headings of the passages. No markup
is interpreted: a block is a word for its kind and pieces of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from semsearch.documents.parsing import front_matter
from semsearch.types import JsonObject
from semsearch.utils.untrusted import visible

from . import markup
from .highlight import LITERAL, Span

PLAIN, MATCH, OPEN = "around", "match", "open"  # styles of pieces
LONG = ("p", "lines", "code", "row")  # kinds of blocks of several lines
Piece = list[str]  # style, text, and the key of a match


@dataclass(frozen=True, slots=True)
class Match:
    """A passage of the document that is marked: its key, its offsets, and its style."""

    key: str
    start: int
    end: int
    style: str


def blocks(
    text: str, shown: Span, matches: Sequence[Match], headings: frozenset[str], document: str
) -> list[JsonObject]:
    """The blocks of this part of a text; each has a kind and its pieces: style, text, and the key of a match. A table
    has rows of cells, which are pieces, and the number of rows in its head; front matter, whether it is all that the
    open passage has.
    """
    signs = markup.is_markdown(document)
    begin = min(max(shown[0], front_matter.end(text)), shown[1])
    made: list[JsonObject] = []
    if matter := _pieces(text, shown[0], begin, matches, signs=False):
        alone = any(each.style == OPEN and each.end <= begin for each in matches)
        made.append({"kind": "front", "pieces": matter, "open": alone})
    shown = begin, shown[1]
    for kind, start, end in _together(lines(text, shown, headings, document)):
        if kind == "row":
            made.append(_table(text, start, end, matches))
        elif inner := _pieces(text, start, end, matches, signs=signs and kind != "code"):
            made.append({"kind": kind, "pieces": inner})
    return made


def lines(text: str, shown: Span, headings: frozenset[str], document: str) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each line: of Markdown, a heading, one whose break is kept, or "" between two blocks."""
    if markup.is_markdown(document):
        yield from markup.lines(text, shown)
        return
    for start, end in markup.spans(text, shown):
        line = text[start:end].strip()
        yield ("h2" if line in headings else "lines" if line else ""), start, end


def _together(lines: Iterator[tuple[str, int, int]]) -> Iterator[tuple[str, int, int]]:
    """Lines of one paragraph, of code, of a table or of a quotation as one block."""
    before: tuple[str, int, int] | None = None
    for kind, start, end in lines:
        if before and kind == before[0] and kind in LONG:
            before = kind, before[1], end
            continue
        if before and before[0]:
            yield before
        before = kind, start, end
    if before and before[0]:
        yield before


def _table(text: str, start: int, end: int, matches: Sequence[Match]) -> JsonObject:
    rows = [markup.cells(text, *line) for line in markup.spans(text, (start, end))]
    head = 1 if len(rows) > 1 and not rows[1] else 0
    written = [[_pieces(text, *cell, matches, signs=True) for cell in row] for row in rows if row]
    return {"kind": "table", "pieces": [], "rows": written, "head": head}


def _pieces(text: str, start: int, end: int, matches: Sequence[Match], *, signs: bool) -> list[Piece]:
    """A block in pieces, without its signs; where passages overlap, the first one has what both have."""
    part = text[start:end]
    read = markup.reading(part) if signs else markup.raw(part)
    pieces: list[Piece] = []
    at = start
    for each in [*matches, None]:
        first, last = (max(at, each.start), min(end, each.end)) if each else (end, end)
        if each and first >= last:
            continue
        pieces += _read(read, at - start, first - start, PLAIN, [])
        if each:
            pieces += _read(read, first - start, last - start, each.style, [each.key])
        at = last
    return pieces


def _read(read: markup.Reading, start: int, end: int, style: str, key: Sequence[str]) -> Iterator[Piece]:
    """The letters between two offsets as pieces: code is one of its own."""
    for literal, run in groupby(range(start, end), key=read.literal.__getitem__):
        if shown := visible("".join(read.letters[at] for at in run)):
            yield [f"{style} {LITERAL}" if literal else style, shown, *key]
