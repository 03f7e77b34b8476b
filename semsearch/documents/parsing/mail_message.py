"""One message of a mailbox, or a web page saved as MHTML: RFC 5322 and MIME (RFC 2045 to 2047, 2557).

The standard library parses it with its older policy, which takes any header as it is; the newer one raises on many
that are out there. Of alternatives the plain text is read, else the HTML; images within HTML are left out.
"""

from __future__ import annotations

import email
import mimetypes
import re
from collections.abc import Iterator
from contextlib import suppress
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import PurePath

from semsearch.documents.parsing.charset import decode, newlines, storable
from semsearch.documents.parsing.html_page import Content, text_of, tree
from semsearch.documents.parsing.records import Enclosed
from semsearch.documents.parsing.text_writer import TextWriter
from semsearch.errors import Unreadable
from semsearch.types import Document, JsonObject

MOST_ADDRESSES = 100
MOST_PARTS = 1000
MOST_HEADER = 1000  # characters
_TEXTS = ("text/plain", "text/html")


def message_id(raw: bytes) -> str:
    """The Message-ID without its brackets; "" for none, and for one that cannot be a name."""
    header = re.search(rb"^message-id:\s*<([!-;=?-~]{1,200})>", raw.partition(b"\n\n")[0][:65536], re.I | re.M)
    return header[1].decode("ascii") if header else ""


def items(raw: bytes, place: str = "") -> Iterator[Document | Enclosed]:
    """The document of a message, under the id `place`, and its attachments. Raises Unreadable for what is none."""
    try:
        message = email.message_from_bytes(raw)
    except RecursionError as error:
        raise Unreadable("its parts are nested too deep") from error
    if not message.keys():
        raise Unreadable("not an e-mail: it has no header")
    texts, attached = _parts(message)
    names = _distinct([_file_name(part) for part in attached])
    metadata = _metadata(message)
    title = _header(message, "Subject")
    whole = metadata | {"attachments": names} if names else metadata
    yield _document(place, title, texts, whole)
    inherited: JsonObject = {key: metadata[key] for key in ("author", "date") if key in metadata}
    inherited |= {"message": title} if title else {}
    for part, name in zip(attached, names, strict=True):
        content = _content(part)
        if content:
            yield Enclosed(f"{place}/{name}" if place else f"#{name}", name, content, inherited)


def _document(place: str, title: str, texts: list[Message], metadata: JsonObject) -> Document:
    writer = TextWriter()
    writer.heading(title)
    for part in texts:
        if part.get_content_type() == "text/html":
            text_of(Content(tree(_text(part))), writer)
        else:
            writer.block(_text(part))
    text, marks = writer.finish()
    return Document(place, text, metadata, title or None, marks)


def _parts(message: Message) -> tuple[list[Message], list[Message]]:
    """The parts with the text of the message, and its attachments, in order."""
    texts: list[Message] = []
    attached: list[Message] = []
    stack: list[tuple[Message, bool]] = [(message, False)]  # with whether it only belongs to a page of HTML
    for _ in range(MOST_PARTS):
        if not stack:
            break
        part, belongs = stack.pop()
        kind, disposition = part.get_content_type(), part.get_content_disposition()
        if part.is_multipart() and kind != "message/rfc822":
            inner = _children(part)
            within = kind == "multipart/related"
            stack.extend((each, belongs or (within and each is not inner[0])) for each in reversed(inner))
        elif kind in _TEXTS and disposition != "attachment" and not part.get_filename() and not belongs:
            texts.append(part)
        elif disposition == "attachment" or (not belongs and (part.get_filename() or kind == "message/rfc822")):
            attached.append(part)
    return texts, attached


def _children(part: Message) -> list[Message]:
    """What to read of a multipart: of alternatives the plain text, else the last one that can be read."""
    parts = [each for each in part.get_payload() if isinstance(each, Message)]
    if part.get_content_type() != "multipart/alternative":
        return parts
    plain = [each for each in parts if each.get_content_type() == "text/plain" and _text(each).strip()]
    readable = [each for each in parts if each.is_multipart() or each.get_content_type() in _TEXTS]
    return plain[:1] or readable[-1:]


def _content(part: Message) -> bytes:
    """The bytes of an attachment; of an attached message, the message."""
    if part.is_multipart():
        inner = part.get_payload()
        first = inner[0] if isinstance(inner, list) and inner else None
        return first.as_bytes() if isinstance(first, Message) else b""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(part: Message) -> str:
    data = _content(part)
    charset = part.get_content_charset()
    if charset and charset.lower() not in ("us-ascii", "ascii", "unknown-8bit"):
        with suppress(LookupError, ValueError):
            return storable(newlines(data.decode(charset)))
    with suppress(Unreadable):
        return decode(data)[0]
    return ""


def _metadata(message: Message) -> JsonObject:
    """The headers by the names that other loaders use: author and date; and to, cc, message_id, in_reply_to."""
    headers: JsonObject = {"author": _header(message, "From"), "date": _date(message)}
    headers |= {name: _addresses(message, name) for name in ("to", "cc")}
    headers |= {name.replace("-", "_"): _header(message, name).strip("<>") for name in ("message-id", "in-reply-to")}
    return {name: value for name, value in headers.items() if value}


def _header(message: Message, name: str) -> str:
    """A header, decoded, as one line."""
    raw = str(message.get(name) or "")[: 4 * MOST_HEADER]
    try:
        text = str(make_header(decode_header(raw)))
    except (LookupError, ValueError):  # an unknown character set, a broken word
        text = raw
    return storable(" ".join(text.split()))[:MOST_HEADER]


def _addresses(message: Message, name: str) -> list[str]:
    pairs = getaddresses([_header(message, name)])
    return [f"{who} <{address}>" if who else address for who, address in pairs if address][:MOST_ADDRESSES]


def _date(message: Message) -> str:
    """The date with its time zone, as ISO 8601; "" for one that is none."""
    try:
        return parsedate_to_datetime(_header(message, "Date")).isoformat()
    except (TypeError, ValueError, OverflowError, IndexError):
        return ""


def _file_name(part: Message) -> str:
    """The name of an attachment without its folders, with the suffix of its type where it has none."""
    kind = part.get_content_type()
    header = ""
    with suppress(LookupError, ValueError):
        header = str(make_header(decode_header(part.get_filename() or "")))
    name = " ".join(storable(header.replace("\\", "/").rpartition("/")[2]).split())[-200:].lstrip(".")
    if not name:
        name = "message" if kind == "message/rfc822" else "attachment"
    if PurePath(name).suffix:
        return name
    return name + (".eml" if kind == "message/rfc822" else mimetypes.guess_extension(kind) or "")


def _distinct(names: list[str]) -> list[str]:
    """The names, of which a second "a.pdf" is called "2-a.pdf"."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{seen[name]}-{name}")
    return distinct
