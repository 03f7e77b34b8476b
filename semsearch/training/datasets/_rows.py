"""Rows of files: lines of text, JSON lines, CSV and TSV, plain or compressed (gz, xz, bz2, detected by content).

Each row has its line number. An invalid record is returned as an InvalidRow with the reason, and reading continues.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from semsearch.documents.parsing.charset import SAMPLE_BYTES, encoding_of, looks_binary, storable_object
from semsearch.errors import Unreadable
from semsearch.types import JsonObject

Kind = Literal["lines", "jsonl", "table"]
KINDS: dict[str, Kind] = {
    **dict.fromkeys((".jsonl", ".ndjson", ".jsonlines", ".json"), "jsonl"),
    **dict.fromkeys((".csv", ".tsv", ".tab"), "table"),
}
COMPRESSED = (".gz", ".xz", ".bz2", ".lzma")
OPENERS = ((b"\x1f\x8b", gzip.open), (b"\xfd7zXZ\0", lzma.open), (b"BZh", bz2.open))
DECODER = json.JSONDecoder(parse_constant=lambda _: None)
WIDEST_CELL = 64 * 2**20  # bytes; a larger one has an unclosed quotation mark
READ_ERRORS = (OSError, EOFError, lzma.LZMAError, zlib.error)


@dataclass(frozen=True, slots=True)
class InvalidRow:
    """A row that is not a record, and why."""

    reason: str


Record = Sequence[str] | JsonObject | InvalidRow
Row = tuple[int, Record]  # line number; cells, an object, or an InvalidRow


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading its decompressed bytes. Raises Unreadable."""
    try:
        with path.open("rb") as file:
            head = file.read(6)
        opener: Any = next((each for magic, each in OPENERS if head.startswith(magic)), open)
        with opener(path, "rb") as file:
            yield file
    except READ_ERRORS as error:
        raise Unreadable(f"{path}: {getattr(error, 'strerror', None) or error}.", "Check or fetch it again.") from error


def suffix(path: Path) -> str:
    """The suffix of a file in lower case, without that of its compression.

    >>> suffix(Path("pairs.TSV.xz"))
    '.tsv'
    """
    inner = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return inner.suffix.lower()


def lines(file: IO[bytes], path: Path) -> Iterator[tuple[int, str]]:
    """(number, text) of each line."""
    with _decoded(file, path, newline=None) as text:
        yield from enumerate(text, 1)


def first_line(file: IO[bytes], path: Path) -> str:
    """The first line that is not blank."""
    return next((line for _, line in lines(file, path) if line.strip()), "").rstrip("\r\n")


def objects(file: IO[bytes], path: Path) -> Iterator[Row]:
    """The records of JSON lines. Raises Unreadable for a JSON array."""
    for number, line in enumerate(file, 1):
        record = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if number == 1 and record.startswith(b"["):
            raise Unreadable(
                f"{path} is a JSON array, not JSON lines (one object a line).",
                f"Convert it: jq -c '.[]' {path} > lines.jsonl",
            )
        if record:
            yield number, _object(record)


def cells(file: IO[bytes], path: Path) -> Iterator[Row]:
    """The rows of a table, header first. The delimiter is a tab where the first line has one, else , ; or |.

    In tab-separated files a quotation mark is a plain character, as in GLUE and SentEval, unless it is doubled within
    a quoted cell.
    """
    with _decoded(file, path, newline="") as text:
        header = next((line for line in text if line.strip()), "")
        delimiter = "\t" if "\t" in header else max(",;|", key=header.count)
        text.seek(0)
        csv.field_size_limit(max(csv.field_size_limit(), WIDEST_CELL))  # process-wide, so it is only ever raised
        if delimiter != "\t":
            yield from _read(csv.reader(text, delimiter=delimiter, strict=True, skipinitialspace=True))
            return
        quoted = header.startswith('"')
        for number, row in _read(csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE)):
            yield number, row if isinstance(row, InvalidRow) else [_plain(cell, quoted) for cell in row]


def _read(reader: Any) -> Iterator[tuple[int, list[str] | InvalidRow]]:
    number = 1
    while True:
        try:
            for row in reader:
                if row:
                    yield number, row
                number = reader.line_num + 1
            return
        except csv.Error as error:
            yield number, InvalidRow(f"not CSV: {error}")
            number = reader.line_num + 1


def _object(line: bytes) -> JsonObject | InvalidRow:
    try:
        record = DECODER.decode(line.decode("utf-8"))
        if not isinstance(record, dict):
            return InvalidRow("not a JSON object")
        return storable_object(record) if b"\\u" in line else record  # a lone surrogate cannot be encoded as UTF-8
    except UnicodeDecodeError:
        return InvalidRow("invalid UTF-8")
    except (ValueError, RecursionError):
        return InvalidRow("not JSON")


def _decoded(file: IO[bytes], path: Path, newline: str | None) -> io.TextIOWrapper:
    sample = file.read(SAMPLE_BYTES)
    if looks_binary(sample):
        raise Unreadable(f"{path} is a binary file.", "Pass text, JSON lines, CSV or TSV.")
    file.seek(0)
    encoding, _ = encoding_of(sample, whole=len(sample) < SAMPLE_BYTES)
    return io.TextIOWrapper(file, encoding=encoding, errors="replace", newline=newline)


def _plain(cell: str, quoted: bool) -> str:
    r"""
    >>> _plain('"He said ""yes""."', False), _plain('"Yes," he said.', False), _plain('"Yes," and "no"', False)
    ('He said "yes".', '"Yes," he said.', '"Yes," and "no"')
    """
    inner = cell[1:-1]
    once = inner.replace('""', "")
    if (
        len(cell) < 2
        or not (cell.startswith('"') and cell.endswith('"'))
        or '"' in once
        or not (quoted or '""' in inner)
    ):
        return cell
    return inner.replace('""', '"')
