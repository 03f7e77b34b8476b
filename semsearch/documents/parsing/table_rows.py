"""The rows of a delimited text (RFC 4180), with what is out there: lines that end in CR, stray quotation marks."""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count
from typing import BinaryIO, NamedTuple, TypeAlias

from semsearch.documents.parsing.records import Digest, Place

BLOCK = 2**16  # bytes read at a time
_WIDE = ("utf-16", "utf-32")
_ESCAPED = re.compile(r"\\(.)")
_DOUBLED = {'"': '""', "\\": "\\"}


class Layout(NamedTuple):
    """How a file is to be read: its columns are the cells of the row at `begin`.

    escaped: a quotation mark in a quoted cell is written with a backslash, and so is a backslash, as databases export
    them. spaced: blanks before a cell are no part of it. above: the text in lines before the header.
    """

    encoding: str
    delimiter: str
    begin: Place
    escaped: bool = False
    spaced: bool = False
    above: str = ""

    def reader(self, lines: Iterable[str], *, strict: bool = False) -> Iterator[list[str]]:
        """The rows of lines that are `plain`."""
        return csv.reader(lines, delimiter=self.delimiter, skipinitialspace=self.spaced, strict=strict)

    def plain(self, line: str) -> str:
        """A line with its quotation marks doubled, where they are written with a backslash."""
        return _ESCAPED.sub(lambda pair: _DOUBLED.get(pair[1], pair[0]), line) if self.escaped else line


Row: TypeAlias = tuple[int, list[str], str]
"""The line where a row begins (a quoted cell may have several); its cells; and why it has none, "" for a good row."""
_Piece: TypeAlias = tuple[str | None, bytes, bool]
"""A line of a file, None if it is over the limit; its bytes; and whether more of them follow, in further pieces."""


class Rows:
    """The rows of a file after a place. `columns`: how many cells a row has at most, once that is known; else 0.

    A quotation mark that begins a cell and does not end one in the same row is part of the text: else it would join all
    rows up to the next one.
    """

    def __init__(self, file: BinaryIO, layout: Layout, start: Place, digest: Digest, limit: int) -> None:
        self.columns = 0
        self._layout = layout
        self._lines = _Lines(file, layout, start, digest, limit)
        mark, blanks = re.escape(layout.delimiter), " *" if layout.spaced else ""
        self._cell = re.compile(rf'{blanks}"((?:[^"]|"")*+)"(?={mark}|\Z)|{blanks}([^{mark}]*)')
        self._quoted = 0  # lines to come of a row whose quotation marks are right

    def __iter__(self) -> Iterator[Row]:
        lines = self._lines
        reader = self._layout.reader(self._checked())
        while True:
            line = lines.number + 1
            try:
                cells, broken = next(reader), ""
            except StopIteration:
                return
            except csv.Error as error:
                cells, broken = [], f"not CSV: {error}"
                if lines.failed:
                    reader = self._layout.reader(self._checked())
            while len(cells) > self.columns > 0 and not cells[-1]:  # of a line that ends with delimiters
                cells.pop()
            cells = cells if any(cells) else []
            yield line, cells, broken

    @property
    def at(self) -> int:
        """The bytes before the end of the latest row."""
        return self._lines.at

    @property
    def place(self) -> Place | None:
        """After the latest row, if reading can go on there."""
        return Place(self._lines.at, self._lines.number) if self._lines.ended else None

    def _checked(self) -> Iterator[str]:
        """The lines, with the cells of one with a stray quotation mark in quotation marks of their own."""
        for line in self._lines:
            if self._quoted:
                self._quoted -= 1
            elif line.count('"') % 2 and any(not closed and cell.startswith('"') for cell, closed in self._cells(line)):
                self._quoted = self._lines_to_close(line)
                if not self._quoted:
                    cells = [cell.replace('"', '""') for cell, _ in self._cells(line)]
                    yield self._layout.delimiter.join(f'"{cell}"' for cell in cells) + "\n"
                    continue
            yield line

    def _cells(self, line: str) -> Iterator[tuple[str, bool]]:
        """The cells of a line by itself, each with whether it is in quotation marks."""
        line, at = line.rstrip("\r\n"), 0
        while match := self._cell.match(line, at):
            yield (match[2], False) if match[1] is None else (match[1].replace('""', '"'), True)
            at = match.end() + 1
            if at > len(line):
                return

    def _lines_to_close(self, line: str) -> int:
        """The number of lines after `line` that belong to its row; 0 if its open quotation mark is a stray one."""
        lines = [line]
        for following in self._lines.ahead():
            lines.append(following)
            if following.count('"') % 2:
                return len(lines) - 1 if self._is_row(lines) else 0
        return 0

    def _is_row(self, lines: list[str]) -> bool:
        try:
            rows = list(self._layout.reader(lines, strict=True))
        except csv.Error:
            return False
        return len(rows) == 1 and not (self.columns and len(rows[0]) > self.columns) and not self._count_up(lines)

    def _count_up(self, lines: list[str]) -> bool:
        """Whether each line has the cells of a row, of which the first one is a number that goes up by one."""
        rows = [[cell for cell, _ in self._cells(line)] for line in lines]
        firsts = [int(cells[0]) if cells[0].isdecimal() and len(cells[0]) < 10 else -1 for cells in rows]
        whole = all(len(cells) == self.columns for cells in rows)
        return whole and self.columns > 1 and firsts[0] >= 0 and firsts == list(range(firsts[0], firsts[0] + len(rows)))


