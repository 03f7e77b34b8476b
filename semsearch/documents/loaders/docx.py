"""Word documents: paragraphs, lists and tables in reading order, headings as marks.

Source: ECMA-376 part 1, section 17 (WordprocessingML). Read with the standard library: python-docx takes
0.5 s to import and leaves out content controls. Headers, footers, footnotes and comments are left out, and
what tracked changes have deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from semsearch.documents.loaders._fields import Fields
from semsearch.documents.loaders._writer import TextWriter
from semsearch.documents.loaders._zipped_xml import Archive
from semsearch.types import Document

SUFFIXES = (".docx", ".docm", ".dotx")
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_HEADING = re.compile(r"(?:heading|title)\b", re.I)  # style names are English in every language's Word
_SKIP = {
    f"{_W}del",
    f"{_W}moveFrom",
    f"{_W}pict",
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
}
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


def load(path: Path, fields: Fields) -> Iterator[Document]:
    with Archive(path, "DOCX") as archive:
        body = archive.xml("word/document.xml")
        headings = _heading_styles(archive.xml("word/styles.xml")) if "word/styles.xml" in archive else frozenset()
        core = archive.xml("docProps/core.xml") if "docProps/core.xml" in archive else None
    writer = TextWriter()
    for block in _blocks(body):
        _write(block, headings, writer)
    text, marks = writer.finish()
    named = (core.findtext(f".//{_DC_TITLE}") or "").strip() if core is not None else ""
    yield Document("", text, title=named or next((m.heading for m in marks), None), marks=marks)


def _blocks(root: Element) -> Iterator[Element]:
    """Paragraphs and tables at the top level, content controls opened."""
    stack = [root]
    while stack:
        element = stack.pop()
        if element.tag in (f"{_W}p", f"{_W}tbl"):
            yield element
        elif element.tag not in _SKIP:
            stack.extend(reversed(element))


def _write(block: Element, headings: frozenset[str], writer: TextWriter) -> None:
    if block.tag == f"{_W}tbl":
        writer.block("\n".join(" | ".join(_cell(c) for c in r.iter(f"{_W}tc")) for r in block.iter(f"{_W}tr")))
        return
    style = block.find(f"{_W}pPr/{_W}pStyle")
    text = _text(block)
    if style is not None and style.get(f"{_W}val", "") in headings:
        writer.heading(text)
    elif (
        block.find(f"{_W}pPr/{_W}numPr") is not None
        or "list" in (style.get(f"{_W}val", "") if style is not None else "").lower()
    ):
        writer.block(f"- {text}" if text.strip() else "", gap="\n")
    else:
        writer.block(text)


def _cell(cell: Element) -> str:
    return " ".join(" ".join(_text(p).split()) for p in cell.iter(f"{_W}p"))


def _text(paragraph: Element) -> str:
    """The runs of one paragraph, in order, with its text boxes; deleted text is not there."""
    parts: list[str] = []
    stack = [paragraph]
    while stack:
        element = stack.pop()
        if element.tag == f"{_W}t":
            parts.append(element.text or "")
        elif element.tag in _BREAKS:
            parts.append(_BREAKS[element.tag])
        elif element.tag not in _SKIP and element.tag != f"{_W}pPr":
            stack.extend(reversed(element))
    return "".join(parts)


def _heading_styles(styles: Element) -> frozenset[str]:
    """Ids of the paragraph styles called "heading 1" … "Title", and of those based on them."""
    names: dict[str, str] = {}
    parents: dict[str, str] = {}
    for style in styles.iter(f"{_W}style"):
        name, parent = style.find(f"{_W}name"), style.find(f"{_W}basedOn")
        identity = style.get(f"{_W}styleId", "")
        names[identity] = name.get(f"{_W}val", "") if name is not None else ""
        if parent is not None:
            parents[identity] = parent.get(f"{_W}val", "")
    found = {identity for identity, name in names.items() if _HEADING.match(name)}
    found |= {identity for identity, parent in parents.items() if parent in found}
    return frozenset(found)
