"""Web archives (WARC, gzipped or not): each page, PDF or text that a server sent, as its own loader reads it.

Source: ISO 28500 (WARC 1.1), RFC 9112 for the answers in it. Read with the standard library, record by record; of an
address that was fetched several times, each answer is a document. What a crawler has stored without its answer, or as
text (WET), is read too. Answers with a status other than 200, and of types without a loader, are left out and counted.
A damaged record is skipped, and the next one begins where a line says so, or a member of the gzip file.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing.charset import labelled, named_in, storable
from semsearch.documents.parsing.records import Enclosed, Fields
from semsearch.documents.parsing.text_writer import TextWriter
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

RECORDS = True
ISOLATED = True
MOST_RECORD = 64 * 2**20  # bytes of an answer, packed or unpacked
MOST_HEAD = 2**16  # bytes of the headers of a record, and of one line
_TYPES = {"text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt", "application/pdf": ".pdf"}
_TYPES |= {"text/markdown": ".md", "application/epub+zip": ".epub", "application/rtf": ".rtf"}
_OFFICE = "application/vnd.openxmlformats-officedocument."
_TYPES |= {f"{_OFFICE}wordprocessingml.document": ".docx", f"{_OFFICE}presentationml.presentation": ".pptx"}
_TYPES |= {f"{_OFFICE}spreadsheetml.sheet": ".xlsx"}
_OPEN = {"text": ".odt", "spreadsheet": ".ods", "presentation": ".odp"}
_TYPES |= {f"application/vnd.oasis.opendocument.{kind}": suffix for kind, suffix in _OPEN.items()}
_MEMBER = b"\x1f\x8b\x08"  # begins a gzip file, and each of those that are one behind the other
_OF_CRAWLER = {"warcinfo", "request", "metadata", "revisit"}  # records about others
_TEXTS = re.compile(r"^text/|javascript|json|xml")
_NO_PAGES = {"image": "picture", "text/css": "style", "text/javascript": "script", "application/javascript": "script"}


def load(path: Path, fields: Fields) -> Iterator[Enclosed | Skipped | Document]:
    """The answers, under their addresses, and at the end a document without text that counts what was left out.

    Raises Unreadable for what is no WARC, and where it is cut or damaged.
    """
    seen: dict[str, int] = {}
    writer = TextWriter()
    damaged: list[Skipped] = []  # before the first record that is whole
    whole = False
    with open_regular(path) as file:
        packed = file.read(2) == _MEMBER[:2]
        file.seek(0)
        try:
            for number, record in enumerate(_records(io.BufferedReader(_Members(file)) if packed else file), 1):
                if isinstance(record, _Damaged):
                    skipped = Skipped(f"{path.name}#record {number}", f"damaged: {record}")
                    if whole:
                        yield skipped
                    else:
                        damaged.append(skipped)
                    continue
                yield from damaged
                damaged, whole = [], True
                head, body = record
                url, kind = storable(head.get("warc-target-uri", "").strip("<>"))[:2000], head.get("warc-type", "")
                if kind in _OF_CRAWLER:
                    writer.omit("record of the crawler", (body or b"").decode("utf-8", "replace"))
                    continue
                seen[url] = seen.get(url, 0) + 1
                place = f"#{url}" if seen[url] == 1 else f"#{url}#{seen[url]}"
                if body is None:
                    size = int(head["content-length"]) / 2**20
                    reason = f"a record of {size:.1f} MB is over the limit of {MOST_RECORD // 2**20} MB"
                    yield Skipped(f"{path.name}{place}", reason)
                    continue
                try:
                    answer = _answer(body) if _is_http(head) else _Answer(head.get("content-type", ""), body)
                except (HTTPException, ValueError, OSError, zlib.error) as error:
                    yield Skipped(f"{path.name}{place}", f"not a readable answer: {error}"[:300])
                    continue
                type_ = answer.type.partition(";")[0].strip().lower()
                if answer.status != 200:
                    writer.omit("redirect" if answer.status // 100 == 3 else "error page")
                    continue
                if kind == "continuation" or type_ not in _TYPES:
                    named = _NO_PAGES.get(type_) or _NO_PAGES.get(type_.partition("/")[0], "record of another type")
                    writer.omit(named, answer.content.decode("utf-8", "replace") if _TEXTS.search(type_) else None)
                    continue
                suffix, metadata = _TYPES[type_], {"url": url, "date": head.get("warc-date", "")}
                name = url[-200:] if url.endswith(suffix) else f"{url[-200:]}{suffix}"
                content = _in_utf8(answer.content, answer.type) if _TEXTS.search(type_) else answer.content
                yield Enclosed(place, name, content, {key: value for key, value in metadata.items() if value})
        except EOFError as error:
            raise Unreadable("not a readable WARC: it is cut in the middle of a record") from error
    if damaged:
        raise Unreadable(f"not a readable WARC: {damaged[0].reason}")
    if writer.omissions:
        yield Document("", "", omissions=writer.omissions)


class _Damaged(Exception):
    """What of a WARC cannot be read; the next record can. `before`: the record before it is whole."""

    def __init__(self, reason: str, *, before: bool = False) -> None:
        super().__init__(reason)
        self.before = before


def _records(file: BinaryIO | io.BufferedReader) -> Iterator[tuple[dict[str, str], bytes | None] | _Damaged]:
    """The headers, in lower case, and the content of each record; None of one that is too long. Raises EOFError.

    A record is whole where what comes behind it can be read: the checksum of a gzip member stands at its end.
    """
    record = None
    damaged = False
    while True:
        try:
            line = _line(file)
        except (_Damaged, EOFError) as error:
            if record is not None and (isinstance(error, EOFError) or error.before):
                yield record
            if isinstance(error, EOFError):
                raise
            record, damaged = None, True
            yield error
            continue
        if record is not None:
            yield record
            record = None
        if not line:
            return
        try:
            record = _record(file, line)
            damaged = False
        except _Damaged as error:
            if not damaged:  # the lines behind a damaged record are part of it, until one begins the next record
                yield error
            damaged = True


def _line(file: BinaryIO | io.BufferedReader) -> bytes:
    """The next line that is not blank; b"" at the end."""
    while (line := file.readline(MOST_HEAD)) and not line.strip():
        pass
    return line


def _record(file: BinaryIO | io.BufferedReader, line: bytes) -> tuple[dict[str, str], bytes | None]:
    if not line.startswith(b"WARC/"):
        raise _Damaged('a record does not begin with "WARC/"')
    head = _head(file)
    length = head.get("content-length", "")
    if not length.isdecimal() or len(length) > 18:
        raise _Damaged("a record without its length")
    left = int(length)
    if left <= MOST_RECORD:
        body = file.read(left)
        if len(body) < left:
            raise EOFError
        return head, body
    while left:
        left -= (passed := len(file.read(min(left, 2**20))))
        if not passed:
            raise EOFError
    return head, None


class _Members(io.RawIOBase):
    """The content of a gzip file; a damaged member raises _Damaged, and then the next one is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packed = b""
        self._member: zlib._Decompress | None = None
        self._begun = False  # whether the member has given something

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = b""
        while not content:
            self._packed = self._packed or self._file.read(2**16)
            if not self._packed:
                if self._member is not None:
                    raise EOFError
                return 0
            if self._member is None:
                self._member, self._begun = zlib.decompressobj(zlib.MAX_WBITS | 16), False
            try:
                content = self._member.decompress(self._packed, len(buffer))
            except zlib.error as error:
                self._pass_over()
                raise _Damaged(str(error).rpartition(": ")[2], before=not self._begun) from None
            self._begun = self._begun or bool(content)
            self._packed = self._member.unconsumed_tail
            if self._member.eof:
                self._packed, self._member = self._member.unused_data, None
        buffer[: len(content)] = content
        return len(content)

    def _pass_over(self) -> None:
        """Go on where the next member begins."""
        self._member = None
        self._packed = self._packed[1:]
        while (place := self._packed.find(_MEMBER)) < 0:
            more = self._file.read(2**16)
            self._packed = self._packed[-2:] + more if more else b""
            if not more:
                return
        self._packed = self._packed[place:]


