"""HTML: the text of a page without menus, scripts and footers, headings as marks, tables row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.documents.file_access import read_regular
from semsearch.documents.parsing.charset import decode, looks_binary
from semsearch.documents.parsing.html_page import Content, text_of, tree
from semsearch.documents.parsing.records import Fields
from semsearch.documents.parsing.text_writer import MOST_PROPERTY, on_one_line
from semsearch.types import Document, JsonObject

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

ISOLATED = True
_META = {name: name for name in ("description", "keywords", "author", "date")}
_META |= {f"{prefix}{name}": name for prefix in ("dc.", "dcterms.") for name in ("description", "subject", "date")}
_META |= {"og:description": "description", "twitter:description": "description", "news_keywords": "keywords"}
_META |= {"dc.creator": "author", "dcterms.creator": "author", "article:published_time": "date"}
_TITLES = ("og:title", "twitter:title")
_EACH = {"article:tag": "keywords", "citation_keywords": "keywords", "citation_author": "author"}  # an element for each
_READ = {*_META, *_TITLES, *_EACH}
_FOR_PROGRAMS = re.compile(
    r"viewport|generator|referrer|format-detection|theme-color|color-scheme|robots|.*bot$|.*verification$|csrf"
    r"|(?:msapplication|apple|mobile)-|twitter:(?!label|data|image:alt)|og:(?!site_name|image:alt)"
)
_CHARSET = re.compile(rb"<(?:meta|\?xml)\b[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document, titled as in its `head`, with author, date, keywords and description in it as metadata, which
    also names a character set that was guessed.
    """
    page, note = _page(read_regular(path))
    root = tree(page)
    title = " ".join("".join(e.itertext()).split()) if (e := root.find("head/title")) is not None else ""
    writer = text_of(Content(root))
    metas = list(root.iter("meta"))
    about = _about(metas)
    for element in metas:
        name, said = _name(element), on_one_line(element.get("content"), MOST_PROPERTY)
        if name in _TITLES:
            title = title or said
            writer.omit("title for previews", said if said != title else "")
        elif name in _EACH and said not in about.get(_EACH[name], said):  # the page has keywords of its own
            writer.omit("metadata of the page", said)
        elif name and not (name in _READ or _FOR_PROGRAMS.match(name)):
            writer.omit("metadata of the page", element.get("content", ""))
    for fallback in root.iterfind("head//noscript"):
        writer.omit("noscript", "".join(fallback.itertext()))
    for script in root.iterfind("head//script"):
        writer.omit("structured data", script.text if "json" in script.get("type", "") else "")
    document = writer.document(title, {**about, **note})
    if not document.text:  # a page that is only a script may have it in its head, or in another file
        in_head = set(root.iterfind("head//script"))
        for script in root.iter("script"):
            if "json" not in script.get("type", ""):
                writer.omit("script", script.text if script in in_head else None)
        document = replace(document, omissions=writer.omissions)
    yield document


def _about(metas: Sequence[Element]) -> JsonObject:
    """What the page says about itself: of several texts for one thing the first."""
    about: JsonObject = {}
    for element in metas:
        name = _META.get(_name(element))
        if name and (text := on_one_line(element.get("content"), MOST_PROPERTY)):
            about.setdefault(name, text)
    for name in dict.fromkeys(_EACH.values()):
        texts = (on_one_line(each.get("content"), MOST_PROPERTY) for each in metas if _EACH.get(_name(each)) == name)
        if several := ", ".join(filter(None, texts)):
            about.setdefault(name, several)
    return about


def _name(meta: Element) -> str:
    return (meta.get("name") or meta.get("property") or "").lower()


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
