"""Header fields of mail (RFC 5322): where they begin, raw bytes in them (RFC 6532), and encoded words (RFC 2047)."""

from __future__ import annotations

import base64
import binascii
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from email._policybase import Compat32
from email.message import Message

from semsearch.documents.parsing.charset import labelled, named_in, storable

HEAD_BYTES = 65536
MOST_FIELDS = 100  # with one name
MOST_BANNER = 10  # lines that a program has written before the first field
_FOLDED = (b" ", b"\t")  # begin a line that belongs to the field before
_ENVELOPE = re.compile(rb">?From ")
_FIELD = re.compile(rb"[!-9;-~]+[ \t]*:")
_USUAL = re.compile(
    rb"(?:from|to|cc|subject|date|sender|reply-to|received|return-path|delivered-to|message-id|mime-version"
    rb"|content-type|x-[\w-]+)[ \t]*:",
    re.I,
)
_SPACED = re.compile(rb"^([!-9;-~]+)[ \t]+:", re.M)  # RFC 5322, 4.5.3: obsolete
_ENCODED = re.compile(r"=\?([^?\s*]{1,40})(?:\*[^?\s]{0,40})?\?([bq])\?(.*?)\?=", re.I | re.S)
_ENCODING = "Content-Transfer-Encoding"
_NO_BASE64 = re.compile(r"[^A-Za-z0-9+/]")


class HeaderPolicy(Compat32):
    """Takes any header as it is, and bytes in it as UTF-8, else as `charset`."""

    charset = "cp1252"

    def header_fetch_parse(self, name: str, value: str) -> str:
        """The value of a field, without line ends that the parser has left."""
        try:
            data = value.encode("ascii", "surrogateescape")
        except UnicodeEncodeError:
            return value
        return value if data.isascii() else labelled(data, self.charset)


def policy_for(raw: bytes) -> HeaderPolicy:
    """The policy for a message, whose text names the character set that its headers may have too."""
    return HeaderPolicy(charset=named_in(raw) or HeaderPolicy.charset)  # type: ignore[call-arg]  # a policy takes the names of its attributes


def split(raw: bytes) -> tuple[str, bytes]:
    """What a program has written before and between the header fields, and the message without it.

    A byte order mark, blank lines, "From " lines and a banner stand before the fields of some files; only a banner is
    returned.
    """
    raw = raw.removeprefix(BOM_UTF8)
    lines = raw[:HEAD_BYTES].splitlines(keepends=True)
    begin = _first_field(lines)
    end = next((at for at in range(begin, len(lines)) if not lines[at].strip()), len(lines))
    fields, others = [], lines[:begin]
    for at in range(begin, end):
        line = lines[at]
        is_field = line.startswith(_FOLDED) or _FIELD.match(line) is not None
        if is_field or not any(_USUAL.match(after) for after in lines[at + 1 : min(end, at + MOST_BANNER)]):
            fields.append(line)
        else:
            others.append(line)
    head = _SPACED.sub(rb"\1:", b"".join(fields))
    banner = b"".join(line for line in others if line.strip() and not _ENVELOPE.match(line))
    return banner.decode("utf-8", "replace"), head + raw[sum(map(len, lines[:end])) :]


def unencoded(text: str) -> str:
    """`text` with its encoded words decoded; blanks between two of them are no part of it.

    >>> unencoded("=?utf-8?q?Stra=C3?= =?utf-8?q?=9Fe?= 5")
    'Straße 5'
    """
    parts: list[tuple[str, bytes]] = []  # character set, "" for text; a character may go on in the next word
    at = 0
    for word in _ENCODED.finditer(text):
        between = text[at : word.start()]
        if between.strip() or not at:
            parts.append(("", between.encode("utf-8", "surrogatepass")))
        charset, data = word[1].lower(), _word(word[2], word[3])
        if parts and parts[-1][0] == charset:
            data = parts.pop()[1] + data
        parts.append((charset, data))
        at = word.end()
    decoded = [labelled(data, charset) if charset else data.decode("utf-8", "surrogatepass") for charset, data in parts]
    return storable("".join(decoded) + text[at:])


def field(message: Message, name: str, most: int) -> str:
    """The first field with this name that has a text; "" without one."""
    return next(fields(message, name, most), "")


def fields(message: Message, name: str, most: int) -> Iterator[str]:
    """What the fields with this name say, each once, decoded, as one line of at most about `most` characters."""
    texts = (unencoded(str(value)[: 4 * most]) for value in message.get_all(name, [])[:MOST_FIELDS])
    yield from filter(None, dict.fromkeys(" ".join(text.split())[:most] for text in texts))


def correct_encoding(part: Message) -> None:
    """Give the encoding of a part its proper name, where it is another spelling of it: "quoted_printable;"."""
    name = str(part.get(_ENCODING, ""))
    spelling = _NO_BASE64.sub("", name).lower()
    proper = next((each for each in ("quoted-printable", "base64") if spelling.startswith(each.replace("-", ""))), "")
    if proper and name.lower() != proper:
        part.replace_header(_ENCODING, proper)


def _word(kind: str, text: str) -> bytes:
    if kind in "qQ":
        return binascii.a2b_qp(text.encode("utf-8", "replace"), header=True)
    letters = _NO_BASE64.sub("", text)
    letters = letters[: len(letters) - (len(letters) % 4 == 1)]
    return base64.b64decode(letters + "=" * (-len(letters) % 4))


def _first_field(lines: list[bytes]) -> int:
    """The number of lines before the first field: up to MOST_BANNER, where a usual one and another follow."""
    blank = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if not lines or _FIELD.match(lines[blank]):
        return blank
    for at in range(blank, min(blank + MOST_BANNER, len(lines) - 1)):
        follows = lines[at + 1]
        if _USUAL.match(lines[at]) and (follows.startswith(_FOLDED) or _FIELD.match(follows)):
            return at
    return 0
