"""OpenDocument texts, presentations and drawings: paragraphs, lists and tables in reading order, headings as marks,
slides as pages.

Source: OASIS OpenDocument 1.3 part 3. Text boxes, charts, formulas, notes and comments follow the paragraph that they
are anchored to; headers and footers stand at the end, each text once. Left out is what is hidden or deleted.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from semsearch.documents.file_access import read_regular
from semsearch.documents.parsing.records import Fields
from semsearch.documents.parsing.text_writer import TextWriter
from semsearch.documents.parsing.zipped_xml import Archive, parsed, properties_in, table_rows
from semsearch.errors import Unreadable
from semsearch.types import Document

ISOLATED = True
_ONE_FILE = (".fodt", ".fodp", ".fodg", ".fods")
_DRAW, _FORM, _OFFICE, _SLIDES, _STYLE, _TABLE, _TEXT, _MANIFEST, _SVG = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}"
    for name in ["drawing", "form", "office", "presentation", "style", "table", "text", "manifest", "svg-compatible"]
)
_MATH = "{http://www.w3.org/1998/Math/MathML}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_CREATOR = "{http://purl.org/dc/elements/1.1/}creator"
_PARAGRAPHS = {f"{_TEXT}p", f"{_TEXT}h"}
_ASIDES = {f"{_TEXT}note", f"{_OFFICE}annotation"}
_SYMBOLS = {f"{_MATH}{name}" for name in ("mi", "mn", "mo", "mtext")}
_UNREADABLE = {f"{_DRAW}object-ole": "embedded object", f"{_DRAW}image": "picture"}
_UNREADABLE |= {f"{_SVG}title": "picture", f"{_SVG}desc": "picture", f"{_TEXT}tracked-changes": "deleted text"}


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document, titled as in its metadata. Raises Unreadable if it is damaged or encrypted."""
    if path.suffix.lower() in _ONE_FILE:
        root = parsed(read_regular(path), "OpenDocument file", path.name)
        title, metadata = properties_in(next(root.iter(f"{_OFFICE}meta"), Element("absent")))
        yield _Reader(None, root, root).read().document(title, metadata)
        return
    with Archive(path, "OpenDocument file") as archive:
        manifest = archive.optional_xml("META-INF/manifest.xml")
        if manifest.find(f".//{_MANIFEST}encryption-data") is not None:
            raise Unreadable("encrypted OpenDocument file: it needs a password")
        title, metadata = archive.properties("meta.xml")
        writer = _Reader(archive, archive.xml("content.xml"), archive.optional_xml("styles.xml")).read()
    yield writer.document(title, metadata)