def _head(file: BinaryIO | io.BufferedReader) -> dict[str, str]:
    fields: dict[str, str] = {}
    size = 0
    while (line := file.readline(MOST_HEAD)).strip():
        name, _, value = line.decode("utf-8", "replace").partition(":")
        fields[name.strip().lower()] = value.strip()
        size += len(line)
        if size > MOST_HEAD:
            raise _Damaged("a record has too many headers")
    return fields


class _Answer(NamedTuple):
    """What a server sent."""

    type: str
    content: bytes
    status: int = 200


def _is_http(head: dict[str, str]) -> bool:
    return head.get("warc-type") == "response" and head.get("warc-target-uri", "").strip("<>").startswith("http")


def _answer(body: bytes) -> _Answer:
    """The answer without chunks and compression. Its type is "" where it has none."""
    response = HTTPResponse(_Connection(body))  # type: ignore[arg-type]  # it needs no more of a socket
    response.begin()
    encoding = (response.getheader("content-encoding") or "").lower()
    content = _unpacked(response.read(MOST_RECORD), encoding) if response.status == 200 else b""
    return _Answer(response.getheader("content-type") or "", content, response.status)


class _Connection:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def makefile(self, *_: object) -> io.BytesIO:
        return io.BytesIO(self._body)


def _in_utf8(content: bytes, type_: str) -> bytes:
    """A text in UTF-8, where its server names a character set, which the text itself need not."""
    charset = named_in(type_.encode("latin-1", "replace"))
    with suppress(Unreadable):
        return labelled(content, charset).encode() if charset else content
    return content


def _unpacked(content: bytes, encoding: str) -> bytes:
    """Without compression; the archive may hold it as it was sent."""
    if encoding not in ("gzip", "x-gzip", "deflate"):
        if encoding not in ("", "identity"):
            raise ValueError(f"it is compressed by {encoding}")
        return content
    bare = encoding == "deflate" and content[:1] != b"\x78"  # as some servers send it
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
    unpacked = unpacker.decompress(content, MOST_RECORD)
    if not unpacker.eof and not unpacker.unconsumed_tail:
        raise ValueError("its compressed content is cut")
    if not unpacker.eof:
        raise ValueError(f"it unpacks to more than {MOST_RECORD // 2**20} MB")
    return unpacked
