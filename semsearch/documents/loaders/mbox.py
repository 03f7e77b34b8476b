"""Mailboxes (mbox): each message is a document, and each of its attachments that a loader can read.

Source: RFC 4155, and the rule of "mboxrd" that a line with "From " in a text is quoted by ">". The mailbox is read
message by message: `mailbox` of the standard library opens it for writing, and reads all of it before the first one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing import mail_message
from semsearch.documents.parsing.records import Enclosed, Fields
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

RECORDS = True
ISOLATED = True
MOST_MESSAGE = 64 * 2**20  # bytes, with attachments; providers send 25 to 50 MB
_BEGIN = b"From "
_QUOTED = re.compile(rb"^>(>*From )", re.M)


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped | Enclosed]:
    """Messages under their Message-ID, else under their number; one that is broken or too long is skipped."""
    seen: set[str] = set()
    with open_regular(path) as file:
        for number, raw in enumerate(_messages(file), start=1):
            name = mail_message.message_id(raw)
            place = f"#{number}" if not name or name in seen else f"#{name}"
            seen.add(name)
            if len(raw) > MOST_MESSAGE:
                yield Skipped(f"{path.name}{place}", f"a message of more than {MOST_MESSAGE // 2**20} MB")
                continue
            try:
                yield from mail_message.items(_QUOTED.sub(rb"\1", raw), place)
            except (Unreadable, ValueError, LookupError) as error:
                yield Skipped(f"{path.name}{place}", f"not a readable message: {error}"[:300])


def _messages(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of each message; of one that is too long, a little more than what is too long."""
    if not file.readline(2**16).startswith(_BEGIN):
        raise Unreadable('not a mailbox: it does not begin with "From "')
    lines: list[bytes] = []
    size, blank = 0, True
    while line := file.readline(2**20):
        if blank and line.startswith(_BEGIN):
            yield b"".join(lines)
            lines, size = [], 0
        elif size <= MOST_MESSAGE:
            lines.append(line)
            size += len(line)
        blank = not line.strip()
    yield b"".join(lines)
