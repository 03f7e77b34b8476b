"""CSV with a header row: one row is one document. The delimiter is the commonest of , ; tab | in the header."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from semsearch.documents.loaders._decode import SAMPLE_BYTES, encoding_of, looks_binary
from semsearch.documents.loaders._fields import Fields
from semsearch.documents.loaders._records import (
    ID_FIELDS,
    TITLE_FIELD,
    check_columns,
    no_text_field,
    text_field_of,
    to_document,
)
from semsearch.documents.loaders._scalar import number_or_text
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

SUFFIXES: tuple[str, ...] = (".csv",)
RECORDS = True


@dataclass(frozen=True, slots=True)
class _Row:
    line: int  # where it begins; a quoted cell may hold several lines
    cells: list[str]
    broken: str = ""


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    return load_table(path, fields, delimiter=None)


def load_table(path: Path, fields: Fields, *, delimiter: str | None) -> Iterator[Document | Skipped]:
    """The rows of a table; without a delimiter the header decides.

    Raises UsageError if a named field is no column, Unreadable if none is named and no column is called
    like a text.
    """
    with path.open("rb") as binary:
        sample = binary.read(SAMPLE_BYTES)
        if looks_binary(sample):
            raise Unreadable("binary file")
        binary.seek(0)
        encoding, _ = encoding_of(sample, whole=len(sample) < SAMPLE_BYTES)
        chosen = delimiter or _commonest(sample.decode(encoding, "replace").partition("\n")[0])
        with io.TextIOWrapper(binary, encoding=encoding, errors="replace", newline="") as file:
            yield from _documents(_rows(file, chosen, fields.max_bytes), path.name, fields)


def _documents(rows: Iterator[_Row], name: str, fields: Fields) -> Iterator[Document | Skipped]:
    columns = _named(next(rows, _Row(0, [])).cells)
    check_columns(columns, fields, name)
    if columns and text_field_of(columns, fields) is None:
        raise Unreadable(f"{no_text_field(columns, fields)} (name one with --text-field)")
    for row in rows:
        if row.broken or len(row.cells) > len(columns):
            reason = row.broken or f"{len(row.cells)} cells, but the header has {len(columns)}"
            yield Skipped(f"{name}:{row.line}", reason)
        elif row.cells:
            yield to_document(_record(columns, row.cells, fields), fields, row.line, name)


def _rows(file: io.TextIOWrapper, delimiter: str, limit: int) -> Iterator[_Row]:
    csv.field_size_limit(max(csv.field_size_limit(), limit))  # holds for the whole process, so it is only ever raised
    reader = csv.reader(file, delimiter=delimiter)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield _Row(line, [], f"not CSV: {error}")
        else:
            yield _Row(line, cells)


def _named(header: list[str]) -> list[str]:
    """Column names, each once: an empty one is "column_3", a second "name" is "name_2"."""
    names: list[str] = []
    for at, cell in enumerate(header, start=1):
        name = cell.strip() or f"column_{at}"
        names.append(name if name not in names else f"{name}_{at}")
    return names


def _record(columns: list[str], cells: list[str], fields: Fields) -> dict[str, object]:
    """Numbers as numbers, except in text and id; an empty cell is none. A row may lack its last cells."""
    record: dict[str, object] = dict.fromkeys(columns)
    text = text_field_of(columns, fields)
    for name, cell in zip(columns, cells, strict=False):
        verbatim = name in (text, fields.id, *ID_FIELDS, TITLE_FIELD)
        record[name] = cell if verbatim else number_or_text(cell) if cell.strip() else None
    return record


def _commonest(header: str) -> str:
    return max(",;\t|", key=header.count)
