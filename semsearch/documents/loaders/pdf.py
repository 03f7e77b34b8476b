"""PDF: the text of every page, with pages as marks, and headings from the outline where the page shows them.

Words hyphenated at the end of a line are joined, unless the document has them with the hyphen elsewhere. The text of
pages without one is recognised if `Fields.ocr` names languages; else a scan is refused, with the option that reads it.
PDFium is not thread-safe, so one file is read at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from semsearch.documents.parsing import ocr
from semsearch.documents.parsing.charset import newlines
from semsearch.documents.parsing.records import Fields, Heartbeat, imported
from semsearch.documents.parsing.text_writer import MOST_HEADING, TextWriter
from semsearch.errors import Unreadable
from semsearch.types import Document, JsonObject, Mark
from semsearch.utils.quantities import count

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

ISOLATED = True
MOST_BROKEN = 1000  # numbers of unreadable pages in the metadata
_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_BROKEN_WORD = re.compile(
    r"\b(\w++)(?:[\x02\ufffe]|[-\u00ad\u2010]\n)(?=(\w+))"
)  # PDFium joins lines with \x02 or \ufffe
_COMPOUND = re.compile(r"\b\w++[-\u2010]\w+")
_NO_TEXT = "no text in this PDF (a scan?): `index --ocr eng` recognises it, or `ocrmypdf FILE FILE` adds it"
_PLACEHOLDERS = {"untitled", "untitled document", "unknown"}  # titles written by programs
_PDFIUM_LOCK = Lock()
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")  # characters of symbol fonts, without a meaning


def load(path: Path, fields: Fields) -> Iterator[Document | Heartbeat]:
    """One document. Raises Unreadable if it is damaged, encrypted or without text, or pypdfium2 is missing."""
    with _PDFIUM_LOCK:
        yield from _read(path, fields.ocr)


def _read(path: Path, languages: str | None) -> Iterator[Document | Heartbeat]:
    pdfium = imported("pypdfium2", "needs pypdfium2", "docs")
    try:
        pdf = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD_ERROR:
            raise Unreadable("encrypted PDF: it needs a password") from error
        raise Unreadable(f"not a readable PDF: {error}") from error
    try:
        pages, broken = _pages(pdf, pdfium.PdfiumError)
        for number, text in enumerate(pages if languages else ()):
            if not text.strip() and number + 1 not in broken:
                pages[number] = ocr.text_of(pdf[number], languages or "")
                yield Heartbeat()
        metadata: JsonObject = {"author": author} if (author := _property(pdf, "Author")) else {}
        title, outline = _title(pdf), _outline(pdf)
    finally:
        pdf.close()
    text, marks = _joined(pages, outline)
    if not text and broken:
        raise Unreadable(f"not a readable PDF: none of its {count(len(pages), 'page')} can be read")
    if not text:
        raise Unreadable(_NO_TEXT if languages is None else f"no text in this PDF, and none recognised ({languages})")
    if broken:
        metadata["unreadable_pages"] = broken[:MOST_BROKEN]
    yield Document("", text, metadata, title or None, marks)


def _pages(pdf: PdfDocument, error_type: type[Exception]) -> tuple[list[str], list[int]]:
    """The raw text of every page, and the numbers of the pages that PDFium cannot read."""
    texts, broken = [], []
    for number in range(1, len(pdf) + 1):
        try:
            page = pdf[number - 1]
            text_page = page.get_textpage()
            texts.append(newlines(text_page.get_text_bounded()))
            text_page.close()
            page.close()
        except error_type:
            texts.append("")
            broken.append(number)
    return texts, broken


def _joined(pages: list[str], outline: dict[int, list[str]]) -> tuple[str, tuple[Mark, ...]]:
    compounds = {word.lower() for page in pages for word in _COMPOUND.findall(page)}
    writer = TextWriter()
    for number, page in enumerate(pages, start=1):
        writer.page(number, _CONTROL.sub(" ", _mend(page, compounds)))
    text, marks = writer.finish()
    return text, tuple(_with_headings(text, marks, outline))


def _with_headings(text: str, pages: tuple[Mark, ...], outline: dict[int, list[str]]) -> Iterator[Mark]:
    """The marks of the pages, and one for each entry of the outline that is found in the text of its page, in order."""
    heading: str | None = None
    ends = [mark.start for mark in pages[1:]] + [len(text)]
    for mark, end in zip(pages, ends, strict=True):
        places = {mark.start: heading}
        at = mark.start
        for title in outline.get(mark.page or 0, []):
            spaced = re.compile(r"\s+".join(map(re.escape, title.split())), re.I)
            if match := spaced.search(text, at, end):
                at, heading = match.start(), title
                places[at] = title
        yield from (Mark(start, mark.page, name) for start, name in places.items())


def _mend(page: str, compounds: set[str]) -> str:
    def join(match: re.Match[str]) -> str:
        first, second = match.groups()
        whole = second[:1].islower() and f"{first}-{second}".lower() not in compounds
        return first if whole else f"{first}-"

    return _BROKEN_WORD.sub(join, page)


def _outline(pdf: PdfDocument) -> dict[int, list[str]]:
    """The titles of the outline by page number, from 1; {} for a damaged outline."""
    titles: dict[int, list[str]] = {}
    try:
        for bookmark in pdf.get_toc(max_depth=6):
            target, title = bookmark.get_dest(), " ".join(bookmark.get_title()[:MOST_HEADING].split())
            page = target.get_index() if target else None
            if title and page is not None:
                titles.setdefault(page + 1, []).append(title)
    except Exception:  # pypdfium2 raises anything for a broken outline, which must not cost the text
        return {}
    return titles


def _title(pdf: PdfDocument) -> str:
    """The title in the properties, unless it is a placeholder."""
    title = _property(pdf, "Title")
    return "" if title.casefold() in _PLACEHOLDERS else title


def _property(pdf: PdfDocument, name: str) -> str:
    try:
        return " ".join(str(pdf.get_metadata_dict().get(name) or "").split())
    except Exception:  # broken metadata must not cost the text
        return ""
