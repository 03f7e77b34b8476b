"""A page of a PDF as an image, drawn by a separate process: `python -m … loaders._page PAGE WIDTH < PDF`.

PDFium runs on what anybody may have written, and not in two threads at once; here it can crash, hang or grow without
harm to whoever asked. Writes one line of JSON, {"page", "pages"} or {"error"}, and behind it the picture as PNG.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_PIXELS = 8_000_000  # a page of 1,400 pixels' width has 2.8 million; a poster gets fewer to the inch
MOST_SECONDS = 20  # of computing; whoever asks waits about as long
MOST_MEMORY = 2 << 30


def main() -> None:
    _limit()
    page, width = int(sys.argv[1]), int(sys.argv[2])
    try:
        page, pages, picture = drawn(sys.stdin.buffer.read(), page, width)
    except Exception as error:  # PDFium's helpers raise anything
        sys.stdout.buffer.write(json.dumps({"error": f"{type(error).__name__}: {error}"[:300]}).encode() + b"\n")
        return
    sys.stdout.buffer.write(json.dumps({"page": page, "pages": pages}).encode() + b"\n" + picture)


def drawn(content: bytes, page: int, width: int) -> tuple[int, int, bytes]:
    """Page `page` of a PDF (from 1; the last, where there are fewer): its number, how many there are, and the picture
    as PNG, `width` pixels wide unless that makes more than 8 million of them.
    """
    import pypdfium2

    pdf = pypdfium2.PdfDocument(content)
    number = min(max(page, 1), len(pdf))
    sheet = pdf[number - 1]
    across, down = (max(1.0, float(side)) for side in sheet.get_size())
    scale = min(width / across, (MOST_PIXELS / (across * down)) ** 0.5)
    bitmap = sheet.render(scale=scale, may_draw_forms=False, rev_byteorder=True)
    return number, len(pdf), png(np.asarray(bitmap.to_numpy()))


def png(pixels: NDArray[Any]) -> bytes:
    """RGB (h, w, 3 or 4, the fourth ignored), or grey (h, w) or (h, w, 1), of 8 bits as PNG."""
    colour = pixels.ndim == 3 and pixels.shape[2] >= 3
    rows = pixels[:, :, :3] if colour else pixels.reshape(pixels.shape[:2])
    if colour and (rows == rows[:, :, :1]).all():
        rows, colour = rows[:, :, 0], False
    height, width = rows.shape[:2]
    flat = np.zeros((height, 1 + width * (3 if colour else 1)), dtype=np.uint8)  # each line begins with its filter: 0
    flat[:, 1:] = rows.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if colour else 0, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(flat.tobytes(), 3)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _limit() -> None:
    """Bounds on time and memory, where the system has them."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


if __name__ == "__main__":
    main()
