"""The text of a document as blocks: headings, items of lists, quotations, code and paragraphs, with its matches marked.

Markdown is told by its signs, and a heading of any other format by the headings of the passages. No markup is
interpreted: a block is a word for its kind and pieces of text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from semsearch.documents.loaders.markdown import SUFFIXES as MARKDOWN
from semsearch.types import JsonObject
from semsearch.utils.untrusted import visible

from ..shared.highlight import Span

PLAIN, MATCH, OPEN = "around", "match", "open"  # styles of pieces
_LINE = re.compile(
    r"""[ ]{0,3}(?:(?P<heading>\#{1,6})[ \t]+ | (?P<fence>`{3,}|~{3,})[^\n]*
    | (?P<quote>>)[ \t]? | (?P<item>[-*+]|\d{1,9}[.)])[ \t]+ | (?P<row>\|))""",
    re.VERBOSE,
)


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
    """The blocks of this part of a text; each has a kind and its pieces: style, text, and the key of a match."""
    lines = _markdown(text, shown) if document.lower().endswith(MARKDOWN) else _lines(text, shown, headings)
    made: list[JsonObject] = []
    for kind, start, end in _together(lines):
        if found := _pieces(text, start, end, matches):
            made.append({"kind": kind, "pieces": found})
    return made


def _lines(text: str, shown: Span, headings: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each line of any format: a heading, one whose break is kept, or the border between two."""
    for start, end in _spans(text, shown):
        line = text[start:end].strip()
        yield ("h2" if line in headings else "lines" if line else ""), start, end


def _markdown(text: str, shown: Span) -> Iterator[tuple[str, int, int]]:
    """The same of Markdown, without the signs of its structure."""
    fence = ""
    for start, end in _spans(text, shown):
        found = _LINE.match(text, start, end)
        if found and found["fence"] and (not fence or found["fence"].startswith(fence)):
            fence = "" if fence else found["fence"]
            yield "", start, start
        elif fence or (found and found["row"]):
            yield "code", start, end
        elif found and found["heading"]:
            yield f"h{min(6, len(found['heading']) + 1)}", found.end(), end
        elif found and found["item"]:
            yield "item", found.start("item") if found["item"][0].isdigit() else found.end(), end
        elif found and found["quote"]:
            yield "quote", found.end(), end
        else:
            yield ("p" if text[start:end].strip() else ""), start, end


def _spans(text: str, shown: Span) -> Iterator[Span]:
    """Start and end of each line, without its break."""
    start, last = shown
    while start < last:
        end = text.find("\n", start, last)
        end = last if end < 0 else end
        yield start, end
        start = end + 1


def _together(lines: Iterator[tuple[str, int, int]]) -> Iterator[tuple[str, int, int]]:
    """Lines of one paragraph, of code or of a quotation as one block."""
    before: tuple[str, int, int] | None = None
    for kind, start, end in lines:
        if before and kind == before[0] and kind in ("p", "lines", "code"):
            before = kind, before[1], end
            continue
        if before and before[0]:
            yield before
        before = kind, start, end
    if before and before[0]:
        yield before


def _pieces(text: str, start: int, end: int, matches: Sequence[Match]) -> list[list[str]]:
    """A block in pieces; where passages overlap, the first one has what both have."""
    found: list[list[str]] = []
    at = start
    for each in matches:
        first, last = max(at, each.start), min(end, each.end)
        if first >= last:
            continue
        found += [[PLAIN, visible(text[at:first])], [each.style, visible(text[first:last]), each.key]]
        at = last
    return [piece for piece in [*found, [PLAIN, visible(text[at:end])]] if piece[1]]
