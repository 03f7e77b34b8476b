"""The text of an HTML tree, block by block: paragraphs, list items, rows of tables, code verbatim."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from semsearch.documents.parsing.charset import newlines
from semsearch.documents.parsing.text_writer import TextWriter

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_BLOCK_TAGS = """
    address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure
    footer form header hgroup hr html legend li main menu nav ol p pre section summary table tbody tfoot thead tr ul
"""
_BLOCKS = _HEADINGS | set(_BLOCK_TAGS.split())
_ROWS = {"tr", "table", "caption"}
_CLOSE_TO_THE_LAST = {"li", "tr", "dd", "figcaption"}
_LAYOUT = {*_HEADINGS, "table", "pre", "ul", "ol", "dl"}  # a table that contains one of these is there for layout
_SPACES = re.compile(r"\s+")
_SPACES_IN_LINE = re.compile(r"[^\S\n]+")
_AROUND_BREAK = re.compile(r" ?\n[ \n]*")


def text_of(root: Element, dropped: Collection[Element], writer: TextWriter | None = None) -> TextWriter:
    """`writer`, or a new one, with the text and the headings below `root`, without the elements in `dropped`."""
    page, stack = (
        _Page(writer or TextWriter()),
        [("open", "", root)],
    )  # no recursion: an element may be nested a thousand deep
    while stack:
        event, text, element = stack.pop()
        if event == "text":
            page.text(text)
        elif event == "end":
            page.end(element.tag)
        elif isinstance(element.tag, str) and element not in dropped:
            page.start(element)
            stack.append(("end", "", element))
            for child in reversed(element):
                stack += [("text", child.tail or "", child), ("open", "", child)]
            page.text(element.text or "")
    page.flush()
    return page.writer


class _Page:
    """Collects text until a block ends, then passes the block to the writer."""

    def __init__(self, writer: TextWriter) -> None:
        self.writer = writer
        self._buffer: list[str] = []
        self._gap = "\n\n"
        self._has_text = self._first_row = False
        self._verbatim = 0
        self._tables: list[bool] = []  # whether each open table is one of data

    def start(self, element: Element) -> None:
        tag = element.tag
        if tag == "br":
            self._buffer.append("\n")
        elif tag == "table":
            self.flush()
            self._first_row = True
            self._tables.append(not any(e.tag in _LAYOUT for e in element.iter() if e is not element))
        elif tag in ("td", "th"):
            self._start_cell()
        elif self._is_block(tag):
            self.flush()
            self._verbatim += tag == "pre"
            if not self._buffer:  # the first block of an item continues its line
                self._gap = "\n" if tag in _CLOSE_TO_THE_LAST and not self._first_row else "\n\n"
                self._first_row = self._first_row and tag != "tr"
                self._buffer += ["- "] * (tag == "li")

    def end(self, tag: str) -> None:
        if tag in _HEADINGS and self._is_block(tag):
            heading, self._buffer = "".join(self._buffer), []
            self.writer.heading(heading.removeprefix("- "), int(tag[1:]))
        elif self._is_block(tag):
            self.flush()
            self._verbatim -= tag == "pre"
        if tag == "table":
            self._tables.pop()

    def text(self, text: str) -> None:
        if text:
            self._buffer.append(newlines(text) if self._verbatim else _SPACES.sub(" ", text))
            self._has_text = self._has_text or not text.isspace()

    def flush(self) -> None:
        block = "".join(self._buffer)
        if block.rstrip() == "-" and not self._verbatim:  # <li><p>: the paragraph belongs to the item
            self._buffer = ["- "]
            return
        self._buffer, self._has_text = [], False
        if not self._verbatim:
            block = _AROUND_BREAK.sub("\n", _SPACES_IN_LINE.sub(" ", block)).strip()
        if block.strip(" \n-|"):
            self.writer.block(block, gap=self._gap)
            self._gap = "\n\n"

    def _start_cell(self) -> None:
        if not (self._tables and self._tables[-1]):
            self.flush()
        elif self._has_text:
            self._buffer.append(" | ")

    def _is_block(self, tag: str) -> bool:
        """Within a table of data only rows are blocks: a paragraph in a cell stays in its row."""
        return tag in (_ROWS if self._tables and self._tables[-1] else _BLOCKS)
