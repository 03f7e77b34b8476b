"""Rows of a delimited text file with a header row, each a document."""

from __future__ import annotations

import csv
import hashlib
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import suppress
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
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

TYPED_BYTES = 32 * 2**20  # of a file decide about the types of its columns: half a second
COMPARED = 50  # rows that decide about the delimiter
_NAMED = re.compile(r'"?sep=(.)"?[\r\n]*', re.I)  # the first line, as Excel reads it
_TRUTH = {"true": True, "false": False}
_VERBATIM = {*ID_FIELDS, TITLE_FIELD}
_NONE = Row(0, [])


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
        table = _table(file, delimiters)
        file.seek(0)
        before = hashlib.sha256() if start.at else digest
        before.update(file.read(table.begin.at))
        rows = Rows(file, table, table.begin, before, fields.max_bytes)
        following = iter(rows)
        columns = _column_names(next(following, _NONE).cells)
        check_columns(columns, fields, path.name)
        text = text_fields_of(columns, fields)
        if columns and not text:
            raise Unreadable(no_text_field(columns, fields))
        types = _types(path, table, fields, TYPED_BYTES)
        if start.at:
            rows = Rows(file, table, start, digest, fields.max_bytes)
            following = iter(rows)
        rows.columns = len(columns)
        for row in following:
            if reason := row.broken or _excess(row.cells, columns):
                yield Skipped(f"{path.name}:{row.line}", reason), row.place
            elif row.cells:
                yield to_document(_record(columns, row.cells, text, types), fields, row.line, path.name), row.place


def same_before(path: Path, fields: Fields, start: Place, *, delimiters: str) -> bool:
    """See `RecordLoader.same_before`: the columns may have got other types by the rows behind `start`."""
    if start.at >= TYPED_BYTES:
        return True
    with open_regular(path) as file:
        table = _table(file, delimiters)
    return _types(path, table, fields, start.at) == _types(path, table, fields, TYPED_BYTES)


def _excess(cells: list[str], columns: list[str]) -> str:
    if len(cells) > len(columns):
        return f"{len(cells)} cells, but the header has {len(columns)}"
    return f"more than {MOST_VALUES:,} values" if len(cells) > MOST_VALUES else ""


def _table(file: BinaryIO, delimiters: str) -> Layout:
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
    skipped, lines = "".join(lines[:begin]), lines[begin:]
    place = Place(at + len(skipped.encode(encoding)) if skipped else at, begin)
    return _quoting(lines, Layout(encoding, named[1] if named else _delimiter(lines, delimiters), place))


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
        columns = _column_names(next(following, _NONE).cells)
        rows.columns = len(columns)
        verbatim = {*text_fields_of(columns, fields), fields.id}
        types = ["verbatim" if name in verbatim or name.lower() in _VERBATIM else "" for name in columns]
        open_ = [at for at, kind in enumerate(types) if not kind]
        for row in following:
            if not open_ or (row.place and row.place.at > most):
                break
            if len(row.cells) > len(columns):  # it is skipped
                continue
            closed = False
            for at in open_:
                if at >= len(row.cells):  # of a million columns, a short row has a few
                    break
                if cell := row.cells[at].strip():
                    kind = _type(cell)
                    types[at] = kind if types[at] in ("", kind) else "text"
                    closed |= types[at] == "text"
            if closed:
                open_ = [at for at in open_ if types[at] != "text"]
    return types


class _NoDigest:
    """What is read is read again."""

    def update(self, data: bytes, /) -> None:
        """Do nothing."""


def _type(cell: str) -> str:
    if cell.lower() in _TRUTH:
        return "truth"
    return "text" if isinstance(number_or_text(cell), str) else "number"


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
