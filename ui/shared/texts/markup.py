"""Markdown as one reads it: its lines by their kinds, and its letters without the signs of its markup.

Nothing is interpreted: signs are left out, and all else is shown as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from semsearch.documents.suffixes import BY_LOADER

from .highlight import Span

BETWEEN = "·"  # two cells of a row that stands in running text
# characters between two signs: one that is farther from its other is a letter, so that no text costs long
LONGEST = 300
_LINE = re.compile(
    r"""[ ]{0,3}(?:(?P<heading>\#{1,6})[ \t]+ | (?P<fence>`{3,}|~{3,})[^\n]*
    | (?P<quote>>)[ \t]? | (?P<item>[-*+]|\d{1,9}[.)])[ \t]+ | (?P<row>\|))""",
    re.VERBOSE,
)
_INLINE = re.compile(
    rf"""(?<!`)(?P<ticks>`++)(?P<code>[^\n]{{1,{LONGEST}}}?)(?<!`)(?P=ticks)(?!`)
    | (?<![\w*])(?P<stars>\*{{1,3}})(?=[^\s*])(?P<strong>[^\n]{{1,{LONGEST}}}?)(?<![\s*])(?P=stars)(?![\w*])
    | (?<!\w)(?P<lines>_{{1,2}})(?=[^\s_])(?P<underlined>[^\n]{{1,{LONGEST}}}?)(?<![\s_])(?P=lines)(?!\w)
    | !?\[(?P<label>[^\[\]\n]{{1,{LONGEST}}})\]\([^()\s]{{0,{LONGEST}}}\)""",
    re.VERBOSE,
)
_RULE = re.compile(r"[ ]{0,3}\|[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")  # below the head of a table
_BORDER = re.compile(r"(?<!\\)\|")
_INNER = ("code", "strong", "underlined", "label")


class Reading(NamedTuple):
    """The letters of a text, "" in place of a sign; and whether each is part of code."""

    letters: list[str]
    literal: list[bool]


def is_markdown(document: str) -> bool:
    """Whether a document of this name is read as Markdown."""
    return document.lower().endswith(BY_LOADER["markdown"])


def letters(text: str, document: str) -> Sequence[str]:
    """A passage of `document` as running text, letter by letter, "" in place of a sign."""
    return running(text).letters if is_markdown(document) else text


def raw(text: str) -> Reading:
    """A text whose signs are letters."""
    return Reading(list(text), [False] * len(text))


def reading(text: str) -> Reading:
    """A paragraph, or a cell, without the signs in it: of code, of emphasis, and of links with their addresses.

    >>> "".join(reading("**Use** `a * b`, see [here](x.md)").letters)
    'Use a * b, see here'
    """
    read = raw(text)
    _read(text, 0, len(text), read)
    return read


def running(text: str) -> Reading:
    """Any text as running text: also without the signs of its blocks, and with a dot between two cells of a table.

    >>> "".join(running("# Salt\\n| g | loaf |\\n|---|---|\\n| 18 | *one* |").letters)
    'Salt\\ng · loaf\\n\\n18 · one'
    """
    read = raw(text)
    for kind, start, end, sign in _lines(text, (0, len(text))):
        _leave_out(read, start, start + sign)
        if kind == "row":
            _read_row(text, start, end, read)
        elif kind not in ("code", ""):
            _read(text, start + sign, end, read)
    return read


def lines(text: str, shown: Span) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each line: a heading, an item, a row of a table and so on; "" between two blocks."""
    for kind, start, end, sign in _lines(text, shown):
        yield kind, start + sign, end


def cells(text: str, start: int, end: int) -> list[Span]:
    """The cells of a row of a table; none of the line below its head."""
    if _RULE.fullmatch(text, start, end):
        return []
    code = [code_span.span() for code_span in _INLINE.finditer(text, start, end) if code_span["code"]]
    borders = [each.start() for each in _BORDER.finditer(text, start, end)]
    borders = [at for at in borders if not any(first < at < last for first, last in code)]
    if not text[borders[-1] + 1 : end].strip() and len(borders) > 1:
        end = borders.pop()
    return [_stripped(text, at + 1, then) for at, then in zip(borders, [*borders[1:], end], strict=True)]


def spans(text: str, shown: Span) -> Iterator[Span]:
    """Start and end of each line, without its break."""
    start, last = shown
    while start < last:
        end = text.find("\n", start, last)
        end = last if end < 0 else end
        yield start, end
        start = end + 1


def _lines(text: str, shown: Span) -> Iterator[tuple[str, int, int, int]]:
    """Kind, start and end of each line, and the length of the sign at its start."""
    fence = ""
    for start, end in spans(text, shown):
        line = _LINE.match(text, start, end)
        sign = line.end() - start if line else 0
        if line and line["fence"] and (not fence or line["fence"].startswith(fence)):
            fence = "" if fence else line["fence"]
            yield "", start, end, end - start
        elif fence:
            yield "code", start, end, 0
        elif line and line["row"]:
            yield "row", start, end, 0
        elif line and line["heading"]:
            yield f"h{min(6, len(line['heading']) + 1)}", start, end, sign
        elif line and line["item"]:
            yield "item", start, end, line.start("item") - start if line["item"][0].isdigit() else sign
        elif line and line["quote"]:
            yield "quote", start, end, sign
        else:
            yield ("p" if text[start:end].strip() else ""), start, end, 0


def _read(text: str, start: int, end: int, read: Reading) -> None:
    """Leave out the signs between these offsets."""
    for sign in _INLINE.finditer(text, start, end):
        inner = next(name for name in _INNER if sign[name] is not None)
        first, last = sign.span(inner)
        _leave_out(read, sign.start(), first)
        _leave_out(read, last, sign.end())
        if inner == "code":
            read.literal[first:last] = [True] * (last - first)
        else:
            _read(text, first, last, read)


def _read_row(text: str, start: int, end: int, read: Reading) -> None:
    """Leave out the borders of the cells, and signs within them."""
    behind = start
    for first, last in cells(text, start, end):
        _leave_out(read, behind, first)
        if behind > start:
            read.letters[behind] = f" {BETWEEN} "
        _read(text, first, last, read)
        behind = last
    _leave_out(read, behind, end)


def _leave_out(read: Reading, start: int, end: int) -> None:
    read.letters[start:end] = [""] * (end - start)


def _stripped(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
