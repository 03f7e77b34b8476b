"""Rows of a delimited text file with a header row, each a document."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from semsearch.documents.parsing.charset import SAMPLE_BYTES, encoding_of, looks_binary
from semsearch.documents.parsing.json_size import MOST_VALUES
from semsearch.documents.parsing.records import (
    ID_FIELDS,
    TITLE_FIELD,
    Fields,
    check_columns,
    no_text_field,
    number_or_text,
    text_fields_of,
    to_document,
)
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped


class _Row(NamedTuple):
    line: int  # where it begins; a quoted cell may have several lines
    cells: list[str]
    broken: str = ""


def read(path: Path, fields: Fields, delimiters: str) -> Iterator[Document | Skipped]:
    """The documents of a table. The delimiter is the one of `delimiters` that is most frequent in the header.

    Raises UsageError for a chosen field that is not a column, Unreadable where no field is chosen and no column has
    one of the usual names of a text.
    """
    with path.open("rb") as binary:
        sample = binary.read(SAMPLE_BYTES)
        if looks_binary(sample):
            raise Unreadable("binary file")
        binary.seek(0)
        encoding, _ = encoding_of(sample, whole=len(sample) < SAMPLE_BYTES)
        header = sample.decode(encoding, "replace").partition("\n")[0]
        delimiter = max(delimiters, key=header.count)
        with io.TextIOWrapper(binary, encoding=encoding, errors="replace", newline="") as file:
            yield from _documents(_rows(file, delimiter, fields.max_bytes), path.name, fields)


def _documents(rows: Iterator[_Row], name: str, fields: Fields) -> Iterator[Document | Skipped]:
    columns = _column_names(next(rows, _Row(0, [])).cells)
    check_columns(columns, fields, name)
    if columns and not text_fields_of(columns, fields):
        raise Unreadable(no_text_field(columns, fields))
    text = text_fields_of(columns, fields)
    for row in rows:
        if reason := row.broken or _excess(row.cells, columns):
            yield Skipped(f"{name}:{row.line}", reason)
        elif row.cells:
            yield to_document(_record(columns, row.cells, text, fields), fields, row.line, name)


def _excess(cells: list[str], columns: list[str]) -> str:
    if len(cells) > len(columns):
        return f"{len(cells)} cells, but the header has {len(columns)}"
    return f"more than {MOST_VALUES:,} values" if len(cells) > MOST_VALUES else ""


def _rows(file: io.TextIOWrapper, delimiter: str, limit: int) -> Iterator[_Row]:
    csv.field_size_limit(max(csv.field_size_limit(), limit))  # of the whole process, so it is only ever raised
    lines = _Lines(file, limit)
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        line = lines.number + 1
        try:
            yield _Row(line, next(reader))
        except StopIteration:
            return
        except csv.Error as error:
            yield _Row(line, [], f"not CSV: {error}")


class _Lines:
    """The lines of a file, and their number so far. One longer than `limit` is never in memory: csv.Error instead."""

    def __init__(self, file: io.TextIOWrapper, limit: int) -> None:
        self.number = 0
        self._file = file
        self._limit = limit

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline(self._limit + 1)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) <= self._limit or line.endswith(("\n", "\r")):
            return line
        while (more := self._file.readline(2**20)) and not more.endswith(("\n", "\r")):
            pass
        raise csv.Error(f"a line is over the limit of {self._limit / 2**20:g} MB for files")


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
