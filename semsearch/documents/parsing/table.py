"""Rows of a delimited text file with a header row, each a document."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing.charset import SAMPLE_BYTES, encoding_of, looks_binary
from semsearch.documents.parsing.json_size import MOST_VALUES
from semsearch.documents.parsing.records import (
    ID_FIELDS,
    TITLE_FIELD,
    Digest,
    Fields,
    Place,
    Step,
    check_columns,
    no_text_field,
    number_or_text,
    text_fields_of,
    to_document,
)
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

BLOCK = 2**16  # bytes read at a time
_BOM = b"\xef\xbb\xbf"
_WIDE = ("utf-16", "utf-32")


class _Row(NamedTuple):
    line: int  # where it begins; a quoted cell may have several lines
    cells: list[str]
    broken: str = ""
    place: Place | None = None  # after it, if reading can go on there


class _Table(NamedTuple):
    """How a file is to be read: its columns are the cells of its first row."""

    encoding: str
    delimiter: str
    begin: int  # bytes of the byte order mark


def read(path: Path, fields: Fields, delimiters: str) -> Iterator[Document | Skipped]:
    """The documents of a table. The delimiter is the one of `delimiters` that is most frequent in the header.

    Raises UsageError for a chosen field that is not a column, Unreadable where no field is chosen and no column has
    one of the usual names of a text.
    """
    return (item for item, _ in read_from(path, fields, Place(), hashlib.sha256(), delimiters=delimiters))


def read_from(path: Path, fields: Fields, start: Place, digest: Digest, *, delimiters: str) -> Iterator[Step]:
    """As `read`, from a place on: see `RecordLoader.read_from`."""
    csv.field_size_limit(max(csv.field_size_limit(), fields.max_bytes))  # of the whole process: it is only ever raised
    with open_regular(path) as file:
        table = _table(file, delimiters)
        before = hashlib.sha256() if start.at else digest
        before.update(_BOM[: table.begin])
        rows = _rows(file, table, Place(table.begin), before, fields.max_bytes)
        columns = _column_names(next(rows, _Row(0, [])).cells)
        check_columns(columns, fields, path.name)
        text = text_fields_of(columns, fields)
        if columns and not text:
            raise Unreadable(no_text_field(columns, fields))
        for row in _rows(file, table, start, digest, fields.max_bytes) if start.at else rows:
            if reason := row.broken or _excess(row.cells, columns):
                yield Skipped(f"{path.name}:{row.line}", reason), row.place
            elif row.cells:
                yield to_document(_record(columns, row.cells, text, fields), fields, row.line, path.name), row.place


def _excess(cells: list[str], columns: list[str]) -> str:
    if len(cells) > len(columns):
        return f"{len(cells)} cells, but the header has {len(columns)}"
    return f"more than {MOST_VALUES:,} values" if len(cells) > MOST_VALUES else ""


def _table(file: BinaryIO, delimiters: str) -> _Table:
    """Raises Unreadable for binary content."""
    sample = file.read(SAMPLE_BYTES)
    if looks_binary(sample):
        raise Unreadable("binary file")
    encoding, _ = encoding_of(sample, whole=len(sample) < SAMPLE_BYTES)
    header = sample.decode(encoding, "replace").partition("\n")[0]
    delimiter = max(delimiters, key=header.count)
    return _Table(encoding.removesuffix("-sig"), delimiter, len(_BOM) if encoding == "utf-8-sig" else 0)


def _rows(file: BinaryIO, table: _Table, start: Place, digest: Digest, limit: int) -> Iterator[_Row]:
    """The rows of a file after `start`."""
    lines = _Lines(file, table.encoding, start.at, digest, limit)
    reader = csv.reader(lines, delimiter=table.delimiter)
    while True:
        line = start.number + lines.number + 1
        try:
            cells, broken = next(reader), ""
        except StopIteration:
            return
        except csv.Error as error:
            cells, broken = [], f"not CSV: {error}"
        whole = lines.ended and not lines.exhausted  # else a quoted cell was still open at the end of the file
        yield _Row(line, cells, broken, Place(lines.at, start.number + lines.number) if whole else None)


class _Lines:
    """The lines of a file after byte `at`, which goes along, as their number does. An end of line is LF, CRLF or CR.

    One longer than `limit` is never in memory: csv.Error instead. `ended`: the last line has its end for certain, so
    that reading can go on after it. `exhausted`: there are no more.
    """

    def __init__(self, file: BinaryIO, encoding: str, at: int, digest: Digest, limit: int) -> None:
        self.at, self.number, self.ended, self.exhausted = at, 0, True, False
        self._encoding, self._digest, self._limit = encoding, digest, limit
        self._lines = self._decoded(file) if encoding in _WIDE else self._split(file)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for line in self._lines:
            self.number += 1
            if line is None:
                raise csv.Error(f"a line is over the limit of {self._limit / 2**20:g} MB for files")
            return line
        self.exhausted = True
        raise StopIteration

    def _decoded(self, file: BinaryIO) -> Iterator[str | None]:
        """Of an encoding whose ends of line are not single bytes: one cannot go on reading. None for a long line."""
        self.ended = False
        file.seek(0)
        text = io.TextIOWrapper(file, encoding=self._encoding, errors="replace", newline="")
        while line := text.readline(self._limit + 1):
            whole = len(line) <= self._limit or line.endswith(("\n", "\r"))
            while not (whole or line.endswith(("\n", "\r"))) and (line := text.readline(2**20)):
                pass
            yield line if whole else None

    def _split(self, file: BinaryIO) -> Iterator[str | None]:
        file.seek(self.at)
        begun, long = b"", False  # the beginning of a line, or half of its CRLF; whether more of it was left out
        while block := file.read(BLOCK):
            *whole, begun = (begun + block).splitlines(keepends=True)
            for line in whole:
                self._pass(line)
                yield None if long or len(line) > self._limit + 2 else line.decode(self._encoding, "replace")
                long = False
            if len(begun) > self._limit + 2:
                half = begun[-1:] if begun.endswith(b"\r") else b""
                self._pass(begun.removesuffix(half))
                begun, long = half, True
        if begun or long:
            self._pass(begun)
            yield None if long else begun.decode(self._encoding, "replace")

    def _pass(self, line: bytes) -> None:
        self._digest.update(line)
        self.at += len(line)
        self.ended = line.endswith(b"\n")


def _column_names(header: list[str]) -> list[str]:
    """Distinct column names: an empty one becomes "column_3", a second "name" becomes "name_2"."""
    names: list[str] = []
    seen: set[str] = set()
    for at, cell in enumerate(header, start=1):
        name = cell.strip() or f"column_{at}"
        names.append(name if name not in seen else f"{name}_{at}")
        seen.add(names[-1])
    return names


def _record(columns: list[str], cells: list[str], text: tuple[str, ...], fields: Fields) -> dict[str, object]:
    """Numbers as numbers, except in `text`, id and title; an empty cell is None. A row may lack its last cells."""
    record: dict[str, object] = dict.fromkeys(text)  # not of all columns: a header may have a million
    for name, cell in zip(columns, cells, strict=False):
        verbatim = name in (*text, fields.id, *ID_FIELDS, TITLE_FIELD)
        record[name] = cell if verbatim else number_or_text(cell) if cell.strip() else None
    return record
