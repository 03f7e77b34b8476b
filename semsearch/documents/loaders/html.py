"""HTML: the text of the page without menus, scripts and footers; headings as marks; tables row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from semsearch.documents.loaders._decode import decode, looks_binary
from semsearch.documents.loaders._fields import Fields
from semsearch.documents.loaders._html_content import Content
from semsearch.documents.loaders._html_text import text_of
from semsearch.documents.loaders._html_tree import tree
from semsearch.types import Document

SUFFIXES = (".html", ".htm", ".xhtml", ".shtml")
_CHARSET = re.compile(rb"<(?:meta|\?xml)\b[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)


def load(path: Path, fields: Fields) -> Iterator[Document]:
    page, note = _page(path.read_bytes())
    root = tree(page)
    content = Content(root)
    text, marks = text_of(content.root, content.dropped)
    title = " ".join("".join(e.itertext()).split()) if (e := root.find("head/title")) is not None else ""
    yield Document("", text, note, title or next((m.heading for m in marks), None), marks)


def _page(data: bytes) -> tuple[str, dict[str, Any]]:
    """The text of the bytes: by byte order mark or UTF-8, else as the page declares, else guessed."""
    text, note = decode(data)
    declared = _CHARSET.search(data[:4096])
    if not note or declared is None or looks_binary(data):
        return text, note
    try:
        return data.decode(declared.group(1).decode("ascii")), {}
    except (LookupError, UnicodeDecodeError):
        return text, note
