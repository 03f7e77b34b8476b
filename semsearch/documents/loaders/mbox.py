"""Mailboxes (mbox): each message is a document, and each of its attachments that a loader can read.

Source: RFC 4155, and the rule of "mboxrd" that a line with "From " in a text is quoted by ">", which not every program
keeps. The mailbox is read message by message: `mailbox` of the standard library opens it for writing, and reads all of
it before the first one.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing.charset import as_utf8
from semsearch.documents.parsing.mail import messages
from semsearch.documents.parsing.records import Enclosed, Fields
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

RECORDS = True
ISOLATED = True
MOST_MESSAGE = 64 * 2**20  # bytes, with attachments; providers send 25 to 50 MB
_QUOTED = re.compile(rb"^>(>*From )", re.M)
_BEGIN = re.compile(  # who, and when
    rb"From \S[^\n]*?\s(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?\s(?=[^\n]*\d:\d\d)[^\n]*\b\d{4}\b|\d{4}-\d\d-\d\d[T ]\d)"
)
_PATCH = re.compile(rb"From [0-9a-f]{40,64} ")  # of git: in a mailbox of messages it is part of a text
_FIELD = re.compile(rb"(?:[!-9;-~]+[ \t]*:|>?From )")


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped | Enclosed]:
    """Messages under their Message-ID, else under their number; one that is broken or too long is skipped."""
    seen: set[str] = set()
    with open_regular(path) as file:
        for number, raw in enumerate(_messages(file), start=1):
            name = messages.message_id(raw)
            place = f"#{number}" if not name or name in seen else f"#{name}"
            seen.add(name)
            if len(raw) > MOST_MESSAGE:
                yield Skipped(f"{path.name}{place}", f"a message of more than {MOST_MESSAGE // 2**20} MB")
                continue
            try:
                yield from messages.items(_QUOTED.sub(rb"\1", raw), place)
            except (Unreadable, ValueError, LookupError) as error:
                yield Skipped(f"{path.name}{place}", f"not a readable message: {error}"[:300])


def _messages(file: BinaryIO) -> Iterator[bytes]:
    """The bytes of each message; of one that is too long, a little more than what is too long.

    A line begins a message if it has "From ", a sender and a date, and a header follows. Where the first line of the
    file has no date, none needs it, but a blank line before it.
    """
    line = file.readline(2**16).removeprefix(BOM_UTF8)
    while line and not line.strip():
        line = file.readline(2**16)
    if as_utf8(line) is not line:
        raise Unreadable("a mailbox in UTF-16 or UTF-32; save it as UTF-8")
    if not line.startswith(b"From "):
        raise Unreadable('not a mailbox: it does not begin with "From "')
    dated, patches = _BEGIN.match(line) is not None, _PATCH.match(line) is not None
    lines: list[bytes] = []
    size, blank = 0, True
    line = file.readline(2**20)
    while line:
        following = file.readline(2**20)
        begins = line.startswith(b"From ") and _FIELD.match(following) and patches == bool(_PATCH.match(line))
        if begins and (_BEGIN.match(line) if dated else blank):
            yield b"".join(lines)
            lines, size = [], 0
        elif size <= MOST_MESSAGE:
            lines.append(line)
            size += len(line)
        blank = not line.strip()
        line = following
    yield b"".join(lines)
