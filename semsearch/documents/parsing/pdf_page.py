"""One page of a PDF: the text that it shows, and what has been written into its forms or about it.

Source: ISO 32000-1, 12.5 (annotations) and 12.7 (forms), by PDFium. Text beyond the crop box, which no program shows,
is left out letter by letter: PDFium takes letters that the box only touches, and mixes the lines at its edge.
"""

from __future__ import annotations

import ctypes
import re
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from semsearch.documents.parsing.charset import newlines
from semsearch.documents.parsing.text_writer import TextWriter, remark

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage
    from pypdfium2.raw import FPDF_ANNOTATION, FPDF_ATTACHMENT

_LINK, _FREE_TEXT, _FILE, _WIDGET = 2, 3, 17, 20  # subtypes of annotations
_REMARKS = {1, *range(4, 16), *range(_FILE, 20), 21, 25, 26, 28}  # notes, marked text, drawings; files, films
_PASSWORD = 1 << 13  # a flag of a field
LEAST_ROWS = 8  # that stand in columns
LEAST_GAP = 12.0  # points between columns: no line of prose is justified that far
MOST_COLUMNS = 8
FILLED = 0.6  # of a column's width is a line of prose
_SHOWN = re.compile(r"\(((?:[^()\\]|\\.)*)\)\s*(?:Tj|'|\")")  # what a drawing of a button writes
_SIDES = tuple(ctypes.c_double() for _ in range(4))  # for one thread, as PDFium is: made anew they took half the time
_XFA = 2  # a form as a program of its own, which PDFium does not run
_ENDS = 2  # bytes of the NUL


def begin(pdf: PdfDocument, writer: TextWriter) -> None:
    """Make the values of the document's forms readable, before its first page is read."""
    kind = pdf.get_formtype()
    if kind:
        pdf.init_forms()
    if kind == _XFA:
        writer.omit("XFA form")


def text_of(page: PdfPage, writer: TextWriter) -> str:
    """What the page shows."""
    text_page = page.get_textpage()
    try:
        shown: str = text_page.get_text_bounded()
        if len(shown) != text_page.count_chars():
            whole = text_page.get_text_range()
            if _ink(shown) != _ink(whole):
                return _within(text_page, page.get_bbox(), writer)
            shown = whole
        return newlines(_by_columns(text_page, shown) if len(shown) == text_page.count_chars() else shown)
    finally:
        text_page.close()


def added_to(page: PdfPage, pdf: PdfDocument, writer: TextWriter, files: list[FPDF_ATTACHMENT]) -> str:
    """The values of forms on the page and the annotations that have a text, each a block; the `files` in annotations
    are added to those before.
    """
    import pypdfium2.raw as pdfium

    blocks = []
    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        if kind == _FILE:
            files.append(pdfium.FPDFAnnot_GetFileAttachment(annotation))
        if kind == _WIDGET and pdf.formenv is not None:
            blocks.append(_value(annotation, pdf))
            _omit_of_field(annotation, pdf, blocks[-1], writer)
        elif kind == _FREE_TEXT:
            blocks.append(_string(annotation, b"Contents"))
        elif kind == _LINK:
            writer.omit("tooltip", _string(annotation, b"Contents"))
            writer.omit("address of a link", _address(annotation, pdf))
        elif kind in _REMARKS and (text := _string(annotation, b"Contents")):
            blocks.append(remark(_string(annotation, b"T"), text))
        pdfium.FPDFPage_CloseAnnot(annotation)
    return "\n".join(dict.fromkeys(filter(None, blocks)))


def has_objects(page: PdfPage) -> bool:
    """Whether anything is drawn on the page."""
    import pypdfium2.raw as pdfium

    return bool(pdfium.FPDFPage_CountObjects(page))


def _within(text_page: PdfTextPage, box: tuple[float, float, float, float], writer: TextWriter) -> str:
    """The letters whose centre is within a box (left, bottom, right, top)."""
    import pypdfium2.raw as pdfium

    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    raw = text_page.raw
    kept, beyond = [], []
    for at in range(text_page.count_chars()):
        letter = chr(pdfium.FPDFText_GetUnicode(raw, at))
        if not letter.isspace():
            pdfium.FPDFText_GetCharBox(raw, at, left, right, bottom, top)
            x, y = (left.value + right.value) / 2, (bottom.value + top.value) / 2
            if not (box[0] <= x <= box[2] and box[1] <= y <= box[3]):
                beyond.append(letter)
                continue
        kept.append(letter)
    writer.omit("text beyond the page", "".join(beyond))
    lines = "".join(kept).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").splitlines()
    return "\n".join(line.strip() for line in lines if line.strip())


