"""PDF: the text of every page, with pages as marks, and headings from the outline where the page shows them.

Words hyphenated at the end of a line are joined, unless the document has them with the hyphen elsewhere. Headers and
footers that many pages share are kept once, page numbers are left out. Values of forms, annotations and attached files
are read. The text of pages without one is recognised if `Fields.ocr` names languages; else a scan is refused, with the
option that reads it. PDFium is not thread-safe, so one file is read at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from threading import Lock
from typing import TYPE_CHECKING

from semsearch.documents.parsing import ocr, pdf_page
from semsearch.documents.parsing.records import Enclosed, Fields, Heartbeat, imported
from semsearch.documents.parsing.text_writer import MOST_HEADING, TextWriter, described
from semsearch.documents.suffixes import LOADERS
from semsearch.errors import Unreadable
from semsearch.types import Document, JsonObject, Mark
from semsearch.utils.quantities import count

if TYPE_CHECKING:
    from pypdfium2 import PdfAttachment, PdfDocument
    from pypdfium2.raw import FPDF_ATTACHMENT

ISOLATED = True
MOST_BROKEN = 1000  # numbers of pages in the metadata
EDGE = 2  # lines of a page that may be a header, or a footer
LINES_PER_EDGE = 3  # of a short page, as of a slide or a form, most is what it says
LEAST_PAGES = 4  # that share it
DENSITY = 0.4  # of the pages from the first with it to the last: it may stand on the left ones alone
_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_BROKEN_WORD = re.compile(
    r"\b(\w++)(?:[\x02\ufffe]|[-\u2010]\n|\u00ad\n?)(?=(\w+))"
)  # PDFium joins lines with \x02 or \ufffe
_NUMBER = re.compile(r"\b[0-9]{1,5}\b")
MOST_NUMBERS = 4  # of a line that may be the page's
_COMPOUND = re.compile(r"\b\w++[-\u2010]\w+")
_NO_TEXT = "no text in this PDF (a scan?): `index --ocr eng` recognises it, or `ocrmypdf FILE FILE` adds it"
_PLACEHOLDERS = {"untitled", "untitled document", "unknown"}  # titles written by programs
_PDFIUM_LOCK = Lock()
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff]")  # characters of symbol fonts, without a meaning


def load(path: Path, fields: Fields) -> Iterator[Document | Enclosed | Heartbeat]:
    """One document, and the files attached to it. Raises Unreadable if it is damaged, encrypted or without text, or
    pypdfium2 is missing.
    """
    files: list[Enclosed] = []
    with _PDFIUM_LOCK:
        yield from _read(path, fields.ocr, files)
    yield from files  # of which one may be a PDF


def _read(path: Path, languages: str | None, files: list[Enclosed]) -> Iterator[Document | Heartbeat]:
    pdfium = imported("pypdfium2", "needs pypdfium2", "docs")
    try:
        pdf = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD_ERROR:
            raise Unreadable("encrypted PDF: it needs a password") from error
        raise Unreadable(f"not a readable PDF: {error}") from error
    writer = TextWriter()
    try:
        within: list[FPDF_ATTACHMENT] = []
        pages, broken, textless = _pages(pdf, pdfium.PdfiumError, writer, within)
        for number in textless if languages else ():
            pages[number - 1] = ocr.text_of(pdf[number - 1], languages or "")
            yield Heartbeat()
        metadata: JsonObject = {
            name.lower(): text for name in ("Author", "Subject", "Keywords") if (text := _property(pdf, name))
        }
        title, outline = _title(pdf), _outline(pdf)
        attached = [pdf.get_attachment(number) for number in range(pdf.count_attachments())]
        attached += [pdfium.PdfAttachment(raw, pdf) for raw in within if raw]
        files += _attached(attached, pdfium.PdfiumError, writer)
    finally:
        pdf.close()
    text, marks = _joined(pages, outline, writer)
    if not text and files:
        yield Document("", "", metadata, title or None, omissions=writer.omissions)
        return
    if not text and broken:
        raise Unreadable(f"not a readable PDF: none of its {count(len(pages), 'page')} can be read")
    if not text:
        raise Unreadable(_NO_TEXT if languages is None else f"no text in this PDF, and none recognised ({languages})")
    if broken:
        metadata["unreadable_pages"] = broken[:MOST_BROKEN]
    if textless := [number for number in textless if not pages[number - 1].strip()]:
        metadata["pages_without_text"] = textless[:MOST_BROKEN]
        writer.omit("page without text (--ocr reads scans)")
    yield described(Document("", text, metadata, title or None, marks, omissions=writer.omissions))


def _pages(
    pdf: PdfDocument, error_type: type[Exception], writer: TextWriter, files: list[FPDF_ATTACHMENT]
) -> tuple[list[str], list[int], list[int]]:
    """The text of every page; the numbers of the pages that PDFium cannot read, and of those with pictures alone. The
    `files` that are on pages are added to the list.
    """
    texts, added, broken, textless = [], [], [], []
    pdf_page.begin(pdf, writer)
    for number in range(1, len(pdf) + 1):
        try:
            page = pdf[number - 1]
            text, more = pdf_page.text_of(page, writer), pdf_page.added_to(page, pdf, writer, files)
            if not (text.strip() or more) and pdf_page.has_objects(page):
                textless.append(number)
            page.close()
        except error_type:
            text = more = ""
            broken.append(number)
        texts.append(text)
        added.append(more)
    texts = _without_repeated_lines(texts, writer)
    return ["\n".join(filter(None, page)) for page in zip(texts, added, strict=True)], broken, textless


def _without_repeated_lines(pages: list[str], writer: TextWriter) -> list[str]:
    """Pages without their numbers, and without the headers and footers that stand on a page before."""
    lines = [page.split("\n") for page in pages]
    places: dict[str, list[int]] = {}  # of a line: the pages with it at an edge
    for number, page in enumerate(lines):
        for form in {form for at in _edges(page) for form in _forms(page[at], number)}:
            places.setdefault(form, []).append(number)
    repeated = {line for line, at in places.items() if len(at) >= LEAST_PAGES and len(at) > DENSITY * (at[-1] - at[0])}
    seen: set[str] = set()
    for number, page in enumerate(lines):
        for at in reversed(_edges(page)):
            forms = repeated.intersection(_forms(page[at], number))
            is_number = not any(map(str.isalpha, page[at]))
            if forms and (is_number or forms & seen):
                writer.omit("page number" if is_number else "header or footer", page.pop(at))
            seen |= forms
    return ["\n".join(page) for page in lines]


def _edges(page: list[str]) -> list[int]:
    """The places of the first and the last lines that are not blank; of a page with few lines fewer of them."""
    lines = [at for at, line in enumerate(page) if line.strip()]
    edge = min(EDGE, len(lines) // LINES_PER_EDGE)
    return sorted({*lines[:edge], *lines[len(lines) - edge :]})


def _forms(line: str, page: int) -> Iterator[str]:
    """A line as it is, and with each of its numbers as the distance to that of its page: one may be the page's own."""
    yield line.strip()
    for match in list(_NUMBER.finditer(line))[:MOST_NUMBERS]:
        yield f"{line[: match.start()]}#{int(match[0]) - page}{line[match.end() :]}".strip()


