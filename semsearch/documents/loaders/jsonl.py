"""JSON lines: each line is an object and one document, or several. Invalid lines are skipped. In a JSON sequence (RFC
7464) each object begins with a record separator, and may have several lines.

Lines are read one at a time, so that neither the file nor a line beyond `Fields.max_bytes` is ever in memory.
"""

from __future__ import annotations

import hashlib
import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import replace
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing.charset import encoding_of, looks_binary
from semsearch.documents.parsing.json_size import MOST_NESTED, MOST_VALUES, has_too_many_values
from semsearch.documents.parsing.records import Digest, Fields, Place, Step, to_document
from semsearch.documents.parsing.text_writer import letters
from semsearch.errors import Unreadable
from semsearch.types import Document, JsonObject, Omission, Skipped

RECORDS = True
ISOLATED = False
_SEPARATOR = b"\x1e"
_BETWEEN = " \t\r\n,"  # two objects of a line
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)  # NaN and infinity cannot be stored


class _Line(NamedTuple):
    at: int
    number: int
    content: bytes  # at most one byte more than the limit
    size: int  # bytes of the whole line
    place: Place | None  # after it; None for a last line without its end


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    """A document for each object. Raises Unreadable for a binary file, and for JSON whose values have several lines."""
    return (item for item, _ in read_from(path, fields, Place(), hashlib.sha256()))


def read_from(path: Path, fields: Fields, start: Place, digest: Digest) -> Iterator[Step]:
    """As `load`, from a place on: see `RecordLoader.read_from`."""
    with open_regular(path) as file:
        if wide := _check(file):
            file, digest = cast(BinaryIO, _Decoded(file, wide)), hashlib.sha256()
        mark = 0 if wide else file.tell()
        if start.at:
            file.seek(start.at)
        else:
            digest.update(BOM_UTF8[:mark])
        for line in _lines(file, fields.max_bytes, Place(start.at or mark, start.number), digest):
            line = line._replace(place=None) if wide else line
            if len(line.content) > fields.max_bytes and not line.content.endswith(b"\n"):
                reason = f"a line of {line.size / 2**20:.1f} MB is over the limit of {fields.max_bytes / 2**20:g} MB"
                yield Skipped(f"{path.name}:{line.number}", f"{reason} for files"), line.place
            elif record := line.content.lstrip(_SEPARATOR).strip():
                *others, item = _documents(record, fields, line.number, path.name)
                again = Place(line.at, line.number - 1)
                yield from ((other, again) for other in others)
                unfinished = line.place is None and isinstance(item, Skipped) and not wide
                yield item, again if unfinished else line.place


def _check(file: BinaryIO) -> str:
    """The encoding of UTF-16 and UTF-32, whose lines cannot be cut by bytes; else "". Raises Unreadable."""
    head = file.read(8192)
    is_sequence, head = _SEPARATOR in head, head.replace(_SEPARATOR, b"")
    if looks_binary(head):
        raise Unreadable("binary file")
    encoding, _ = encoding_of(head, whole=False)
    wide = encoding if encoding.startswith(("utf-16", "utf-32")) else ""
    start = (head.decode(wide, "replace").encode() if wide else head).removeprefix(BOM_UTF8).lstrip()
    if start.partition(b"\n")[0].rstrip() == b"{" and not is_sequence:
        raise Unreadable("JSON objects of several lines, not JSON lines (one object a line, as jq -c writes them)")
    if start.startswith(b"[") and not start.split(b"\n", 1)[0].rstrip().endswith(b"]"):
        raise Unreadable("a JSON array, not JSON lines (one object a line)")
    file.seek(len(BOM_UTF8) if head.startswith(BOM_UTF8) else 0)
    return wide


