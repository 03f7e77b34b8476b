"""E-mail: one message with its attachments; and web pages saved as one file, which have the same format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from semsearch.documents.file_access import read_regular
from semsearch.documents.parsing.charset import as_utf8, looks_binary
from semsearch.documents.parsing.mail import messages
from semsearch.documents.parsing.records import Enclosed, Fields
from semsearch.errors import Unreadable
from semsearch.types import Document

ISOLATED = True


def load(path: Path, fields: Fields) -> Iterator[Document | Enclosed]:
    """The message, titled by its subject, then each attachment that a loader can read, as "#name"."""
    raw = read_regular(path)
    if path.suffix.lower() == ".emlx":  # of Apple Mail: the length in bytes, the message, and its state
        length, _, raw = raw.partition(b"\n")
        raw = raw[: int(length)] if length.strip().isdigit() else raw
    if looks_binary(raw[:8192]):
        raise Unreadable("binary file")
    yield from messages.items(as_utf8(raw))