class _Reader:
    """One pass over a document."""

    def __init__(self, archive: Archive | None, content: Element, styles: Element) -> None:
        self._archive = archive
        self._content = content
        self._styles = styles
        self._writer = TextWriter()
        self._pages = 0
        self._has_sheets = content.find(f"{_OFFICE}body/{_OFFICE}spreadsheet") is not None
        self._asides: list[Element] = []
        """What the paragraphs that were read last have beside their text."""
        self._hidden = {
            style.get(f"{_STYLE}name", "")
            for root in (content, styles)
            for style in root.iter(f"{_STYLE}style")
            for properties in style.iter(f"{_STYLE}text-properties")
            if properties.get(f"{_TEXT}display") == "none"
        }

    def read(self) -> TextWriter:
        """Write the body, then what stands on many pages, each text once."""
        body = self._content.find(f"{_OFFICE}body")
        if body is not None:
            self._write(body)
        self._writer.page_texts(map(self._inner_text, self._on_many_pages()))
        return self._writer

    def _on_many_pages(self) -> Iterator[Element]:
        """Headers and footers, and what masters show on their slides, which is not what slides fill in."""
        for name in ("header", "footer"):
            yield from self._content.iter(f"{_SLIDES}{name}-decl")
        for master in self._styles.iter(f"{_STYLE}master-page"):
            for child in master:
                in_text = child.tag.rpartition("}")[2].startswith(("header", "footer"))
                if in_text or (child.tag.startswith(_DRAW) and not child.get(f"{_SLIDES}class")):
                    yield child

    def _inner_text(self, element: Element) -> str:
        """The paragraphs below an element, a line each, without what stands beside them."""
        texts = [self._text(each) for each in element.iter() if each.tag in _PARAGRAPHS]
        self._asides.clear()
        return "\n".join(filter(str.strip, texts)) or (element.text or "").strip()

    def _write(self, body: Element) -> None:
        stack: list[tuple[Element, bool]] = [(body, False)]
        while stack:
            element, in_list = stack.pop()
            if element.tag in _PARAGRAPHS:
                self._write_paragraph(element, in_list=in_list)
            elif element.tag == f"{_TABLE}table":
                if self._has_sheets:
                    self._writer.heading(element.get(f"{_TABLE}name", ""), 2)
                for covered in element.iter(f"{_TABLE}covered-table-cell"):  # by a cell that is merged with it
                    self._writer.omit("hidden text", "".join(covered.itertext()))
                rows = table_rows(element, f"{_TABLE}table-row", f"{_TABLE}table-cell", _PARAGRAPHS, self._text)
                self._writer.table(rows)
            else:
                inside = in_list or element.tag == f"{_TEXT}list"
                stack.extend((child, inside) for child in reversed(self._opened(element)))
            while self._asides:
                stack.append((self._asides.pop(), False))

    def _write_paragraph(self, element: Element, *, in_list: bool) -> None:
        text = self._text(element)
        if element.get(f"{_TEXT}style-name") in self._hidden:
            self._writer.omit("hidden text", text)
        elif element.tag == f"{_TEXT}h":
            self._writer.heading(text, level=1 if element.get(f"{_TEXT}outline-level", "1") == "1" else 2)
        elif in_list:
            self._writer.block(f"- {text}" if text.strip() else "", gap="\n")
        else:
            self._writer.block(text)

    def _opened(self, element: Element) -> list[Element]:
        """The elements that are read in the place of this one, which is written or left out where there are none."""
        if element.tag in _UNREADABLE:
            has_data = element.find(f"{_OFFICE}binary-data") is not None
            text = "" if has_data else "".join(element.itertext()).strip()
            self._writer.omit(_UNREADABLE[element.tag], text or None)
        elif element.tag == f"{_TEXT}section" and _is_hidden(element):
            self._writer.omit("hidden text", "".join(element.itertext()))
        elif element.tag == f"{_TEXT}note":
            return [child for child in element if child.tag != f"{_TEXT}note-citation"]
        elif element.tag == f"{_OFFICE}annotation":
            self._writer.remark(element.findtext(_CREATOR, ""), self._inner_text(element))
        elif element.tag == f"{_OFFICE}forms":
            self._write_forms(element)
        elif element.tag == f"{_DRAW}page":
            self._pages += 1
            self._writer.new_page(self._pages)
            return sorted(element, key=lambda each: each.get(f"{_SLIDES}class") != "title")
        elif element.get(f"{_SLIDES}class") == "title":
            self._writer.heading(self._inner_text(element))
        elif element.tag == f"{_MATH}math":
            self._writer.block(" ".join((each.text or "").strip() for each in element.iter() if each.tag in _SYMBOLS))
        elif element.tag == f"{_DRAW}object":
            return [*element, *self._embedded(element)]
        else:
            return list(element)
        return []

    def _embedded(self, element: Element) -> list[Element]:
        """The content of a chart, a formula or a document in this document."""
        member = posixpath.normpath(f"{element.get(_LINK, '')}/content.xml")
        if self._archive is None or not self._archive.has(member):
            return []
        try:
            root = self._archive.xml(member)
        except Unreadable:
            self._writer.omit("damaged part")
            return []
        return list(root.iter(f"{_OFFICE}body")) or [root]

    def _write_forms(self, forms: Element) -> None:
        """Write what forms show: labels and values."""
        for control in forms.iter():
            shown = [control.get(f"{_FORM}{name}", "") for name in ("label", "current-value")]
            self._writer.block(" ".join(filter(None, shown)))
            if (default := control.get(f"{_FORM}value")) and default not in shown:
                self._writer.omit("default of a field", default)

    def _text(self, paragraph: Element) -> str:
        """The text of a paragraph: text:s is one or more spaces, text:tab a tab, text:line-break a newline."""
        parts: list[str] = []
        stack: list[Element | str] = [paragraph]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                parts.append(item)
            elif item.tag in _ASIDES or item.tag.startswith(_DRAW):
                self._asides.append(item)
            elif item is not paragraph and (_is_hidden(item) or item.get(f"{_TEXT}style-name") in self._hidden):
                self._writer.omit("hidden text", "".join(item.itertext()) or item.get(f"{_TEXT}string-value", ""))
            else:
                if item.tag == f"{_TEXT}a":
                    self._writer.omit("address of a link", unquote(item.get(_LINK, "")))
                if hint := item.get(f"{_TEXT}description"):
                    self._writer.omit("tooltip", hint)
                elif item.tag == f"{_TEXT}label" and not item.get(f"{_TEXT}current-selected"):
                    self._writer.omit("option of a field", item.get(f"{_TEXT}value", ""))
                for name in ("true", "false"):
                    if (other := item.get(f"{_TEXT}string-value-if-{name}", "")) != item.text:
                        self._writer.omit("hidden text", other)
                if value := item.get(f"{_TEXT}string-value"):  # a text that is there but not shown
                    self._writer.omit("index entry" if item.tag.endswith("-mark") else "hidden text", value)
                before, after = _around(item)
                parts.append(before + (item.text or ""))
                stack.append(after)
                for child in reversed(item):
                    stack += [child.tail or "", child]
        return "".join(parts)


def _is_hidden(element: Element) -> bool:
    return element.get(f"{_TEXT}is-hidden") == "true" or element.get(f"{_TEXT}display") == "none"


def _around(element: Element) -> tuple[str, str]:
    """What stands before and after the text of an element."""
    if element.tag == f"{_TEXT}s":
        count = element.get(f"{_TEXT}c", "1")
        return " " * min(int(count) if count.isdigit() else 1, 100), ""
    if element.tag == f"{_TEXT}ruby-text":
        return "(", ")"
    return {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}.get(element.tag, ""), ""
