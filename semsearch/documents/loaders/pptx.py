"""PowerPoint: the text of every slide with its notes, slides as pages, their titles as headings.

Source: ECMA-376 part 1, section 19 (PresentationML) and 21 (DrawingML). Read with the standard library, as Word
documents are: python-pptx needs four other packages. Text in charts, diagrams and images, and of layouts and masters,
is left out.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from semsearch.documents.parsing.records import Fields
from semsearch.documents.parsing.text_writer import TextWriter
from semsearch.documents.parsing.zipped_xml import Archive, outermost, table_rows
from semsearch.errors import Unreadable
from semsearch.types import Document

ISOLATED = True
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_SHAPES = {f"{_P}sp", f"{_A}tbl"}
_FALLBACK = {"{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
_TITLES = {"title", "ctrTitle"}
_FURNITURE = {"dt", "ftr", "hdr", "sldNum", "sldImg"}  # date, footer, header, number, picture of the slide
_MAIN = "ppt/presentation.xml"


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document, titled as in its properties, else by its first slide. Raises Unreadable if it is damaged."""
    writer = TextWriter()
    with Archive(path, "PPTX") as archive:
        title, metadata = archive.properties("docProps/core.xml")
        targets = _related(archive, _MAIN)
        for number, entry in enumerate(archive.xml(_MAIN).iter(f"{_P}sldId"), start=1):
            slide = targets.get(entry.get(_ID, ""))
            if slide is None:
                raise Unreadable(f"not a readable PPTX: it has no slide {number}")
            writer.new_page(number)
            _write(archive.xml(slide), writer)
            for notes in _related(archive, slide).values():
                if posixpath.basename(notes).startswith("notesSlide"):
                    _write(archive.xml(notes), writer)
    yield writer.document(title, metadata)


def _related(archive: Archive, member: str) -> dict[str, str]:
    """The members that `member` refers to, by id."""
    folder, name = posixpath.split(member)
    relations = archive.optional_xml(f"{folder}/_rels/{name}.rels")
    return {
        each.get("Id", ""): posixpath.normpath(posixpath.join(folder, each.get("Target", ""))).lstrip("/")
        for each in relations
        if each.get("TargetMode") != "External"
    }


def _write(slide: Element, writer: TextWriter) -> None:
    """The title of the slide first, wherever it stands among the shapes."""
    shapes = list(outermost(slide, _SHAPES, _FALLBACK))
    for shape in sorted(shapes, key=lambda each: _kind(each) not in _TITLES):
        if shape.tag == f"{_A}tbl":
            writer.table(table_rows(shape, f"{_A}tr", f"{_A}tc", [f"{_A}p"], _text))
        elif _kind(shape) in _TITLES:
            writer.heading(" ".join(map(_text, shape.iter(f"{_A}p"))))
        elif _kind(shape) not in _FURNITURE:
            writer.block("\n".join(filter(str.strip, map(_text, shape.iter(f"{_A}p")))))


def _kind(shape: Element) -> str:
    """The type of the placeholder that a shape fills; "" for none."""
    holder = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
    return holder.get("type", "") if holder is not None else ""


def _text(paragraph: Element) -> str:
    """The runs and fields of a paragraph; a:br is a line break, a tab is itself."""
    return "".join(
        "\n" if each.tag == f"{_A}br" else (each.text or "")
        for each in paragraph.iter()
        if each.tag in (f"{_A}t", f"{_A}br")
    )