class _Lines:
    """The lines of a file after a place, which goes along. An end of line is LF, CRLF or CR.

    One longer than `limit` is never in memory: csv.Error instead, and `failed`.
    """

    def __init__(self, file: BinaryIO, layout: Layout, start: Place, digest: Digest, limit: int) -> None:
        self.at, self.number, self.failed = start.at, start.number, False
        self._encoding, self._digest, self._limit = layout.encoding, digest, limit
        self._plain = layout.plain
        self._wide = layout.encoding.startswith(_WIDE)
        self._pieces = self._decoded(file) if self._wide else self._split(file)
        self._ahead: deque[_Piece] = deque()
        self._has_end = True  # the last line
        self._at_the_end = False  # what is returned depends on the end of the file, which may grow

    def __iter__(self) -> Iterator[str]:
        while piece := self._ahead.popleft() if self._ahead else next(self._pieces, None):
            text, raw, more = piece
            self._digest.update(raw)
            self.at += len(raw)
            self._has_end = raw.endswith(b"\n")
            if more:
                continue
            self.number += 1
            self.failed = text is None
            if text is None:
                raise csv.Error(f"a line is over the limit of {self._limit / 2**20:g} MB for files")
            yield text

    @property
    def ended(self) -> bool:
        """Whether the last line has its end for certain, so that reading can go on after it."""
        return self._has_end and not self._at_the_end

    def ahead(self) -> Iterator[str]:
        """The lines to come, which are returned again later: up to the limit in all, and to a line over it."""
        size = 0
        while size <= self._limit:
            piece = next(self._pieces, None)
            if piece is None:
                self._at_the_end = True
                return
            self._ahead.append(piece)
            text, _, _ = piece
            if text is None:
                return
            size += len(text)
            yield text

    def _decoded(self, file: BinaryIO) -> Iterator[_Piece]:
        """Of an encoding whose ends of line are not single bytes: one cannot go on reading."""
        file.seek(0)
        skipped = self.number  # a line that names the delimiter
        text = io.TextIOWrapper(file, encoding=self._encoding, errors="replace", newline="")
        for number in count():
            if not (line := text.readline(self._limit + 1)):
                return
            whole = len(line) <= self._limit or line.endswith(("\n", "\r"))
            while not (whole or line.endswith(("\n", "\r"))) and (line := text.readline(2**20)):
                pass
            if number >= skipped:
                yield self._plain(line) if whole else None, b"", False

    def _split(self, file: BinaryIO) -> Iterator[_Piece]:
        file.seek(self.at)
        plain, encoding = self._plain, self._encoding
        begun, long = b"", False  # the beginning of a line, or half of its CRLF; whether more of it was left out
        while block := file.read(BLOCK):
            *whole, begun = (begun + block).splitlines(keepends=True)
            for line in whole:
                over = long or len(line) > self._limit + 2
                yield None if over else plain(line.decode(encoding, "replace")), line, False
                long = False
            if len(begun) > self._limit + 2:
                half = begun[-1:] if begun.endswith(b"\r") else b""
                yield None, begun.removesuffix(half), True
                begun, long = half, True
        if begun or long:
            yield None if long else plain(begun.decode(encoding, "replace")), begun, False