def _by_columns(text_page: PdfTextPage, text: str) -> str:
    """The text, column by column where a program has written it line by line across the columns of the page."""
    middle = text.find("\r\n", len(text) // 2) + 2
    if not _gaps(text_page, text, middle, max(middle, text.find("\r\n", middle))):
        return text
    places, at = [], 0
    for line in text.split("\r\n"):
        places.append((at, at + len(line)))
        at += len(line) + 2
    gaps = [_gaps(text_page, text, *place) for place in places]
    begin = min(_box(text_page, start)[0] for start, end in places if start < end)
    gutters = _gutters([gap for line in gaps for gap in line], begin)
    if not gutters:
        return text
    lines: list[str] = []
    columns: list[list[str]] = [[] for _ in range(len(gutters) + 1)]
    for (start, end), wide in zip(places, gaps, strict=True):
        cuts = [gap.at for gap in wide if any(gap.left <= gutter <= gap.right for gutter in gutters)]
        for at, stop in zip([start, *(cut + 1 for cut in cuts)], [*cuts, end], strict=True):
            column = bisect_left(gutters, _box(text_page, at)[0]) if at < stop else 0
            if at < stop and column < len(gutters) and _box(text_page, stop - 1)[1] > gutters[column]:
                lines += [line for written in columns for line in written]  # above a line across the columns
                columns = [[] for _ in columns]
                lines.append(text[at:stop])
            else:
                columns[column].append(text[at:stop])
    return "\n".join(lines + [line for written in columns for line in written])


def _gutters(gaps: list[_Gap], begin: float) -> list[float]:
    """The places between columns, from the left; [] where the cells of a table are shorter than its columns are wide.

    begin: where the first column begins.
    """
    rows: dict[float, list[_Gap]] = {}
    while gaps and len(rows) < MOST_COLUMNS:
        open_, most, gutter = 0, 0, 0.0
        for place, opens in sorted([(gap.left, -1) for gap in gaps] + [(gap.right, 1) for gap in gaps]):
            open_ -= opens
            if open_ > most:
                most, gutter = open_, place
        if most < LEAST_ROWS:
            break
        rows[gutter] = [gap for gap in gaps if gap.left <= gutter <= gap.right]
        gaps = [gap for gap in gaps if not gap.left <= gutter <= gap.right]
    for _, of_rows in sorted(rows.items()):
        middle = median((gap.left + gap.right) / 2 for gap in of_rows)
        if median((gap.left - begin) / (middle - begin) for gap in of_rows) < FILLED:
            return []
        begin = median(gap.right for gap in of_rows)
    return sorted(rows)


def _ink(text: str) -> int:
    """The number of letters, in a tenth of the time that `letters` takes: PDFium has no other white space."""
    return len(text) - text.count(" ") - text.count("\r") - text.count("\n")


class _Gap(NamedTuple):
    """A wide space in a line: its place in the text, and from where to where it goes (points)."""

    at: int
    left: float
    right: float


def _gaps(text_page: PdfTextPage, text: str, start: int, end: int) -> list[_Gap]:
    """The spaces of a line that are as wide as those between columns."""
    gaps, at = [], text.find(" ", start + 1, end - 1)
    while at >= 0:
        left, right = _box(text_page, at - 1)[1], _box(text_page, at + 1)[0]
        if right - left > LEAST_GAP:
            gaps.append(_Gap(at, left, right))
        at = text.find(" ", at + 1, end - 1)
    return gaps


def _box(text_page: PdfTextPage, at: int) -> tuple[float, float]:
    """Where a letter begins and ends on its line."""
    import pypdfium2.raw as pdfium

    left, right, bottom, top = _SIDES
    pdfium.FPDFText_GetCharBox(text_page.raw, at, left, right, bottom, top)
    return left.value, right.value


def _value(annotation: FPDF_ANNOTATION, pdf: PdfDocument) -> str:
    """The value of a text field or a choice; "" for buttons and passwords."""
    import pypdfium2.raw as pdfium

    form = pdf.formenv
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind not in (pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX):
        return ""
    if pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        return ""
    return _read(lambda buffer, size: pdfium.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))


def _omit_of_field(annotation: FPDF_ANNOTATION, pdf: PdfDocument, value: str, writer: TextWriter) -> None:
    """Count what a field has beside its value: a tooltip, options, a default, and the caption of a button."""
    import pypdfium2.raw as pdfium

    form = pdf.formenv
    writer.omit("tooltip", _read(partial(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation)))
    for at in range(pdfium.FPDFAnnot_GetOptionCount(form, annotation)):
        option = _read(partial(pdfium.FPDFAnnot_GetOptionLabel, form, annotation, at))
        writer.omit("option of a field", option if option != value else "")
    default = _string(annotation, b"DV")
    writer.omit("default of a field", default if default != value else "")
    if pdfium.FPDFAnnot_GetFormFieldType(form, annotation) == pdfium.FPDF_FORMFIELD_PUSHBUTTON:
        shown = _read(partial(pdfium.FPDFAnnot_GetAP, annotation, 0))
        writer.omit("button", "".join(_SHOWN.findall(shown)))


def _address(annotation: FPDF_ANNOTATION, pdf: PdfDocument) -> str:
    """Where a link leads to, beyond the file; "" within it."""
    import pypdfium2.raw as pdfium

    action = pdfium.FPDFLink_GetAction(pdfium.FPDFAnnot_GetLink(annotation))
    size = pdfium.FPDFAction_GetURIPath(pdf, action, None, 0)
    buffer = ctypes.create_string_buffer(size + 1)
    pdfium.FPDFAction_GetURIPath(pdf, action, buffer, size)
    return buffer.value.decode("utf-8", "replace")


def _string(annotation: FPDF_ANNOTATION, key: bytes) -> str:
    import pypdfium2.raw as pdfium

    return _read(lambda buffer, size: pdfium.FPDFAnnot_GetStringValue(annotation, key, buffer, size))


def _read(call: Callable[[object, int], int]) -> str:
    """The text that a function of PDFium writes into a buffer, as UTF-16 that ends with NUL."""
    import pypdfium2.raw as pdfium

    size = call(None, 0)
    if size <= _ENDS:
        return ""
    buffer = ctypes.create_string_buffer(size)
    call(ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    return newlines(buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0")).strip()
