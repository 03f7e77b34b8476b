"""One message of a mailbox, or a web page saved as MHTML: RFC 5322 and MIME (RFC 2045 to 2047, 2557).

The standard library parses it with its older policy, which takes any header as it is; the newer one raises on many
that are out there. Of alternatives the plain text is read, or the HTML where the plain text lacks most of its words;
images within HTML are left out.
"""

from __future__ import annotations

import base64
import email
import html
import mimetypes
import re
from collections.abc import Iterator
from contextlib import suppress
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import PurePath
from typing import NamedTuple

from semsearch.documents.parsing.charset import decode, labelled, storable
from semsearch.documents.parsing.html_page import Content, text_of, tree
from semsearch.documents.parsing.mail import headers, text_parts
from semsearch.documents.parsing.records import Enclosed
from semsearch.documents.parsing.text_writer import TextWriter, described
from semsearch.documents.suffixes import LOADERS
from semsearch.errors import Unreadable
from semsearch.types import Document, JsonObject

MOST_ADDRESSES = 100
MOST_PARTS = 1000
MOST_HEADER = 1000  # characters
HALF = 0.5
_PLAIN, _HTML, _CALENDAR = "text/plain", "text/html", "text/calendar"
_RTF = "text/rtf"  # read as the file that it is
_MESSAGES = {"message/rfc822", "message/global", "message/news"}
_OF_PAGES = {"image": "picture", "audio": "embedded object", "video": "embedded object", "font": "embedded object"}
_OF_PAGES |= {"css": "style", "javascript": "script", "x-javascript": "script"}
_ABOUT = {"keywords": "Keywords", "description": "Comments", "sender": "Sender", "reply_to": "Reply-To"}
_ABOUT |= {"organization": "Organization", "list": "List-Id", "newsgroups": "Newsgroups"}
_READ = {"from", "to", "cc", "bcc", "date", "subject", "message-id", "in-reply-to", *map(str.lower, _ABOUT.values())}
_OF_STRUCTURE = re.compile(r"mime-version|content-", re.I)
_OF_DELIVERY = re.compile(
    r"x-|received|return-path|(?:delivered|envelope|original)-|dkim|arc-|authentication|list-", re.I
)
_TAG = re.compile(r"(?is)<(script|style|title)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>")
_BROWSER = {"browser", "html", "http", "https", "navigateur", "navegador"}
_WORD = re.compile(r"\w+")


def message_id(raw: bytes) -> str:
    """The Message-ID without its brackets; "" for none, and for one that cannot be a name."""
    header = re.search(rb"^message-id:\s*<([!-;=?-~]{1,200})>", raw.partition(b"\n\n")[0][:65536], re.I | re.M)
    return header[1].decode("ascii") if header else ""


def items(raw: bytes, place: str = "") -> Iterator[Document | Enclosed]:
    """The document of a message, under the id `place`, and its attachments. Raises Unreadable for what is none."""
    banner, raw = headers.split(raw)
    try:
        message = email.message_from_bytes(raw, policy=headers.policy_for(raw))
    except RecursionError as error:
        raise Unreadable("its parts are nested too deep") from error
    if not message.keys():
        raise Unreadable("not an e-mail: it has no header")
    writer = TextWriter()
    title, *others = [*headers.fields(message, "Subject", MOST_HEADER), ""]
    writer.heading(title)
    writer.block("\n".join(others))
    attached = _write_texts(message, writer)
    if banner:
        writer.omit("banner", banner)
    for name, value in message.items():
        if name.lower() not in _READ and not _OF_STRUCTURE.match(name):
            writer.omit("header of delivery" if _OF_DELIVERY.match(name) else "other header", value)
    if around := f"{message.preamble or ''}{message.epilogue or ''}".strip():
        writer.omit("text around the parts", around)
    names = _distinct([_file_name(part) for part in attached])
    readable = [_readable(name, part) for name, part in zip(names, attached, strict=True)]
    for part, called in zip(attached, readable, strict=True):
        if PurePath(called).suffix.lower() not in LOADERS:
            writer.omit("picture" if part.get_content_maintype() == "image" else "attachment")
    metadata = _metadata(message)
    whole = metadata | {"attachments": names} if names else metadata
    text, marks = writer.finish()
    yield described(Document(place, text, whole, title or None, marks, omissions=writer.omissions))
    inherited: JsonObject = {key: metadata[key] for key in ("author", "date") if key in metadata}
    inherited |= {"message": title} if title else {}
    for part, name, called in zip(attached, names, readable, strict=True):
        content = _content(part)
        if content:
            yield Enclosed(f"{place}/{name}" if place else f"#{name}", called, content, inherited)