def _attached(attachments: list[PdfAttachment], error_type: type[Exception], writer: TextWriter) -> list[Enclosed]:
    """The files within the file that a loader can read, each once: several pages may have the same."""
    files: dict[tuple[str, bytes], None] = {}
    for attachment in attachments:
        try:
            name = PurePath(attachment.get_name().replace("\\", "/")).name
            content = bytes(attachment.get_data()) if PurePath(name).suffix.lower() in LOADERS else b""
        except error_type:  # a file that is only named, or is empty
            content = b""
        if content:
            files[name, content] = None
        else:
            writer.omit("embedded object")
    return [Enclosed(f"#{name}", name, content) for name, content in files]


def _joined(pages: list[str], outline: dict[int, list[str]], writer: TextWriter) -> tuple[str, tuple[Mark, ...]]:
    compounds = {word.lower() for page in pages for word in _COMPOUND.findall(page)}
    for number, page in enumerate(pages, start=1):
        writer.page(number, _CONTROL.sub(" ", _mend(page, compounds)))
    text, marks = writer.finish()
    return text, tuple(_with_headings(text, marks, outline, writer))


def _with_headings(
    text: str, pages: tuple[Mark, ...], outline: dict[int, list[str]], writer: TextWriter
) -> Iterator[Mark]:
    """The marks of the pages, and one for each entry of the outline that is found in the text of its page, in order;
    the other entries are counted.
    """
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
            else:
                writer.omit("outline entry", title)
        yield from (Mark(start, mark.page, name) for start, name in places.items())
    for title in (title for page, titles in outline.items() if not 0 < page <= len(pages) for title in titles):
        writer.omit("outline entry", title)


def _mend(page: str, compounds: set[str]) -> str:
    def join(match: re.Match[str]) -> str:
        first, second = match.groups()
        whole = second[:1].islower() and f"{first}-{second}".lower() not in compounds
        return first if whole else f"{first}-"

    return _BROKEN_WORD.sub(join, page)


def _outline(pdf: PdfDocument) -> dict[int, list[str]]:
    """The titles of the outline by page number, from 1, or 0 for none; {} for a damaged outline."""
    titles: dict[int, list[str]] = {}
    try:
        for bookmark in pdf.get_toc():
            target, title = bookmark.get_dest(), " ".join(bookmark.get_title()[:MOST_HEADING].split())
            page = target.get_index() if target else None
            if title:
                titles.setdefault(0 if page is None else page + 1, []).append(title)
    except Exception:  # pypdfium2 raises anything for a broken outline, which must not cost the text
        return {}
    return titles


def _title(pdf: PdfDocument) -> str:
    """The title in the properties, unless it is a placeholder."""
    title = _property(pdf, "Title")
    return "" if title.casefold() in _PLACEHOLDERS else title


def _property(pdf: PdfDocument, name: str) -> str:
    try:
        return " ".join((pdf.get_metadata_value(name) or "").split())
    except Exception:  # broken metadata must not cost the text
        return ""
