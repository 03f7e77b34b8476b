"""Web archives (WARC, gzipped or not): each page, PDF or text that a server sent, as its own loader reads it.

Source: ISO 28500 (WARC 1.1), RFC 9112 for the answers in it. Read with the standard library, record by record; of an
address that was fetched several times, each answer is a document. Answers with a status other than 200 are left out.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO, cast

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing.charset import storable
from semsearch.documents.parsing.records import Enclosed, Fields
from semsearch.errors import Unreadable
from semsearch.types import Skipped

RECORDS = True
ISOLATED = True
MOST_RECORD = 64 * 2**20  # bytes of an answer, packed or unpacked
MOST_HEAD = 2**16  # bytes of the headers of a record, and of one line
_TYPES = {"text/html": ".html", "application/xhtml+xml": ".html", "text/plain": ".txt", "application/pdf": ".pdf"}
_TYPES |= {"text/markdown": ".md", "application/epub+zip": ".epub", "application/rtf": ".rtf"}


def load(path: Path, fields: Fields) -> Iterator[Enclosed | Skipped]:
    """The answers, under their addresses. Raises Unreadable for what is no WARC, and where it is cut or damaged."""
    seen: dict[str, int] = {}
    with open_regular(path) as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        try:
            for head, body in _records(cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file):
                url = storable(head.get("warc-target-uri", "").strip("<>"))[:2000]
                if head.get("warc-type") != "response" or not url.startswith("http"):
                    continue
                seen[url] = seen.get(url, 0) + 1
                place = f"#{url}" if seen[url] == 1 else f"#{url}#{seen[url]}"
                if body is None:
                    size = int(head["content-length"]) / 2**20
                    reason = f"a record of {size:.1f} MB is over the limit of {MOST_RECORD // 2**20} MB"
                    yield Skipped(f"{path.name}{place}", reason)
                    continue
                yield from _answer(body, place, url, head.get("warc-date", ""), path.name)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise Unreadable(f"not a readable WARC: {error}") from error


def _records(file: BinaryIO) -> Iterator[tuple[dict[str, str], bytes | None]]:
    """The headers, in lower case, and the content of each record; None of one that is too long."""
    first = True
    while line := file.readline(MOST_HEAD):
        if not line.strip() and not first:
            continue
        if not line.startswith(b"WARC/"):
            raise Unreadable('not a readable WARC: a record does not begin with "WARC/"')
        first = False
        head = _head(file)
        length = head.get("content-length", "")
        if not length.isdecimal() or len(length) > 18:
            raise Unreadable("not a readable WARC: a record without its length")
        size = int(length)
        if size > MOST_RECORD:
            _pass_over(file, size)
            yield head, None
            continue
        body = file.read(size)
        if len(body) < size:
            raise Unreadable("not a readable WARC: it is cut in the middle of a record")
        yield head, body


def _head(file: BinaryIO) -> dict[str, str]:
    fields: dict[str, str] = {}
    size = 0
    while (line := file.readline(MOST_HEAD)).strip():
        name, _, value = line.decode("utf-8", "replace").partition(":")
        fields[name.strip().lower()] = value.strip()
        size += len(line)
        if size > MOST_HEAD:
            raise Unreadable("not a readable WARC: a record has too many headers")
    return fields


def _pass_over(file: BinaryIO, size: int) -> None:
    while size and (piece := file.read(min(size, 2**20))):
        size -= len(piece)


def _answer(body: bytes, place: str, url: str, date: str, file: str) -> Iterator[Enclosed | Skipped]:
    """What the server sent, without chunks and compression."""
    try:
        response = HTTPResponse(_Connection(body))  # type: ignore[arg-type]  # it needs no more of a socket
        response.begin()
        suffix = _TYPES.get((response.getheader("content-type") or "").partition(";")[0].strip().lower())
        if response.status != 200 or suffix is None:
            return
        content = _unpacked(response.read(MOST_RECORD), (response.getheader("content-encoding") or "").lower())
    except (HTTPException, ValueError, OSError, zlib.error) as error:
        yield Skipped(f"{file}{place}", f"not a readable answer: {error}"[:300])
        return
    metadata = {"url": url, "date": date} if date else {"url": url}
    yield Enclosed(place, url[-200:] if url.endswith(suffix) else f"{url[-200:]}{suffix}", content, metadata)


class _Connection:
    def __init__(self, body: bytes) -> None:
        self._body = body

    def makefile(self, *_: object) -> io.BytesIO:
        return io.BytesIO(self._body)


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