def _write_texts(message: Message, writer: TextWriter) -> list[Message]:
    """Write the texts of a message, in order; its attachments, also those of alternatives that are not read."""
    attached: list[Message] = []
    stack = [_Place(message)]
    for _ in range(MOST_PARTS):
        if not stack:
            break
        part, belongs, is_read = stack.pop()
        kind, disposition = part.get_content_type(), part.get_content_disposition()
        is_message = kind in _MESSAGES
        if about := _header(part, "Content-Description"):
            writer.omit("other header", about)
        of_page = _OF_PAGES.get(part.get_content_maintype()) or _OF_PAGES.get(part.get_content_subtype())
        if kind == "multipart/alternative":
            chosen = _alternatives(part, writer) if is_read else []
            stack.extend(_Place(each, belongs, each in chosen) for each in reversed(_children(part)))
        elif part.is_multipart() and not is_message:
            inner = _children(part)
            root = _root(part, inner) if kind == "multipart/related" else None
            if kind.startswith("message/"):  # a report: its fields are what it says
                writer.block("\n\n".join(map(_fields, inner)))
            stack.extend(_Place(each, belongs or root not in (None, each), is_read) for each in reversed(inner))
        elif belongs and of_page and disposition != "attachment":
            writer.omit(of_page, _text(part) if part.get_content_maintype() != "image" else None)
        elif is_message or disposition == "attachment" or part.get_filename() or not _is_text(part):
            attached.append(part)
        elif is_read:
            attached += _write(part, writer)
    for place in stack:
        writer.omit("part of too many", _text(place.part) if place.part.get_content_maintype() == "text" else None)
    return attached


def _root(part: Message, inner: list[Message]) -> Message | None:
    """Of related parts, the one that the others belong to (RFC 2387): the one that is named, else the first."""
    start = str(part.get_param("start", ""))
    return next((each for each in inner if start and each.get("Content-ID") == start), next(iter(inner), None))


def _write(part: Message, writer: TextWriter) -> list[Message]:
    """Write a part that is a text; the files that are uuencoded in it."""
    kind = part.get_content_type()
    files: list[tuple[str, bytes]] = []
    if kind == _HTML:
        text_of(Content(tree(_text(part))), writer)
    elif kind == _CALENDAR:
        shown, rest = text_parts.calendar(_text(part))
        writer.block(shown)
        if rest:
            writer.omit("calendar data", rest)
    elif str(part.get_param("format", "")).lower() == "flowed":
        writer.block(text_parts.flowed(_text(part), delsp=str(part.get_param("delsp", "")).lower() == "yes"))
    else:
        text, files = text_parts.without_files(_text(part))
        writer.block(text)
    return [_attachment(*file) for file in files]


def _attachment(name: str, content: bytes) -> Message:
    part = Message()
    part["Content-Type"], part["Content-Transfer-Encoding"] = "application/octet-stream", "base64"
    part.add_header("Content-Disposition", "attachment", filename=name)
    part.set_payload(base64.b64encode(content).decode("ascii"))
    return part


def _alternatives(part: Message, writer: TextWriter) -> list[Message]:
    """What to read of alternatives: the plain text, or the last other one that can be read; and an invitation.

    The others are counted: they say the same.
    """
    parts = _children(part)
    words = {each: _words_of(each) for each in parts}
    plain = next((each for each in parts if each.get_content_type() == _PLAIN and words[each]), None)
    invitations = [each for each in parts if each.get_content_type() == _CALENDAR]
    rich = [each for each in parts if words[each] and each is not plain and each not in invitations]
    chosen = rich[-1:] if plain is None or (rich and _is_stub(words[plain], words[rich[-1]])) else [plain]
    for each in parts:
        if each not in chosen and each not in invitations:
            writer.omit("alternative text", " ".join(words[each]))
    return chosen + invitations


def _is_stub(plain: list[str], rich: list[str]) -> bool:
    """Whether the plain text only says that there is HTML: it lacks most of its words, and is short or names a browser.

    >>> _is_stub(["open", "me", "in", "a", "browser"], ["spring", "sale"]), _is_stub(["a", "sale"], ["the", "sale"])
    (True, False)
    """
    words, own = set(rich), set(plain)
    return len(words & own) < HALF * len(words) and bool(len(own) < HALF * len(words) or own & _BROWSER)


