"""One page of a PDF: the text that it shows, and what has been written into its forms or about it.

Source: ISO 32000-1, 12.5 (annotations) and 12.7 (forms), by PDFium. Text beyond the crop box, which no program shows,
is left out letter by letter: PDFium takes letters that the box only touches, and mixes the lines at its edge.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

from semsearch.documents.parsing.charset import newlines
from semsearch.documents.parsing.text_writer import TextWriter, letters

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage
    from pypdfium2.raw import FPDF_ANNOTATION

_FREE_TEXT, _WIDGET = 3, 20  # subtypes of annotations
_REMARKS = {1, *range(4, 16)}  # notes, marked text, lines, stamps, and other drawings
_PASSWORD = 1 << 13  # a flag of a field
_XFA = 2  # a form as a program of its own, which PDFium does not run


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
        if len(shown) != text_page.count_chars() and letters(shown) != letters(text_page.get_text_range()):
            shown = _within(text_page, page.get_bbox(), writer)
        return newlines(shown)
    finally:
        text_page.close()


def added_to(page: PdfPage, pdf: PdfDocument) -> str:
    """The values of forms on the page and the annotations that have a text, a block each."""
    import pypdfium2.raw as pdfium

    blocks = []
    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        if kind == _WIDGET and pdf.formenv is not None:
            blocks.append(_value(annotation, pdf))
        elif kind == _FREE_TEXT:
            blocks.append(_string(annotation, b"Contents"))
        elif kind in _REMARKS and (text := _string(annotation, b"Contents")):
            author = _string(annotation, b"T")
            blocks.append(f"[{author}: {text}]" if author else f"[{text}]")
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
    kept, beyond = [], []
    for at in range(text_page.count_chars()):
        letter = chr(pdfium.FPDFText_GetUnicode(text_page, at))
        if not letter.isspace():
            pdfium.FPDFText_GetCharBox(text_page, at, left, right, bottom, top)
            x, y = (left.value + right.value) / 2, (bottom.value + top.value) / 2
            if not (box[0] <= x <= box[2] and box[1] <= y <= box[3]):
                beyond.append(letter)
                continue
        kept.append(letter)
    writer.omit("text beyond the page", "".join(beyond))
    lines = "".join(kept).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").splitlines()
    return "\n".join(line.strip() for line in lines if line.strip())


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


def _string(annotation: FPDF_ANNOTATION, key: bytes) -> str:
    import pypdfium2.raw as pdfium

    return _read(lambda buffer, size: pdfium.FPDFAnnot_GetStringValue(annotation, key, buffer, size))


def _read(call: Callable[[object, int], int]) -> str:
    """The text that a function of PDFium writes into a buffer, as UTF-16 that ends with NUL."""
    import pypdfium2.raw as pdfium

    size = call(None, 0)
    buffer = ctypes.create_string_buffer(size)
    call(ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    return newlines(buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0")).strip()
