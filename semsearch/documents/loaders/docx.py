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

from semsearch.documents.parsing.records import Fields
from semsearch.documents.parsing.text_writer import TextWriter
from semsearch.documents.parsing.zipped_xml import Archive, outermost, table_rows
from semsearch.types import Document

ISOLATED = True
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"(?:heading|title)\b", re.I)  # style names are English in every language's Word
_SKIP = {f"{_W}del", f"{_W}moveFrom", f"{_W}pict"}
_SKIP |= {"{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
_BLOCKS = {f"{_W}p", f"{_W}tbl"}
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document, titled as in its properties. Raises Unreadable if it is damaged or encrypted."""
    with Archive(path, "DOCX") as archive:
        body = archive.xml("word/document.xml")
        headings = _heading_styles(archive.optional_xml("word/styles.xml"))
        title, metadata = archive.properties("docProps/core.xml")
    writer = TextWriter()
    for block in outermost(body, _BLOCKS, _SKIP):  # at the top level and in content controls
        _write(block, headings, writer)
    yield writer.document(title, metadata)


def _write(block: Element, headings: frozenset[str], writer: TextWriter) -> None:
    if block.tag == f"{_W}tbl":
        writer.table(table_rows(block, f"{_W}tr", f"{_W}tc", [f"{_W}p"], _text))
        return
    style, text = _value(block.find(f"{_W}pPr/{_W}pStyle")), _text(block)
    if style in headings:
        writer.heading(text, level=2 if style[-1:] in set("23456789") else 1)  # Heading2 … of Word
    elif block.find(f"{_W}pPr/{_W}numPr") is not None or "list" in style.lower():
        writer.block(f"- {text}" if text.strip() else "", gap="\n")
    else:
        writer.block(text)


def _value(element: Element | None) -> str:
    """The w:val attribute; "" for None and for an element without one."""
    return element.get(f"{_W}val", "") if element is not None else ""


def _text(paragraph: Element) -> str:
    """The runs of a paragraph, in order, with its text boxes and without deleted text."""
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
        identity = style.get(f"{_W}styleId", "")
        names[identity], parents[identity] = _value(style.find(f"{_W}name")), _value(style.find(f"{_W}basedOn"))
    headings = frozenset(identity for identity, name in names.items() if _HEADING.match(name))
    return headings | {identity for identity, parent in parents.items() if parent and parent in headings}
