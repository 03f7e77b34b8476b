"""OpenDocument text: paragraphs, lists and tables in reading order, headings as marks.

Source: OASIS OpenDocument 1.3 part 3. Headers, footers, notes and deleted text are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from semsearch.documents.parsing.records import Fields
from semsearch.documents.parsing.text_writer import TextWriter
from semsearch.documents.parsing.zipped_xml import Archive, table_rows
from semsearch.errors import Unreadable
from semsearch.types import Document

ISOLATED = True
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_MANIFEST = "{urn:oasis:names:tc:opendocument:xmlns:manifest:1.0}"
_PARAGRAPHS = {f"{_TEXT}p", f"{_TEXT}h"}
_SKIP = {f"{_TEXT}tracked-changes", f"{_TEXT}note", f"{_OFFICE}annotation", f"{_OFFICE}forms"}


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document, titled as in its metadata. Raises Unreadable if it is damaged or encrypted."""
    with Archive(path, "ODT") as archive:
        if any(archive.optional_xml("META-INF/manifest.xml").iter(f"{_MANIFEST}encryption-data")):
            raise Unreadable("encrypted ODT: it needs a password")
        body = archive.xml("content.xml").find(f"{_OFFICE}body")
        title, metadata = archive.properties("meta.xml")
    writer = TextWriter()
    if body is not None:
        _write(body, writer)
    yield writer.document(title, metadata)


def _write(body: Element, writer: TextWriter) -> None:
    stack: list[tuple[Element, bool]] = [(body, False)]
    while stack:
        element, in_list = stack.pop()
        if element.tag == f"{_TEXT}h":
            writer.heading(_text(element), level=1 if element.get(f"{_TEXT}outline-level", "1") == "1" else 2)
        elif element.tag == f"{_TEXT}p" and in_list:
            writer.block(f"- {_text(element)}" if _text(element).strip() else "", gap="\n")
        elif element.tag == f"{_TEXT}p":
            writer.block(_text(element))
        elif element.tag == f"{_TABLE}table":
            writer.table(table_rows(element, f"{_TABLE}table-row", f"{_TABLE}table-cell", _PARAGRAPHS, _text))
        elif element.tag not in _SKIP:
            inside = in_list or element.tag == f"{_TEXT}list"
            stack.extend((child, inside) for child in reversed(element))


def _text(paragraph: Element) -> str:
    """The text of a paragraph: text:s is one or more spaces, text:tab a tab, text:line-break a newline."""
    parts: list[str] = []
    stack: list[Element | str] = [paragraph]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
        elif item.tag not in _SKIP:
            parts.append(_blank(item) + (item.text or ""))
            for child in reversed(item):
                stack += [child.tail or "", child]
    return "".join(parts)


def _blank(element: Element) -> str:
    if element.tag == f"{_TEXT}s":
        count = element.get(f"{_TEXT}c", "1")
        return " " * min(int(count) if count.isdigit() else 1, 100)
    return {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}.get(element.tag, "")
