"""Detection of a file's type by its first bytes, for files without a known suffix."""

from __future__ import annotations

import json
import re
from pathlib import Path

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing.charset import looks_binary
from semsearch.errors import Unreadable

HEAD_BYTES = 8192
_HTML = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype html|html|head|body)\b", re.I | re.S)
_MAILBOX = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*From \S+ [^\n]*\d{4}[^\n]*\r?\n[A-Za-z-]+:"
)  # RFC 4155: address, date; then a header
_FIELDS = rb"(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*?"
_MAIL = re.compile(  # fields of mail, with nothing but other fields before
    rb"(?:\xef\xbb\xbf)?\s*" + _FIELDS + rb"(?:(?:Received|Return-Path|Delivered-To|Message-ID|MIME-Version):"
    rb"|From:[^\n]*\n(?:[ \t][^\n]*\n)*" + _FIELDS + rb"(?:Date|Subject|To):"
    rb"|(?:Date|Subject|To):[^\n]*\n(?:[ \t][^\n]*\n)*" + _FIELDS + rb"From:)",
    re.I,
)
_MANUAL = re.compile(rb"(?:[.'][^\n]*\n|\s*\n)*?\.(?:TH |Dd |Dt |so man)")  # requests, and the title among them
DIRECTORY_BYTES = 2**20  # at the end of a zip file: a document has few members, a hostile file half a million
_BINARY = {  # the first bytes of what is refused by its name
    b"\xd0\xcf\x11\xe0": "Office 97 to 2003, Outlook: save it as .docx, .xlsx, .pptx or .eml",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"\x1f\x9d": "compressed with compress",
    b"7z\xbc\xaf": "archive",
    b"Rar!": "archive",
}
_ENTRY = rb"PK\x01\x02.{42}"
_ZIPPED = {  # the member that identifies the type, in the directory
    re.compile(_ENTRY + rb"word[/\\]document\d*\.xml", re.DOTALL): "docx",
    re.compile(_ENTRY + rb"ppt[/\\]presentation\.xml", re.DOTALL): "pptx",
    re.compile(_ENTRY + rb"xl[/\\]workbook\.(?:xml|bin)", re.DOTALL): "xlsx",
    re.compile(_ENTRY + rb"META-INF/container\.xml", re.DOTALL): "epub",
    re.compile(_ENTRY + rb"content\.xml", re.DOTALL): "odt",
}


def kind_of_bytes(path: Path) -> str:
    """The name of the loader for the content of `path`. Raises Unreadable for binary content of no known type."""
    head = _head(path)
    if b"%PDF-" in head[:1024]:  # the standard allows 1,024 bytes of anything before it
        return "pdf"
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if head.lstrip().startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith(b"PK\x03\x04"):
        return _kind_of_zip(path)
    if looks_binary(head):
        named = (name for begin, name in _BINARY.items() if head.startswith(begin))
        raise Unreadable(f"binary file ({name})" if (name := next(named, "")) else "binary file")
    if _MAILBOX.match(head):
        return "mbox"
    if _MAIL.match(head):
        return "email"
    if _MANUAL.match(head):
        return "man"
    return "html" if _HTML.match(head.removeprefix(b"\xef\xbb\xbf")) else "text"


def records_on_stdin(path: Path) -> bool:
    """Whether the first line is a JSON object, or begins like one: beyond 8 KB, or in a JSON sequence."""
    line, end, _ = _head(path).removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if not line.startswith(b"{"):
        return line.startswith(b"\x1e{")  # a JSON sequence
    try:
        return isinstance(json.loads(line), dict)
    except RecursionError:
        return True  # the loader says that it is nested too deep
    except ValueError:
        return not end and re.match(rb'\{\s*"', line) is not None and len(line) > HEAD_BYTES // 2


def _head(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error


def _kind_of_zip(path: Path) -> str:
    try:
        with open_regular(path) as file:
            file.seek(-min(DIRECTORY_BYTES, path.stat().st_size), 2)
            directory = file.read(DIRECTORY_BYTES)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    kind = next((kind for member, kind in _ZIPPED.items() if member.search(directory)), None)
    if kind is None:
        raise Unreadable("binary file (archive)")
    return kind
