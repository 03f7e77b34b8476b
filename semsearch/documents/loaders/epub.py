"""EPUB: the chapters of a book in reading order, with their headings.

Source: EPUB 3.3 and Open Packaging Format 2.0 of the IDPF. Read with the standard library and, as any page of HTML, by
lxml: ebooklib keeps all files of a book in memory. A chapter without a heading gets its title in the table of contents.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from semsearch.documents.parsing.charset import decode
from semsearch.documents.parsing.html_page import Content, text_of, tree
from semsearch.documents.parsing.records import Fields
from semsearch.documents.parsing.text_writer import TextWriter
from semsearch.documents.parsing.zipped_xml import Archive
from semsearch.errors import Unreadable
from semsearch.types import Document, JsonObject, Skipped

if TYPE_CHECKING:
    from lxml.etree import _Element

ISOLATED = True
_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_OPF = "{http://www.idpf.org/2007/opf}"
_CIPHER = "{http://www.w3.org/2001/04/xmlenc#}CipherReference"
_PAGES = {"application/xhtml+xml", "text/html", "text/x-oeb1-document"}
_SUFFIXES = (".xhtml", ".html", ".htm")
_CONTENTS = "table of contents"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    """One document, and each chapter that cannot be read. Raises Unreadable for a damaged or a protected book."""
    writer = TextWriter()
    with Archive(path, "EPUB") as archive:
        package = _package(archive)
        root = archive.xml(package)
        title, metadata = archive.properties(package)
        encryption = archive.optional_xml("META-INF/encryption.xml")
        locked = {each.get("URI", "").lower() for each in encryption.iter(_CIPHER)}
        chapters, contents, others = _chapters(root, posixpath.dirname(package))
        for other, reason in others.items():
            yield Skipped(f"{path.name}#{other}", f"a chapter cannot be read: {reason}")
        listed = {each.lower() for each in (contents, *chapters, *others)}
        for name in archive.names():
            kind = _CONTENTS if name.lower().endswith(".ncx") else "page that is no part of the book"
            if name.lower().endswith((*_SUFFIXES, ".ncx")) and name.replace("\\", "/").lower() not in listed:
                with suppress(Unreadable):
                    writer.omit(kind, "".join(tree(decode(archive.data(name))[0]).itertext()))
        titles = _titles(archive, contents, writer) if contents and archive.has(contents) else {}
        for chapter in chapters:
            if chapter.lower() in locked:
                raise Unreadable("encrypted EPUB: the book is protected")
            try:
                _write(decode(archive.data(chapter))[0], titles.get(chapter.lower(), ""), writer)
            except Unreadable as error:
                yield Skipped(f"{path.name}#{chapter}", f"a chapter cannot be read: {error.message}")
    yield writer.document(title, {**metadata, **_language(root)})


def _package(archive: Archive) -> str:
    """The member that describes the book: the one that the container names, else the first one that can be one."""
    entry = archive.optional_xml("META-INF/container.xml").find(f".//{_CONTAINER}rootfile")
    name = unquote(entry.get("full-path") or "") if entry is not None else ""
    if not archive.has(name):
        name = next((each for each in archive.names() if each.lower().endswith(".opf")), "")
    if not name:
        raise Unreadable("not a readable EPUB: its container names no package")
    return name


def _chapters(root: Element, folder: str) -> tuple[list[str], str, dict[str, str]]:
    """The members with the chapters, each once, in reading order; the table of contents, which is none, or ""; and the
    chapters that cannot be read, with the reasons.

    Without an order, that of the list of all files. A page is known by its type, or by its suffix.
    """
    items = {each.get("id", ""): each for each in root.iter(f"{_OPF}item")}
    places = {name: _resolved(folder, item.get("href", "")) for name, item in items.items()}
    order = [each.get("idref", "") for each in root.iter(f"{_OPF}itemref")]
    spine = root.find(f"{_OPF}spine")
    listed = spine.get("toc", "") if spine is not None else ""
    contents = next((name for name, item in items.items() if "nav" in item.get("properties", "").split()), listed)
    toc = places.get(contents, "")
    is_ordered = any(name in items for name in order)
    pages = [places[name] for name in (order if is_ordered else items) if name in items]
    types = {places[name]: item.get("media-type", "") for name, item in items.items()}
    beside = [places[name] for name in items if is_ordered and name not in order]  # pages that only links lead to
    chapters = [page for page in [*pages, *beside] if types[page] in _PAGES or page.lower().endswith(_SUFFIXES)]
    others: dict[str, str] = {}
    if is_ordered:
        others = {name: "the book lists no such file" for name in order if name not in items}
        others |= {page: f"its type is {types[page] or 'unknown'}" for page in pages if page not in chapters}
    # without the table of contents: a list of chapters answers nothing
    return list(dict.fromkeys(page for page in chapters if page != toc)), toc, others


def _titles(archive: Archive, contents: str, writer: TextWriter) -> dict[str, str]:
    """The first title of each member in the table of contents, be it a list of links (EPUB 3) or an NCX (EPUB 2), which
    is counted.
    """
    titles: dict[str, str] = {}
    try:
        root = tree(decode(archive.data(contents))[0])
    except Unreadable:
        return titles
    writer.omit(_CONTENTS, "".join(root.itertext()))
    folder = posixpath.dirname(contents)
    for entry in root.iter("a", "navpoint"):
        target = entry.get("href") or next((each.get("src") for each in entry.iter("content")), None)
        label = next(entry.iter("text"), entry) if entry.tag == "navpoint" else entry
        if target:
            titles.setdefault(_resolved(folder, target).lower(), " ".join("".join(label.itertext()).split()))
    return titles


def _resolved(folder: str, link: str) -> str:
    """The member that a link leads to from `folder`."""
    return posixpath.normpath(posixpath.join(folder, unquote(link.partition("#")[0])))


def _write(page: str, title: str, writer: TextWriter) -> None:
    root = tree(page)
    writer.omit("title of a page", root.findtext("head/title") or "")
    content = Content(root)
    if title and not _has_heading(content.root):
        writer.heading(title, 2)
    text_of(content, writer)


def _has_heading(root: _Element) -> bool:
    return next(root.iter(*_HEADINGS), None) is not None


def _language(root: Element) -> JsonObject:
    code = (root.findtext(".//{http://purl.org/dc/elements/1.1/}language") or "").strip()
    return {"language": code} if code else {}