def _words_of(part: Message) -> list[str]:
    """The words of the texts in a part, roughly: without parsing HTML."""
    texts = [each for each in part.walk() if not (each.is_multipart() or each.get_filename()) and _is_text(each)]
    return [
        word.lower()
        for each in texts
        for word in _WORD.findall(html.unescape(_TAG.sub(" ", _text(each))) if _is_html(each) else _text(each))
    ]


def _is_html(part: Message) -> bool:
    return part.get_content_type() == _HTML


class _Place(NamedTuple):
    """A part among others. belongs: to a page of HTML; is_read: it is none of the alternatives to what is read."""

    part: Message
    belongs: bool = False
    is_read: bool = True


def _is_text(part: Message) -> bool:
    is_undivided = part.get_content_maintype() == "multipart" and not part.is_multipart()  # its boundary is missing
    return is_undivided or (part.get_content_maintype() == "text" and part.get_content_type() != _RTF)


def _children(part: Message) -> list[Message]:
    return [each for each in part.get_payload() if isinstance(each, Message)]


def _content(part: Message) -> bytes:
    """The bytes of an attachment; of an attached message, the message."""
    if part.is_multipart():
        inner = part.get_payload()
        first = inner[0] if isinstance(inner, list) and inner else None
        return first.as_bytes() if isinstance(first, Message) else b""
    headers.correct_encoding(part)
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text(part: Message) -> str:
    """The text of a part; "" for one that is binary."""
    payload, before, data, after = part.get_payload(), "", _content(part), ""
    if isinstance(payload, str) and str(part.get("Content-Transfer-Encoding", "")).strip().lower() == "base64":
        before, data, after = text_parts.around_base64(payload, data)
    charset = part.get_content_charset() or ""
    with suppress(Unreadable):
        text = labelled(data, charset) if charset else decode(data)[0]
        return "\n\n".join(filter(None, (before, text, after)))
    return ""


def _fields(message: Message) -> str:
    return "\n".join(f"{name}: {_header(message, name)}" for name in message)


def _header(message: Message, name: str) -> str:
    return headers.field(message, name, MOST_HEADER)


def _metadata(message: Message) -> JsonObject:
    """The headers that are for people, by the names that other loaders use where these have them: author, date."""
    about: JsonObject = {"author": _header(message, "From"), "date": _date(message)}
    about |= {name: _addresses(message, name) for name in ("to", "cc", "bcc")}
    about |= {name.replace("-", "_"): _header(message, name).strip("<>") for name in ("message-id", "in-reply-to")}
    for name, field in _ABOUT.items():
        about[name] = ", ".join(headers.fields(message, field, MOST_HEADER))
    return {name: value for name, value in about.items() if value}


def _addresses(message: Message, name: str) -> list[str]:
    """The addresses, each with its decoded name, in which there may be a comma."""
    fields = ", ".join(map(str, message.get_all(name, [])))
    raw = " ".join(fields[: MOST_ADDRESSES * MOST_HEADER].split())
    pairs = [(headers.unencoded(who), address) for who, address in getaddresses([raw])[:MOST_ADDRESSES]]
    return [f"{who} <{address}>" if who else address for who, address in pairs if address]


def _date(message: Message) -> str:
    """The date with its time zone, as ISO 8601; "" for one that is none."""
    try:
        return parsedate_to_datetime(_header(message, "Date")).isoformat()
    except (TypeError, ValueError, OverflowError, IndexError):
        return ""


def _file_name(part: Message) -> str:
    """The name of an attachment without its folders, with the suffix of its type where it has none."""
    kind = part.get_content_type()
    header = headers.unencoded(part.get_filename() or "")
    name = " ".join(storable(header.replace("\\", "/").rpartition("/")[2]).split())[-200:].lstrip(".")
    if not name:
        name = "message" if kind == "message/rfc822" else "attachment"
    if PurePath(name).suffix:
        return name
    return name + ({"message/rfc822": ".eml", _RTF: ".rtf"}.get(kind) or mimetypes.guess_extension(kind) or "")


def _readable(name: str, part: Message) -> str:
    """The name by which a loader is chosen: a text whose suffix no loader has is plain text, or RTF ("letter.doc")."""
    if part.get_content_maintype() != "text" or PurePath(name).suffix.lower() in LOADERS:
        return name
    return f"{name}.rtf" if part.get_content_type() == _RTF else f"{name}.txt"


def _distinct(names: list[str]) -> list[str]:
    """The names, of which a second "a.pdf" is called "2-a.pdf"."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{seen[name]}-{name}")
    return distinct
