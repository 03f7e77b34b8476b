"""Rows of a delimited text file with a header row, each a document."""

from __future__ import annotations

import csv
import hashlib
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

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
from semsearch.documents.parsing.table_rows import Layout, Row, Rows
from semsearch.documents.parsing.text_writer import letters
from semsearch.errors import Unreadable
from semsearch.types import Document, Omission, Skipped

TYPED_BYTES = 32 * 2**20  # of a file decide about the types of its columns: half a second
MOST_ABOVE = 50  # lines above the header of a table, as of a report
COMPARED = 50  # rows that decide about the delimiter
_NAMED = re.compile(r'"?sep=(.)"?[\r\n]*', re.I)  # the first line, as Excel reads it
_TRUTH = {"true": True, "false": False}
_VERBATIM = {*ID_FIELDS, TITLE_FIELD}
_NONE: Row = (0, [], "")


def read(path: Path, fields: Fields, delimiters: str) -> Iterator[Document | Skipped]:
    """The documents of a table. The delimiter is the one of `delimiters` that gives the first rows the same columns.

    Raises UsageError for a chosen field that is not a column, Unreadable where no field is chosen and no column has
    one of the usual names of a text.
    """
    return (item for item, _ in read_from(path, fields, Place(), hashlib.sha256(), delimiters=delimiters))


def read_from(path: Path, fields: Fields, start: Place, digest: Digest, *, delimiters: str) -> Iterator[Step]:
    """As `read`, from a place on: see `RecordLoader.read_from`."""
    csv.field_size_limit(max(csv.field_size_limit(), fields.max_bytes))  # of the whole process: it is only ever raised
    with open_regular(path) as file:
        table = _table(file, delimiters, fields)
        file.seek(0)
        before = hashlib.sha256() if start.at else digest
        before.update(file.read(table.begin.at))
        rows = Rows(file, table, table.begin, before, fields.max_bytes)
        following = iter(rows)
        columns = _column_names(next(following, _NONE)[1])
        check_columns(columns, fields, path.name)
        text = text_fields_of(columns, fields)
        if columns and not text:
            raise Unreadable(no_text_field(columns, fields))
        types = _types(path, table, fields, TYPED_BYTES)
        if start.at:
            rows = Rows(file, table, start, digest, fields.max_bytes)
            following = iter(rows)
        rows.columns = len(columns)
        above = 0 if start.at else letters(table.above)
        name = path.name
        for line, cells, broken in following:
            if reason := broken or (f"more than {MOST_VALUES:,} values" if len(cells) > MOST_VALUES else ""):
                yield Skipped(f"{name}:{line}", reason), rows.place
            elif cells:
                names, kinds = columns, types
                if len(cells) > len(columns):
                    names, cells, kinds = _beyond(columns, cells, text, types, table.delimiter)
                item = to_document(_record(names, cells, text, kinds), fields, line, name)
                if above and isinstance(item, Document):
                    item, above = replace(item, omissions=(Omission("text above the table", above),)), 0
                yield item, rows.place


def same_before(path: Path, fields: Fields, start: Place, *, delimiters: str) -> bool:
    """See `RecordLoader.same_before`: the columns may have got other types by the rows behind `start`."""
    if start.at >= TYPED_BYTES:
        return True
    with open_regular(path) as file:
        table = _table(file, delimiters, fields)
    return _types(path, table, fields, start.at) == _types(path, table, fields, TYPED_BYTES)


def _beyond(
    columns: list[str], cells: list[str], text: tuple[str, ...], types: list[str], delimiter: str
) -> tuple[list[str], list[str], list[str]]:
    """The columns, cells and types of a row with more cells than the header: they belong to the text if that is the
    last column, as nobody has quoted the delimiters in it; else they are columns without a name.
    """
    if columns[-1:] == list(text[-1:]):
        at = len(columns) - 1
        return columns, [*cells[:at], delimiter.join(cells[at:])], types
    more = len(cells) - len(columns)
    return _column_names([*columns, *[""] * more]), cells, [*types, *["text"] * more]


def _table(file: BinaryIO, delimiters: str, fields: Fields) -> Layout:
    """Raises Unreadable for binary content."""
    sample = file.read(SAMPLE_BYTES)
    if looks_binary(sample):
        raise Unreadable("binary file")
    encoding, _ = encoding_of(sample, whole=len(sample) < SAMPLE_BYTES)
    at, encoding = len(BOM_UTF8) if encoding == "utf-8-sig" else 0, encoding.removesuffix("-sig")
    lines = sample.decode(encoding, "replace").removeprefix("\ufeff").splitlines(keepends=True)
    named = _NAMED.fullmatch(lines[0]) if lines else None
    begin = 1 if named else 0
    while begin < len(lines) and not lines[begin].strip():
        begin += 1
    above = _above(lines[begin:], named[1] if named else delimiters, fields)
    skipped, text, lines = lines[: begin + above], "".join(lines[begin : begin + above]), lines[begin + above :]
    place = Place(at + len("".join(skipped).encode(encoding)) if skipped else at, len(skipped))
    delimiter = named[1] if named else _delimiter(lines, delimiters)
    return _quoting(lines, Layout(encoding, delimiter, place, above=text))


