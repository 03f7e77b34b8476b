"""HTML: the text of a page without menus, scripts and footers, headings as marks, tables row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from semsearch.documents.file_access import read_regular
from semsearch.documents.parsing.charset import decode, looks_binary
from semsearch.documents.parsing.html_page import Content, text_of, tree
from semsearch.documents.parsing.records import Fields
from semsearch.types import Document, JsonObject

ISOLATED = True
_CHARSET = re.compile(rb"<(?:meta|\?xml)\b[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document, titled as in its `head`; the metadata names a character set that was guessed."""
    page, note = _page(read_regular(path))
    root = tree(page)
    title = " ".join("".join(e.itertext()).split()) if (e := root.find("head/title")) is not None else ""
    writer = text_of(Content(root))
    document = writer.document(title, note)
    if not document.text:  # a page that is only a script may have it in its head, or in another file
        in_head = set(root.iterfind("head//script"))
        for script in root.iter("script"):
            kind = "structured data" if "json" in script.get("type", "") else "script"
            writer.omit(kind, script.text or "" if script in in_head else "")
        document = replace(document, omissions=writer.omissions)
    yield document


def _page(data: bytes) -> tuple[str, JsonObject]:
    """The decoded page: by byte order mark or as UTF-8, else as it declares, else by a guess."""
    text, note = decode(data)
    declared = _CHARSET.search(data[:4096])
    if not note or declared is None or looks_binary(data):
        return text, note
    try:
        return data.decode(declared.group(1).decode("ascii")), {}
    except (LookupError, UnicodeDecodeError):
        return text, note
