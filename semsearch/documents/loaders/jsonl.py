"""JSON lines: each line is an object and one document. Invalid lines are skipped.

Lines are read one at a time, so that neither the file nor a line beyond `Fields.max_bytes` is ever in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from semsearch.documents.parsing.charset import looks_binary
from semsearch.documents.parsing.json_size import MOST_NESTED, MOST_VALUES, has_too_many_values
from semsearch.documents.parsing.records import Fields, to_document
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

SUFFIXES = (".jsonl", ".ndjson", ".jsonlines")
RECORDS = True
ISOLATED = False
_BOM = b"\xef\xbb\xbf"


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    """A document for each line. Raises Unreadable for a binary file and for a JSON array of several lines."""
    with path.open("rb") as file:
        _check(file)
        for number, line in _lines(file, fields.max_bytes):
            if isinstance(line, int):
                reason = f"a line of {line / 2**20:.1f} MB is over the limit of {fields.max_bytes / 2**20:g} MB"
                yield Skipped(f"{path.name}:{number}", f"{reason} for files")
            elif record := line.strip():
                yield _document(record, fields, number, path.name)


def _check(file: BinaryIO) -> None:
    head = file.read(8192)
    if looks_binary(head) or b"\0" in head:
        raise Unreadable("binary file")
    start = head.removeprefix(_BOM).lstrip()
    if start.startswith(b"[") and not start.split(b"\n", 1)[0].rstrip().endswith(b"]"):
        raise Unreadable("a JSON array, not JSON lines (one object a line)")
    file.seek(len(_BOM) if head.startswith(_BOM) else 0)


def _lines(file: BinaryIO, limit: int) -> Iterator[tuple[int, bytes | int]]:
    """The number and bytes of every line; of a line longer than `limit`, its length instead."""
    number = 0
    while line := file.readline(limit + 1):
        number += 1
        if len(line) <= limit or line.endswith(b"\n"):
            yield number, line
            continue
        length = len(line)
        while (more := file.readline(2**20)) and not more.endswith(b"\n"):
            length += len(more)
        yield number, length + len(more)


def _document(line: bytes, fields: Fields, number: int, file: str) -> Document | Skipped:
    if has_too_many_values(line):
        return Skipped(f"{file}:{number}", f"more than {MOST_VALUES:,} values")
    try:
        record = json.loads(line.decode("utf-8"), parse_constant=lambda _: None)
        return to_document(record, fields, number, file) if isinstance(record, dict) else _no_object(file, number)
    except UnicodeDecodeError as error:
        return Skipped(f"{file}:{number}", f"invalid UTF-8 at byte {error.start + 1}")
    except json.JSONDecodeError as error:
        return Skipped(f"{file}:{number}", f"not JSON: {error.msg} at column {error.colno}")
    except RecursionError:
        return Skipped(f"{file}:{number}", f"nested more than {MOST_NESTED} deep")
    except ValueError as error:  # a number of 5,000 digits
        return Skipped(f"{file}:{number}", f"not JSON: {error}"[:120])


def _no_object(file: str, number: int) -> Skipped:
    return Skipped(f"{file}:{number}", "not a JSON object")