class _Decoded:
    """The lines of a file in another encoding as UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._text = TextIOWrapper(file, encoding, "replace", newline="\n")

    def readline(self, size: int) -> bytes:
        return self._text.readline(size).encode("utf-8", "replace")


def _lines(file: BinaryIO, limit: int, start: Place, digest: Digest) -> Iterator[_Line]:
    """Every line, or all lines of a record that begins with a separator; of one longer than `limit`, only a part."""
    at, number = start
    while content := file.readline(limit + 1):
        size, piece, number = 0, content, number + 1
        begin = number
        while True:
            digest.update(piece)
            size += len(piece)
            if piece.endswith(b"\n"):
                if not content.startswith(_SEPARATOR) or _peeked(file) in (b"", _SEPARATOR):
                    break
                piece, number = file.readline(limit + 1), number + 1
                content += piece if len(content) <= limit else b""
            elif not (piece := file.readline(2**20)):
                break
        yield _Line(at, begin, content, size, Place(at + size, number) if piece else None)
        at += size


def _peeked(file: BinaryIO) -> bytes:
    """The next byte of a file that is read by bytes."""
    return file.peek(1)[:1] if isinstance(file, BufferedReader) else b""


def _documents(line: bytes, fields: Fields, number: int, file: str) -> list[Document | Skipped]:
    """The documents of a line: one, or of a line with several objects, as some programs append them, each."""
    if has_too_many_values(line):
        return [Skipped(f"{file}:{number}", f"more than {MOST_VALUES:,} values")]
    documents: list[Document | Skipped] = []
    try:
        text = line.decode("utf-8")
        record, end = _DECODER.raw_decode(text)
        if end == len(text):
            return [_document(record, text, fields, number, file)]
        for nth, (record, part) in enumerate(_records(text), start=1):
            documents.append(_document(record, part, fields, number if nth == 1 else f"{number}.{nth}", file))
    except UnicodeDecodeError as error:
        documents.append(Skipped(f"{file}:{number}", f"invalid UTF-8 at byte {error.start + 1}"))
    except json.JSONDecodeError as error:
        documents.append(Skipped(f"{file}:{number}", f"not JSON: {error.msg} at column {error.colno}"))
    except RecursionError:
        documents.append(Skipped(f"{file}:{number}", f"nested more than {MOST_NESTED} deep"))
    except ValueError as error:  # a number of 5,000 digits
        documents.append(Skipped(f"{file}:{number}", f"not JSON: {error}"[:120]))
    return documents


def _records(text: str) -> Iterator[tuple[object, str]]:
    """The JSON values of a line, each with its text; a comma may stand between two objects."""
    at = 0
    while at < len(text):
        record, end = _DECODER.raw_decode(text, at)
        following = end
        while isinstance(record, dict) and following < len(text) and text[following] in _BETWEEN:
            following += 1
        if following < len(text) and (text[following] != "{" or not isinstance(record, dict)):
            raise json.JSONDecodeError("Extra data", text, end)
        yield record, text[at:end]
        at = following


def _document(record: object, text: str, fields: Fields, number: int | str, file: str) -> Document | Skipped:
    if not isinstance(record, dict):
        return Skipped(f"{file}:{number}", "not a JSON object")
    document = to_document(record, fields, number, file)
    if isinstance(document, Document) and _has_doubled(text, record) and (lost := _doubled(text)):
        return replace(document, omissions=(Omission("doubled key", letters(lost)),))
    return document


def _has_doubled(text: str, record: JsonObject) -> bool:
    """Whether there may be more keys in the text than in what was read of it, of which a key has its last value."""
    colons = text.count('":') + text.count('" :')
    return colons > len(record) and colons > _keys(record)


def _keys(value: object) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_keys, value.values()))
    return sum(map(_keys, value)) if isinstance(value, list) else 0


def _doubled(text: str) -> str:
    """The values of keys that have another one further on."""
    lost: list[str] = []

    def record(pairs: list[tuple[str, object]]) -> JsonObject:
        last = dict(pairs)
        if len(last) < len(pairs):
            lost.extend(str(value) for key, value in pairs if value is not last[key] and value != last[key])
        return last

    json.loads(text, object_pairs_hook=record)
    return " ".join(lost)
