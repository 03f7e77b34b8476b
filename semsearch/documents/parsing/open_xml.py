"""Office Open XML (DOCX, PPTX, XLSX): the parts of a file by their relations, and the text in its drawings.

Source: ECMA-376 part 1 (DrawingML, charts, diagrams), part 2 (relations) and part 3 (alternatives); ISO/IEC 29500 part
1 for the namespaces of Strict files, which are read as the Transitional ones.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from semsearch.documents.parsing.records import Enclosed
from semsearch.documents.parsing.text_writer import MOST_PROPERTY, TextWriter, on_one_line
from semsearch.documents.parsing.zipped_xml import Archive, outermost
from semsearch.documents.suffixes import LOADERS
from semsearch.errors import Unreadable
from semsearch.types import JsonObject

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_LABELS = [f"{_CHART}{name}" for name in ("strCache", "strLit", "multiLvlStrCache")]
WORDS = re.compile(rb"[A-Za-z\x80-\xff]{4}")  # that a label or the format of a number has beside signs
_CHART_NUMBERS = [f"{_CHART}numCache", f"{_CHART}numLit"]
_CHART_EX = "{http://schemas.microsoft.com/office/drawing/2014/chartex}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_STRICT = re.compile(rb"""(\bxmlns(?::[\w.-]+)?\s*=\s*["'])http://purl\.oclc\.org/ooxml/(\w+)/""")
_REFERENCES = {f"{_CHART}chart": f"{R}id", f"{_CHART_EX}chart": f"{R}id", _DIAGRAM: f"{R}dm"}
_EMBEDDED = {"aFChunk", "oleObject", "package"}
_OWN_PROPERTIES = {"extendedproperties": "docProps/app.xml", "customproperties": "docProps/custom.xml"}
_OF_PROGRAM = "{http://schemas.openxmlformats.org/officeDocument/2006/extended-properties}"
_PEOPLE = {f"{_OF_PROGRAM}Manager": "Manager", f"{_OF_PROGRAM}Company": "Company"}
GRAPHICS = frozenset(_REFERENCES)
"""Elements that stand for a chart or a diagram, which is a part of its own."""
FORMULAS = (f"{_MATH}oMathPara", f"{_MATH}oMath")
FORMULA_TEXT = f"{_MATH}t"
FORMULA_SIGNS = {f"{_MATH}den": "/", f"{_MATH}sup": "^", f"{_MATH}sub": "_", f"{_MATH}mr": " "}
"""What stands before a part of a formula that is written in one line, as in a/b."""


class Relation(NamedTuple):
    """What a part refers to: its kind, such as "header", and the name of the part."""

    kind: str
    part: str


class Package(Archive):
    """One file. `main` is its main part, such as word/document.xml."""

    def __init__(self, path: Path, kind: str, main: str) -> None:
        super().__init__(path, kind)
        self._related: dict[str, dict[str, Relation]] = {}
        of_file = {relation.kind: relation.part for relation in self.related("").values()}
        self.main = next(filter(self.has, [of_file.get("officeDocument", main)]), main)
        self._properties = of_file.get("core-properties", "docProps/core.xml")
        kinds = {kind.lower().replace("-", ""): part for kind, part in of_file.items()}
        self._own = [kinds.get(kind, usual) for kind, usual in _OWN_PROPERTIES.items()]

    def data(self, member: str) -> bytes:
        """The content of a member, in the namespaces of Transitional files."""
        data = super().data(member)
        if b"purl.oclc.org/ooxml" in data:
            return _STRICT.sub(rb"\1http://schemas.openxmlformats.org/\2/2006/", data)
        return data

    def xml(self, member: str) -> Element:
        """The root element of a member. Of alternatives, which show the same in newer and older programs, the first one
        that has a text, a chart or a diagram.
        """
        root = super().xml(member)
        for alternatives in list(root.iter(_ALTERNATIVES)):
            alternatives[:] = [next(filter(_shows_text, alternatives), alternatives[0])] if len(alternatives) else []
        return root

    def title_and_properties(self) -> tuple[str, JsonObject]:
        """As `properties`, in the members that have them."""
        title, about = self.properties(self._properties)
        own = {name: text for part in self._own for name, text in _own_properties(self.optional_xml(part))}
        own = about.get("properties", {}) | own
        return title, about | ({"properties": own} if own else {})

    def related(self, part: str) -> dict[str, Relation]:
        """What a part refers to within the file, by id; "" stands for the file as a whole."""
        if part in self._related:
            return self._related[part]
        folder, name = posixpath.split(part)
        relations = self.optional_xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        self._related[part] = {
            each.get("Id", ""): Relation(_kind(each), self._resolved(folder, each.get("Target", "")))
            for each in relations
            if each.get("TargetMode") != "External"
        }
        return self._related[part]

    def omit_links(self, part: str, writer: TextWriter) -> None:
        """Count the addresses beyond the file that links of a part lead to."""
        folder, name = posixpath.split(part)
        for each in self.part(posixpath.join(folder, "_rels", f"{name}.rels"), writer):
            if each.get("TargetMode") == "External" and _kind(each) == "hyperlink":
                writer.omit("address of a link", unquote(each.get("Target", "")))

    def parts(self, part: str, kind: str) -> list[str]:
        """The parts of a kind that a part refers to; where there are no relations, those beside it with such names."""
        if related := self.related(part):
            return [relation.part for relation in related.values() if relation.kind == kind]
        beside = re.compile(rf"{re.escape(posixpath.dirname(part))}/{kind}\d*\.xml")
        return sorted(filter(beside.fullmatch, self.names()))

    def part(self, member: str, writer: TextWriter) -> Element:
        """The root element of a part that is not the main one; an empty one, and an omission, for a damaged one."""
        try:
            return self.optional_xml(member)
        except Unreadable:
            writer.omit("damaged part")
            return Element("absent")

    def enclosed(self, part: str, writer: TextWriter) -> list[Enclosed]:
        """The files within the file to which a part refers, where a loader can read them."""
        files = []
        for kind, member in self.related(part).values():
            if kind == "customXml":  # what content controls show of it is read
                writer.omit("custom XML data", "".join(self.part(member, writer).itertext()))
            if kind not in _EMBEDDED or not self.has(member):
                continue
            name = posixpath.basename(member)
            if posixpath.splitext(name)[1].lower() in LOADERS:
                files.append(Enclosed(f"#{name}", name, self.data(member)))
            else:
                writer.omit("embedded object")
        return files

    def graphic(self, element: Element, relations: dict[str, Relation], writer: TextWriter) -> str:
        """The text of a chart or diagram: titles and labels, a line each. The numbers of a chart are left out."""
        relation = relations.get(element.get(_REFERENCES[element.tag], ""))
        if relation is None:
            return ""
        root = self.part(relation.part, writer)
        labels = [value for tag in _LABELS for cache in root.iter(tag) for value in cache.iter(f"{_CHART}v")]
        labels += [value for series in root.iter(f"{_CHART}tx") for value in series.findall(f"{_CHART}v")]
        labels += [value for axis in root.iter(f"{_CHART_EX}strDim") for value in axis.iter(f"{_CHART_EX}pt")]
        for numbers in (each for tag in _CHART_NUMBERS for each in root.iter(tag)):
            writer.omit("chart number", " ".join(value.text or "" for value in numbers.iter(f"{_CHART}v")))
        drawn: list[str] = []
        for kind, part in self.related(relation.part).values():
            if kind == "chartUserShapes":
                drawn += paragraphs(self.part(part, writer))
            elif kind in _EMBEDDED:
                writer.omit("embedded object")
        return lines([*paragraphs(root), *dict.fromkeys(label.text or "" for label in labels), *drawn])

    def _resolved(self, folder: str, target: str) -> str:
        target = target.replace("\\", "/")
        part = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        return part if self.has(part) else unquote(part)


def _own_properties(root: Element) -> Iterator[tuple[str, str]]:
    """The names and values of properties that people have added, and for whom the document was written."""
    for each in root:
        name = _PEOPLE.get(each.tag) or each.get("name", "")
        if name and (text := on_one_line("".join(each.itertext()), MOST_PROPERTY)):
            yield on_one_line(name), text


def _shows_text(alternative: Element) -> bool:
    return any(each.tag in GRAPHICS or (each.text and not each.text.isspace()) for each in alternative.iter())


def _kind(relation: Element) -> str:
    """The last word of its type; without one, the name of the part without its number."""
    target = posixpath.splitext(posixpath.basename(relation.get("Target", "")))[0]
    return posixpath.basename(relation.get("Type", "")) or target.rstrip("0123456789")


def omit_drawings(root: Element, space: str, writer: TextWriter) -> None:
    """Count the pictures below an element, and what shapes are said to show to who cannot see them."""
    for each in outermost(root, {f"{space}pic", f"{space}cNvPr"}):
        if each.tag == f"{space}cNvPr":
            omit_description(each, "description", writer)
        else:
            writer.omit("picture")
            omit_description(each.find(f".//{space}cNvPr"), "picture", writer)


def omit_description(element: Element | None, kind: str, writer: TextWriter) -> None:
    """Count the alternative text of an element, if it has one."""
    said = [element.get(name, "") for name in ("title", "descr", "alt")] if element is not None else []
    if any(said):
        writer.omit(kind, " ".join(said))


def paragraphs(root: Element) -> list[str]:
    """The paragraphs of DrawingML below an element."""
    return [text_of(paragraph) for paragraph in root.iter(f"{A}p")]


def text_of(paragraph: Element) -> str:
    """The runs, fields and formulas of a paragraph of DrawingML; a:br is a line break, a tab is itself."""
    parts = []
    for each in paragraph.iter():
        if each.tag in (f"{A}t", FORMULA_TEXT):
            parts.append(each.text or "")
        elif each.tag == f"{A}br":
            parts.append("\n")
        elif each.tag in FORMULA_SIGNS:
            parts.append(FORMULA_SIGNS[each.tag])
    return "".join(parts)


def lines(texts: Iterable[str]) -> str:
    """Texts without the blank ones, a line each."""
    return "\n".join(filter(str.strip, texts))
