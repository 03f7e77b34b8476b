"""The renderer of a PDF's page, a process of its own: `python -m semsearch.documents.isolation.pdf_renderer`.

PDFium reads files that anybody may have written, and is not thread-safe; in a separate process it can crash, hang or
exhaust its memory without harm to the caller. Reads one line of JSON, {"page", "width", "text"}, then the PDF: others
can read the arguments of a process. Writes one line of JSON, {"page", "pages", "boxes"} or {"error"}, then the PNG.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pypdfium2 import PdfPage, PdfTextPage

Box = tuple[float, float, float, float]  # left, top, width, height; from 0 to 1, of the image of the page
LEAST = 10  # letters that a part of a text needs in common with the end or the beginning of the page
MOST = 400  # boxes
GRID = 10_000  # PDFium gives places on an image in whole pixels
MAX_PIXELS = 8_000_000  # a page of 1,400 pixels' width has 2.8 million; a poster gets fewer to the inch
MAX_CPU_SECONDS = 20
MAX_MEMORY = 2 << 30  # bytes


def main() -> None:
    _limit()
    request = json.loads(sys.stdin.buffer.readline())
    try:
        page, pages, image, lines = render(sys.stdin.buffer.read(), **request)
    except Exception as error:  # PDFium's helpers raise anything
        sys.stdout.buffer.write(json.dumps({"error": f"{type(error).__name__}: {error}"[:300]}).encode() + b"\n")
        return
    sys.stdout.buffer.write(json.dumps({"page": page, "pages": pages, "boxes": lines}).encode() + b"\n" + image)


def render(content: bytes, page: int, width: int, text: str = "") -> tuple[int, int, bytes, list[Box]]:
    """(page number, number of pages, PNG, boxes around the lines of `text`) of page `page` of a PDF, from 1; past the
    end, of the last page.

    The image is `width` pixels wide, or narrower where it would have more than 8 million pixels.
    """
    import pypdfium2

    pdf = pypdfium2.PdfDocument(content)
    number = min(max(page, 1), len(pdf))
    sheet = pdf[number - 1]
    across, down = (max(1.0, float(side)) for side in sheet.get_size())
    scale = min(width / across, (MAX_PIXELS / (across * down)) ** 0.5)
    bitmap = sheet.render(scale=scale, may_draw_forms=False, rev_byteorder=True)
    return number, len(pdf), png(np.asarray(bitmap.to_numpy())), boxes(sheet, text) if text else []


def png(pixels: NDArray[np.uint8]) -> bytes:
    """An image of 8 bits a channel as PNG: RGB (h, w, 3 or 4, the fourth ignored), or grey (h, w) or (h, w, 1)."""
    colour = pixels.ndim == 3 and pixels.shape[2] >= 3
    rows = pixels[:, :, :3] if colour else pixels.reshape(pixels.shape[:2])
    if colour and (rows == rows[:, :, :1]).all():
        rows, colour = rows[:, :, 0], False
    height, width = rows.shape[:2]
    flat = np.zeros((height, 1 + width * (3 if colour else 1)), dtype=np.uint8)  # a row begins with its filter type, 0
    flat[:, 1:] = rows.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if colour else 0, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(flat.tobytes(), 3)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def boxes(page: PdfPage, text: str) -> list[Box]:
    """A box around each line of `text` on the page; [] where it is not there, or is empty.

    The index has the text of a page in another form than PDFium: with its broken words mended, its control characters
    gone, and cut into passages that may begin on the page before. So letters and digits alone are compared.
    """
    text_page = page.get_textpage()
    try:
        letters, places = _letters(text_page.get_text_range())
        sought, _ = _letters(text)
        start, end = span(letters, sought)
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
    letters = [(letter.lower()[:1], at) for at, letter in enumerate(text) if letter.isalnum()]
    return "".join(letter for letter, _ in letters), [at for _, at in letters]


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


def _limit() -> None:
    """Bounds on time and memory, where the system has them."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))


if __name__ == "__main__":
    main()
