"""PowerPoint: the text of every slide with its charts, diagrams, notes and comments; slides as pages, their titles as
headings.

Source: ECMA-376 part 1, section 19 (PresentationML) and 21 (DrawingML). Read with the standard library, as Word
documents are: python-pptx needs four other packages. What many slides share, as footers and the text of a layout,
stands at the end once. Numbers and dates of slides are left out, and the numbers of charts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from semsearch.documents.parsing.open_xml import GRAPHICS, A, Package, R, lines, omit_drawings, paragraphs, text_of
from semsearch.documents.parsing.records import Enclosed, Fields
from semsearch.documents.parsing.text_writer import TextWriter
from semsearch.documents.parsing.zipped_xml import outermost, table_rows
from semsearch.errors import Unreadable
from semsearch.types import Document

ISOLATED = True
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_MODERN = "{http://schemas.microsoft.com/office/powerpoint/2018/8/main}"  # of comments
_SECTION = "{http://schemas.microsoft.com/office/powerpoint/2010/main}section"
_COMMENTS = (f"{_P}cm", f"{_MODERN}cm", f"{_MODERN}reply")
_SHAPES = {f"{_P}sp", f"{A}tbl", *GRAPHICS}
_LINK = f"{A}hlinkClick"
_TITLES = {"title", "ctrTitle"}
_ON_EACH_SLIDE = {"ftr", "hdr"}
_NUMBERS = {"dt", "sldNum", "sldImg"}  # date, number, picture of the slide


def load(path: Path, fields: Fields) -> Iterator[Document | Enclosed]:
    """One document, titled as in its properties, else by its first slide; and the files within it.

    Raises Unreadable if it is damaged or encrypted.
    """
    writer = TextWriter()
    with Package(path, "PPTX", "ppt/presentation.xml") as package:
        title, metadata = package.title_and_properties()
        targets = package.related(package.main)
        presentation = package.xml(package.main)
        entries = [entry.get(f"{R}id", "") for entry in presentation.iter(f"{_P}sldId")]
        for section in presentation.iter(_SECTION):
            writer.omit("name of a section", section.get("name", ""))
        slides = [
            targets[entry].part if entry in targets else f"slide {number}"
            for number, entry in enumerate(entries, start=1)
        ]
        reader = _Reader(package, writer)
        for number, slide in enumerate(slides, start=1):
            writer.new_page(number)
            reader.write_slide(slide)
        if slides and not any(map(package.has, slides)):
            raise Unreadable(f"not a readable PPTX: it has no {slides[0]}")
        reader.write_shared()
        files = [file for slide in slides for file in package.enclosed(slide, writer)]
    yield writer.document(title, metadata)
    yield from files


class _Reader:
    """One pass over the slides."""

    def __init__(self, package: Package, writer: TextWriter) -> None:
        self._package = package
        self._writer = writer
        self._shared: dict[str, None] = {}  # texts that several slides show, in order
        self._layouts: dict[str, None] = {}
        self._authors = {
            author.get("id", ""): author.get("name", "")
            for kind in ("commentAuthors", "authors")
            for part in package.parts(package.main, kind)
            for author in package.part(part, writer)
        }

    def write_slide(self, slide: str) -> None:
        """Write a slide, its notes and its comments."""
        if not self._package.has(slide):
            self._writer.omit("damaged part")
            return
        self._write(slide)
        for notes in self._package.parts(slide, "notesSlide"):
            self._write(notes)
        for part in self._package.parts(slide, "comments"):
            self._write_comments(self._package.part(part, self._writer))
        self._layouts |= dict.fromkeys(self._package.parts(slide, "slideLayout"))

    def write_shared(self) -> None:
        """Write footers, and what layouts and masters show on their slides, each text once."""
        masters = dict.fromkeys(
            master for layout in self._layouts for master in self._package.parts(layout, "slideMaster")
        )
        for part in [*self._layouts, *masters]:
            for shape in outermost(self._package.part(part, self._writer), {f"{_P}sp"}):
                if _holder(shape) is None:  # a placeholder has a text for who makes the slides
                    self._shared[lines(paragraphs(shape))] = None
        self._writer.new_part()
        for text in self._shared:
            self._writer.block(text)

    def _write(self, part: str) -> None:
        """The title of the slide first, wherever it stands among the shapes."""
        relations = self._package.related(part)
        root = self._package.part(part, self._writer)
        shapes = list(outermost(root, _SHAPES))
        for shape in sorted(shapes, key=lambda each: _kind(each) not in _TITLES):
            kind = _kind(shape)
            if shape.tag == f"{A}tbl":
                self._writer.table(table_rows(shape, f"{A}tr", f"{A}tc", [f"{A}p"], text_of))
            elif shape.tag in GRAPHICS:
                self._writer.block(self._package.graphic(shape, relations, self._writer))
            elif kind in _TITLES:
                self._writer.heading(" ".join(paragraphs(shape)))
            elif kind in _NUMBERS:
                self._writer.omit("slide number", lines(paragraphs(shape)))
            elif kind in _ON_EACH_SLIDE:
                self._shared[lines(paragraphs(shape))] = None
            else:
                self._writer.block(lines(paragraphs(shape)))
        self._package.omit_links(part, self._writer)
        omit_drawings(root, _P, self._writer)
        for link in root.iter(_LINK):
            if tooltip := link.get("tooltip", ""):
                self._writer.omit("tooltip", tooltip)

    def _write_comments(self, root: Element) -> None:
        for comment in (each for each in root.iter() if each.tag in _COMMENTS):
            body = comment.find(f"{_MODERN}txBody")
            text = comment.findtext(f"{_P}text") or (lines(paragraphs(body)) if body is not None else "")
            self._writer.remark(self._authors.get(comment.get("authorId", ""), ""), text)


def _holder(shape: Element) -> Element | None:
    """The placeholder that a shape fills."""
    return shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")


def _kind(shape: Element) -> str:
    """The type of the placeholder that a shape fills; "" for none."""
    holder = _holder(shape)
    return holder.get("type", "") if holder is not None else ""
