"""The words of an HTML tree as blocks of text: paragraphs, list items, rows of tables, code as it stands."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from semsearch.documents.loaders._decode import newlines
from semsearch.documents.loaders._writer import TextWriter
from semsearch.types import Mark

_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_BLOCK_TAGS = """
    address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure
    footer form header hgroup hr html legend li main menu nav ol p pre section summary table tbody tfoot thead tr ul
"""
_BLOCKS = _HEADINGS | set(_BLOCK_TAGS.split())
_ROWS = {"tr", "table", "caption"}
_CLOSE_TO_THE_LAST = {"li", "tr", "dd", "figcaption"}
_LAYOUT = {*_HEADINGS, "table", "pre", "ul", "ol", "dl"}  # a table with one of these in it only arranges the page
_SPACES = re.compile(r"\s+")
_SPACES_IN_LINE = re.compile(r"[^\S\n]+")
_AROUND_BREAK = re.compile(r" ?\n[ \n]*")


def text_of(root: Any, dropped: Collection[Any]) -> tuple[str, tuple[Mark, ...]]:
    """The text below `root` without the elements in `dropped`, and its headings."""
    page = _Page()
    for event, element in _walk(root, dropped):
        if event == "start":
            page.start(element)
        elif event == "end":
            page.end(element.tag)
        else:
            page.words(element)
    page.flush()
    return page.writer.finish()


def _walk(root: Any, dropped: Collection[Any]) -> Iterator[tuple[str, Any]]:
    """("start", element), ("words", str) and ("end", element) in reading order, without recursion."""
    stack: list[tuple[str, Any]] = [("open", root)]
    while stack:
        event, item = stack.pop()
        if event != "open":
            yield event, item
        elif isinstance(item.tag, str) and item not in dropped:
            yield "start", item
            stack.append(("end", item))
            for child in reversed(item):
                stack += [("words", child.tail or ""), ("open", child)]
            stack.append(("words", item.text or ""))


class _Page:
    """Gathers words until a block ends, then hands the block to the writer."""

    def __init__(self) -> None:
        self.writer = TextWriter()
        self._buffer: list[str] = []
        self._gap = "\n\n"
        self._has_words = self._first_row = False
        self._verbatim = 0
        self._tables: list[bool] = []  # whether each open table holds data

    def start(self, element: Any) -> None:
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
            if not self._buffer:  # the first block of an item stands where the item does
                self._gap = "\n" if tag in _CLOSE_TO_THE_LAST and not self._first_row else "\n\n"
                self._first_row = self._first_row and tag != "tr"
                self._buffer += ["- "] * (tag == "li")

    def end(self, tag: str) -> None:
        if tag in _HEADINGS and self._is_block(tag):
            heading, self._buffer = "".join(self._buffer), []
            self.writer.heading(heading.removeprefix("- "))
        elif self._is_block(tag):
            self.flush()
            self._verbatim -= tag == "pre"
        if tag == "table":
            self._tables.pop()

    def words(self, text: str) -> None:
        if text:
            self._buffer.append(newlines(text) if self._verbatim else _SPACES.sub(" ", text))
            self._has_words = self._has_words or not text.isspace()

    def flush(self) -> None:
        block = "".join(self._buffer)
        if block.rstrip() == "-" and not self._verbatim:  # <li><p>: the paragraph belongs to the item
            self._buffer = ["- "]
            return
        self._buffer, self._has_words = [], False
        if not self._verbatim:
            block = _AROUND_BREAK.sub("\n", _SPACES_IN_LINE.sub(" ", block)).strip()
        if block.strip(" \n-|"):
            self.writer.block(block, gap=self._gap)
            self._gap = "\n\n"

    def _start_cell(self) -> None:
        if not (self._tables and self._tables[-1]):
            self.flush()
        elif self._has_words:
            self._buffer.append(" | ")

    def _is_block(self, tag: str) -> bool:
        """Within a table of data only its rows are blocks: a paragraph in a cell stays in its row."""
        return tag in (_ROWS if self._tables and self._tables[-1] else _BLOCKS)
