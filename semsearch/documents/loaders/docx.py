"""Word documents: paragraphs, lists, tables and formulas in reading order, headings as marks.

Source: ECMA-376 part 1, section 17 (WordprocessingML). Read with the standard library: python-docx takes
0.5 s to import and leaves out content controls. Text boxes, charts, notes and comments follow the paragraph that they
are anchored to; headers and footers stand at the end, each text once. Left out is what is hidden, and what tracked
changes have deleted.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from pathlib import Path
from string import ascii_letters
from xml.etree.ElementTree import Element

from semsearch.documents.parsing.open_xml import (
    FORMULA_SIGNS,
    FORMULA_TEXT,
    FORMULAS,
    GRAPHICS,
    WORDS,
    A,
    Package,
    lines,
    omit_description,
    text_of,
)
from semsearch.documents.parsing.records import Enclosed, Fields
from semsearch.documents.parsing.text_writer import ADDRESS, TextWriter
from semsearch.documents.parsing.zipped_xml import outermost, table_rows
from semsearch.errors import Unreadable
from semsearch.types import Document

ISOLATED = True
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"(?:heading|title)\b", re.I)  # style names are English in every language's Word
_OFF = {"0", "false", "off"}
_DELETED = {f"{_W}del", f"{_W}moveFrom"}
_DELETED_TEXT = {f"{_W}delText", f"{_W}t"}
_BLOCKS = {f"{_W}p", f"{_W}tbl", *FORMULAS}
_RUN, _RUN_TEXT, _RUBY, _SYMBOL = f"{_W}r", {f"{_W}t", FORMULA_TEXT}, f"{_W}ruby", f"{_W}sym"
_SIGNS = FORMULA_SIGNS | dict.fromkeys((f"{_W}tab", f"{_W}ptab"), "\t")
_SIGNS |= {f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_CHOICE = f"{_W}ddList"  # of a form field, which shows one of its entries
_QUOTED = re.compile(r'"([^"]*)"')  # in the code of a field
_FORMAT = re.compile(r'\\[l@#*]\s*"[^"]*"')  # or the anchor of a link
_INSTRUCTION, _INDEX_ENTRY = f"{_W}instrText", re.compile(r'\s*(?:XE|TC)\s+"([^"]*)')
_LABEL = re.compile(rb'<(?:\w+:)?lvlText\b[^<>]*?\bval="([^"]*)"')
_PRIVATE_USE = range(0xF000, 0xF100)
_GREEK = str.maketrans(ascii_letters, "αβχδεφγηιϕκλμνοπθρστυϖωξψζΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ")  # the font Symbol
_FORMATS = {f"{_W}pPr", f"{_W}rPr"}
_NOTES = {f"{_W}footnoteReference": "footnote", f"{_W}endnoteReference": "endnote", f"{_W}commentReference": "comment"}
_TEXT_BOX = f"{_W}txbxContent"
_WORD_ART = "{urn:schemas-microsoft-com:vml}textpath"
_ASIDES = {_TEXT_BOX, _WORD_ART, f"{A}p", *_NOTES, *GRAPHICS}
_PICTURES = {
    "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic",
    "{urn:schemas-microsoft-com:vml}imagedata",
}
_DESCRIPTIONS = {"{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr": "picture"}
_DESCRIPTIONS |= {
    f"{{http://schemas.microsoft.com/office/word/2010/wordprocessing{name}}}cNvPr": "description"
    for name in ("Shape", "Group", "Canvas")
}
_DESCRIPTIONS |= {
    f"{{urn:schemas-microsoft-com:vml}}{name}": "description"
    for name in ("shape", "group", "rect", "roundrect", "oval", "line", "polyline", "arc", "curve")
}
_LINK = f"{_W}hyperlink"
_OF_FIELDS = {
    f"{_W}alias": "title of a field",
    f"{_W}listItem": "option of a field",
    f"{_W}listEntry": "option of a field",
}
_HELP = {f"{_W}helpText", f"{_W}statusText"}  # of a form field


def load(path: Path, fields: Fields) -> Iterator[Document | Enclosed]:
    """One document, titled as in its properties, and the files within it. Raises Unreadable if it is damaged or
    encrypted.
    """
    writer = TextWriter()
    with Package(path, "DOCX", "word/document.xml") as package:
        reader = _Reader(package, writer)
        reader.write_body()
        reader.write_rest()
        title, metadata = package.title_and_properties()
        files = package.enclosed(package.main, writer)
    yield writer.document(title, metadata)
    yield from files


class _Reader:
    """One pass over the parts of a document."""

    def __init__(self, package: Package, writer: TextWriter) -> None:
        self._package = package
        self._writer = writer
        self._body = package.xml(package.main)
        self._roots = [self._body]  # of the parts that were read
        self._relations = package.related(package.main)
        self._headings, self._hidden = _styles(self._part("style"))
        self._hides = bool(self._hidden) or next(self._body.iter(f"{_W}vanish"), None) is not None
        self._notes = {
            (kind, note.get(f"{_W}id", "")): note
            for kind in _NOTES.values()
            for note in self._part(kind).iter(f"{_W}{kind}")
        }
        self._asides: deque[Element] = deque()
        """What the paragraphs that were read last have beside their text."""

    def write_body(self) -> None:
        """Write the blocks at the top level and in content controls, each with its notes and text boxes."""
        for block in self._blocks(self._body):
            self._write(block)
            self._write_asides()

    def write_rest(self) -> None:
        """Write the notes that nothing refers to, and what stands above and below the pages, each text once."""
        self._asides.extend(self._notes.values())
        self._write_asides()
        pages = [name for kind in ("header", "footer") for name in self._package.parts(self._package.main, kind)]
        self._writer.page_texts(map(self._page_text, pages))
        notes = [name for kind in _NOTES.values() for name in self._package.parts(self._package.main, f"{kind}s")]
        for part in (self._package.main, *notes, *pages):
            self._package.omit_links(part, self._writer)
        for part in self._package.parts(self._package.main, "numbering"):
            with suppress(Unreadable):
                labels = b" ".join(filter(WORDS.search, _LABEL.findall(self._package.data(part))))
                self._writer.omit("label of a list", unescape(labels.decode(errors="replace")))
        for root in self._roots:
            for code in (each for tag in (f"{_W}instrText", f"{_W}fldSimple") for each in root.iter(tag)):
                said = _FORMAT.sub("", code.get(f"{_W}instr") or code.text or "")
                addresses = ADDRESS.findall(said)
                self._writer.omit("address of a link", "".join(addresses))
                if not _INDEX_ENTRY.match(said):
                    others = (text for text in _QUOTED.findall(said) if text not in addresses)
                    self._writer.omit("text in a field", "".join(others))
            for each, kind in ((each, kind) for tag, kind in _OF_FIELDS.items() for each in root.iter(tag)):
                self._writer.omit(kind, each.get(f"{_W}displayText") or each.get(f"{_W}value") or _value(each))
            for field in root.iter(f"{_W}textInput"):
                if default := _value(field.find(f"{_W}default")):
                    self._writer.omit("default of a field", default)
        for part in self._package.parts(self._package.main, "glossaryDocument"):
            texts = self._package.part(part, self._writer).iter(f"{_W}t")
            self._writer.omit("building block", "".join(text.text or "" for text in texts))

    def _part(self, kind: str) -> Element:
        names = self._package.parts(self._package.main, f"{kind}s")
        root = self._package.part(names[0], self._writer) if names else Element("absent")
        self._roots += [root] if names and kind in _NOTES.values() else []
        return root

    def _blocks(self, root: Element) -> Iterator[Element]:
        """The blocks below an element, without those that tracked changes have deleted, which are counted."""
        for block in outermost(root, _BLOCKS | _DELETED):
            if block.tag in _DELETED:
                self._omit_deleted(block)
            else:
                yield block

    def _omit_deleted(self, element: Element) -> None:
        texts = (each.text or "" for each in element.iter() if each.tag in _DELETED_TEXT)
        self._writer.omit("deleted text", "".join(texts))

    def _write(self, block: Element) -> None:
        if block.tag == f"{_W}tbl":
            for name in ("tblCaption", "tblDescription"):
                for said in block.iter(f"{_W}{name}"):
                    self._writer.omit("description", _value(said))
            self._writer.table(table_rows(block, f"{_W}tr", f"{_W}tc", [f"{_W}p"], self._text))
            return
        style, text = _value(block.find(f"{_W}pPr/{_W}pStyle")), self._text(block)
        if style in self._hidden:
            self._writer.omit("hidden text", text)
        elif style in self._headings:
            self._writer.heading(text, level=2 if style[-1:] in set("23456789") else 1)  # Heading2 … of Word
        elif block.find(f"{_W}pPr/{_W}numPr") is not None or "list" in style.lower():
            self._writer.block(f"- {text}" if text.strip() else "", gap="\n")
        else:
            self._writer.block(text)

    def _write_asides(self) -> None:
        while self._asides:
            aside = self._asides.popleft()
            if aside.tag in _NOTES:
                aside = self._notes.pop((_NOTES[aside.tag], aside.get(f"{_W}id", "")), aside)
            if aside.tag == _WORD_ART:
                self._writer.block(aside.get("string", ""))
            elif aside.tag == f"{A}p":
                self._writer.block(text_of(aside))
            elif aside.tag in GRAPHICS:
                self._writer.block(self._package.graphic(aside, self._relations, self._writer))
            elif aside.tag == f"{_W}comment":
                self._writer.remark(aside.get(f"{_W}author", ""), lines(map(self._text, aside.iter(f"{_W}p"))))
            else:
                for block in self._blocks(aside):
                    self._write(block)

    def _page_text(self, part: str) -> str:
        """The text of a header or a footer, with that of its text boxes and its watermark."""
        self._roots.append(root := self._package.part(part, self._writer))
        texts = [self._text(paragraph) for paragraph in root.iter(f"{_W}p")]
        self._asides.clear()
        return lines(texts + [art.get("string", "") for art in root.iter(_WORD_ART)])

    def _text(self, paragraph: Element) -> str:
        """The runs of a paragraph, in order."""
        parts: list[str] = []
        stack = [paragraph]
        while stack:
            element = stack.pop()
            tag = element.tag
            if tag in _RUN_TEXT:
                parts.append(element.text or "")
            elif tag in _SIGNS:
                parts.append(_SIGNS[tag])
                stack.extend(reversed(element))
            elif tag in _ASIDES:
                self._asides.append(element)
            elif tag in _DELETED:
                self._omit_deleted(element)
            elif tag in _PICTURES:
                self._writer.omit("picture")
            elif tag == _RUN and self._hides and self._is_hidden(element):
                self._writer.omit("hidden text", "".join(each.text or "" for each in element.iter(f"{_W}t")))
            elif tag == _INSTRUCTION:
                if entry := _INDEX_ENTRY.match(element.text or ""):
                    self._writer.omit("index entry", entry[1])
            elif tag in _HELP:
                self._writer.omit("tooltip", _value(element))
            elif tag == _CHOICE:
                parts.append(_chosen(element))
            elif tag == _SYMBOL:
                parts.append(self._symbol(element))
            elif tag == _RUBY:
                base, reading = (element.find(f"{_W}{name}") for name in ("rubyBase", "rt"))
                parts += [
                    self._text(base) if base is not None else "",
                    f"({self._text(reading)})" if reading is not None else "",
                ]
            elif tag not in _FORMATS:
                if tag in _DESCRIPTIONS:
                    omit_description(element, _DESCRIPTIONS[tag], self._writer)
                elif tag == _LINK and (tooltip := element.get(f"{_W}tooltip", "")):
                    self._writer.omit("tooltip", tooltip)
                stack.extend(reversed(element))
        return "".join(parts)

    def _symbol(self, element: Element) -> str:
        """A character of a font; of fonts of pictograms none."""
        try:
            code = int(element.get(f"{_W}char", ""), 16)
        except ValueError:
            code = _PRIVATE_USE.start
        if code not in _PRIVATE_USE and code < 0x110000:
            return chr(code)
        if element.get(f"{_W}font") == "Symbol":
            return chr(code - 0xF000).translate(_GREEK)
        self._writer.omit("symbol")
        return ""

    def _is_hidden(self, run: Element) -> bool:
        vanish = run.find(f"{_W}rPr/{_W}vanish")
        if vanish is not None:
            return _value(vanish) not in _OFF
        return _value(run.find(f"{_W}rPr/{_W}rStyle")) in self._hidden


def _chosen(field: Element) -> str:
    """The entry that a form field shows: the chosen one, else the default, else the first."""
    entries = [_value(entry) for entry in field.iter(f"{_W}listEntry")]
    number = _value(field.find(f"{_W}result")) or _value(field.find(f"{_W}default")) or "0"
    return "".join(entries[int(number) :][:1]) if number.isdecimal() else ""


def _value(element: Element | None) -> str:
    """The w:val attribute; "" for None and for an element without one."""
    return element.get(f"{_W}val", "") if element is not None else ""


def _styles(styles: Element) -> tuple[frozenset[str], frozenset[str]]:
    """Ids of the paragraph styles called "heading 1" … "Title" and of those based on them; and of hidden styles."""
    names: dict[str, str] = {}
    parents: dict[str, str] = {}
    hidden = set()
    for style in styles.iter(f"{_W}style"):
        identity = style.get(f"{_W}styleId", "")
        names[identity], parents[identity] = _value(style.find(f"{_W}name")), _value(style.find(f"{_W}basedOn"))
        vanish = style.find(f"{_W}rPr/{_W}vanish")
        if vanish is not None and _value(vanish) not in _OFF:
            hidden.add(identity)
    headings = frozenset(identity for identity, name in names.items() if _HEADING.match(name))
    below = {identity for identity, parent in parents.items() if parent and parent in headings}
    return headings | below, frozenset(hidden)
