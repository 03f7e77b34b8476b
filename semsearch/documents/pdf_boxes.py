"""Where a text stands on a page of a PDF: boxes around its lines.

The index has the text of a page in another form than PDFium: with its broken words mended, its control characters gone,
and cut into passages that may begin on the page before. So letters and digits alone are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

Box = tuple[float, float, float, float]  # left, top, width, height; from 0 to 1, of the image of the page
LEAST = 10  # letters that a part of a text needs in common with the end or the beginning of the page
MOST = 400  # boxes
GRID = 10_000  # PDFium gives places on an image in whole pixels


def boxes(page: PdfPage, text: str) -> list[Box]:
    """A box around each line of `text` on the page; [] where it is not there, or is empty."""
    text_page = page.get_textpage()
    try:
        letters, places = _letters(text_page.get_text_range())
        wanted, _ = _letters(text)
        start, end = span(letters, wanted)
        if start >= end:
            return []
        first, last = places[start], places[end - 1]
        return [_on_image(page, text_page.get_rect(at)) for at in range(_lines(text_page, first, last - first + 1))]
    finally:
        text_page.close()


def span(page: str, text: str) -> tuple[int, int]:
    """Where `text` stands in `page`, both of letters alone: whole, or the part of it that the page has; else (0, 0).

    >>> span("saltandtime", "and"), span("timetoriseandbake", "thedoughneedstimetorise")
    ((4, 7), (0, 10))
    """
    if text and (at := page.find(text)) >= 0:
        return at, at + len(text)
    for part in range(min(len(page), len(text)), LEAST - 1, -1):
        if page.startswith(text[-part:]):  # it begins on the page before
            return 0, part
        if page.endswith(text[:part]):  # it ends on the next one
            return len(page) - part, len(page)
    return 0, 0


def _letters(text: str) -> tuple[str, list[int]]:
    """The letters and digits of a text in lower case, and the place of each."""
    found = [(letter.lower()[:1], at) for at, letter in enumerate(text) if letter.isalnum()]
    return "".join(letter for letter, _ in found), [at for _, at in found]


def _lines(text_page: PdfTextPage, start: int, count: int) -> int:
    return min(int(text_page.count_rects(start, count)), MOST)


def _on_image(page: PdfPage, rect: tuple[float, float, float, float]) -> Box:
    """A rectangle of the page (left, bottom, right, top, in points) as a part of its image, turned as the page is."""
    left, bottom, right, top = rect
    (one, other), (up, down) = zip(_pixel(page, left, top), _pixel(page, right, bottom), strict=True)
    return min(one, other), min(up, down), abs(other - one), abs(down - up)


def _pixel(page: PdfPage, x: float, y: float) -> tuple[float, float]:
    import ctypes

    import pypdfium2.raw as pdfium

    across, down = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDF_PageToDevice(page, 0, 0, GRID, GRID, 0, x, y, across, down)
    return across.value / GRID, down.value / GRID