def _above(lines: list[str], delimiters: str, fields: Fields) -> int:
    """The number of lines of text above a table: each has fewer cells than the header, which names a text."""
    for delimiter in delimiters:
        widest = 0
        for number, line in enumerate(lines[:MOST_ABOVE]):
            cells = _cells(line, delimiter)
            if len(cells) > max(widest, 1) and text_fields_of(cells, fields):
                return number
            widest = max(widest, len(cells))
    return 0


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line by itself, without empty ones at its end."""
    with suppress(csv.Error, StopIteration):
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]
        while cells and not cells[-1]:
            cells.pop()
        return cells
    return []


def _delimiter(lines: list[str], delimiters: str) -> str:
    """The delimiter with which most of the first rows have as many cells as the header, which has several."""

    def fit(delimiter: str) -> tuple[int, int]:
        with suppress(csv.Error):
            header, *rows = islice(csv.reader(lines, delimiter=delimiter), COMPARED)
            fitting = sum(len(row) == len(header) for row in rows)
            return (1 + fitting, len(header)) if len(header) > 1 else (0, fitting)
        return 0, 0

    return max(delimiters, key=fit) if lines else delimiters[0]


def _quoting(lines: list[str], layout: Layout) -> Layout:
    """The layout, with the way of quoting by which most of the first rows have as many cells as the header."""
    layouts = [layout]
    if any('\\"' in line for line in lines):
        layouts.append(layout._replace(escaped=True))
    if any(f'{layout.delimiter} "' in line for line in lines):
        layouts.append(layout._replace(spaced=True))
    return max(layouts, key=lambda each: _fit(lines, each)) if len(layouts) > 1 else layout


def _fit(lines: list[str], layout: Layout) -> tuple[int, int]:
    """How many of the first rows have as many cells as the header, and how few of these begin with a stray quotation
    mark.
    """
    following = map(layout.plain, lines)
    rows: list[list[str]] = []
    while len(rows) < COMPARED:
        try:
            rows.append(next(layout.reader(following, strict=True)))
        except csv.Error:
            rows.append([])
        except StopIteration:
            break
    fitting = [row for row in rows[1:] if len(row) == len(rows[0])]
    return len(fitting), -sum(cell.lstrip().startswith('"') for row in fitting for cell in row)


def _types(path: Path, table: Layout, fields: Fields, most: int) -> list[str]:
    """What the cells of each column are, if all of them in the first `most` bytes are so: "number", "truth" or "text".

    "verbatim" ones are the texts, the id and the title. A number is one that is written the same way again: not 1.10.
    """
    with open_regular(path) as file:
        rows = Rows(file, table, table.begin, _NoDigest(), fields.max_bytes)
        following = iter(rows)
        columns = _column_names(next(following, _NONE)[1])
        rows.columns = len(columns)
        verbatim = {*text_fields_of(columns, fields), fields.id}
        types = ["verbatim" if name in verbatim or name.lower() in _VERBATIM else "" for name in columns]
        open_ = [at for at, kind in enumerate(types) if not kind]
        for _, cells, _ in following:
            if not open_ or (rows.at > most and rows.place):
                break
            if len(cells) > len(columns):  # nobody knows which of them is one too many
                continue
            closed = False
            for at in open_:
                if at >= len(cells):  # of a million columns, a short row has a few
                    break
                if cell := cells[at].strip():
                    kind = types[at]
                    if kind != (new := _type(cell)):
                        types[at] = "text" if kind else new
                        closed = closed or types[at] == "text"
            if closed:
                open_ = [at for at in open_ if types[at] != "text"]
    return types


class _NoDigest:
    """What is read is read again."""

    def update(self, data: bytes, /) -> None:
        """Do nothing."""


def _type(cell: str) -> str:
    if not isinstance(number_or_text(cell), str):
        return "number"
    return "truth" if cell.lower() in _TRUTH else "text"


def _column_names(header: list[str]) -> list[str]:
    """Distinct column names: an empty one becomes "column_3", a second "name" becomes "name_2"."""
    names: list[str] = []
    seen: set[str] = set()
    for at, cell in enumerate(header, start=1):
        name = cell.strip() or f"column_{at}"
        names.append(name if name not in seen else f"{name}_{at}")
        seen.add(names[-1])
    return names


def _record(columns: list[str], cells: list[str], text: tuple[str, ...], types: list[str]) -> dict[str, object]:
    """The cells by the names and types of their columns; an empty one is None. A row may lack its last cells."""
    record: dict[str, object] = dict.fromkeys(text)  # not of all columns: a header may have a million
    for name, cell, kind in zip(columns, cells, types, strict=False):
        if kind == "verbatim":
            record[name] = cell
        elif not cell or cell.isspace():
            record[name] = None
        else:
            record[name] = cell if kind == "text" else _value(cell, kind)
    return record


def _value(cell: str, kind: str) -> object:
    """The value of a cell; one behind those that the types were chosen by may be of another type, and stays text."""
    if kind == "number":
        return number_or_text(cell)
    return _TRUTH.get(cell.strip().lower(), cell) if kind == "truth" else cell
