"""Messages over a pipe: a JSON object and a text, after the lengths of both. No pickle: nothing in them can run.

A reading process answers a request with any number of documents and skipped records, then with "end" or with the
reason why it stopped; "alive" says that it goes on. Its parsers may have met a hostile file, so what it sends is
checked: size, types, order.
"""

from __future__ import annotations

import json
import struct
from typing import BinaryIO, NamedTuple, TypeVar

from semsearch.documents.parsing.json_size import has_too_many_values
from semsearch.types import Document, JsonMapping, JsonObject, Mark, Omission, Skipped

MOST_VALUES = 500_000  # the marks of a long document are among them
_T = TypeVar("_T")
_LENGTHS = struct.Struct(">QQ")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_CODEC = ("utf-8", "surrogatepass")  # the name of a file may have bytes that are not UTF-8


class Malformed(ValueError):
    """The other side sent something that is no message."""


class TooLarge(ValueError):
    """A message is larger than its receiver allows."""


class Message(NamedTuple):
    """`head["kind"]` says what it is; `size` is in bytes."""

    head: JsonObject
    text: str
    size: int


def packed(head: JsonMapping, text: str = "", most: int = 2**62) -> bytes:
    """A message as bytes. Raises TooLarge beyond `most` bytes, ValueError or TypeError for what JSON does not have."""
    if len(text) > most:
        raise TooLarge
    body = _ENCODER.encode(head).encode(*_CODEC)
    raw = text.encode(*_CODEC)
    if len(body) + len(raw) > most or has_too_many_values(body, MOST_VALUES):
        raise TooLarge
    return b"".join((_LENGTHS.pack(len(body), len(raw)), body, raw))


def receive(stream: BinaryIO, most: int) -> Message | None:
    """The next message, or None at the end of the stream. Raises TooLarge before anything large is read, Malformed."""
    start = stream.read(_LENGTHS.size)
    if len(start) < _LENGTHS.size:
        return None
    lengths = _LENGTHS.unpack(start)
    if sum(lengths) > most:
        raise TooLarge
    body, raw = stream.read(lengths[0]), stream.read(lengths[1])
    if (len(body), len(raw)) != lengths:
        return None
    if has_too_many_values(body, MOST_VALUES):
        raise TooLarge
    try:
        head = json.loads(body.decode(*_CODEC))
        text = raw.decode(*_CODEC)
    except (ValueError, RecursionError) as error:
        raise Malformed from error
    if not isinstance(head, dict) or not isinstance(head.get("kind"), str):
        raise Malformed
    return Message(head, text, sum(lengths))


def packed_item(item: Document | Skipped, most: int) -> bytes:
    """A document or a skipped record as a message. Raises as `packed` does."""
    if isinstance(item, Skipped):
        return packed({"kind": "skipped", "path": item.path, "reason": item.reason}, most=most)
    marks = [(mark.start, mark.page, mark.heading, mark.furniture) for mark in item.marks]
    head = {"kind": "document", "id": item.id, "title": item.title, "lines": item.lines, "omissions": item.omissions}
    return packed({**head, "metadata": dict(item.metadata), "marks": marks, "line": item.line}, item.text, most)


def item_of(message: Message) -> Document | Skipped:
    """The document or skipped record in a message. Raises Malformed for anything else."""
    head, text = message.head, message.text
    try:
        if head["kind"] == "skipped":
            return Skipped(_checked(head["path"], str), _checked(head["reason"], str))
        if head["kind"] != "document":
            raise Malformed
        return Document(
            _checked(head["id"], str),
            text,
            _checked(head["metadata"], dict),
            _optional(head["title"], str),
            _marks(head["marks"], len(text)),
            _checked(head["lines"], bool),
            tuple(Omission(_checked(kind, str), _checked(letters, int)) for kind, letters in head["omissions"]),
            _optional(head["line"], int),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed from error


def _marks(rows: list[list[object]], length: int) -> tuple[Mark, ...]:
    marks = tuple(
        Mark(_checked(start, int), _optional(page, int), _optional(heading, str), _checked(furniture, bool))
        for start, page, heading, furniture in rows
    )
    starts = [mark.start for mark in marks]
    if starts != sorted(starts) or not all(0 <= start <= length for start in starts):
        raise Malformed
    return marks


def _checked(value: object, kind: type[_T]) -> _T:
    if not isinstance(value, kind):
        raise Malformed
    return value


def _optional(value: object, kind: type[_T]) -> _T | None:
    return None if value is None else _checked(value, kind)
