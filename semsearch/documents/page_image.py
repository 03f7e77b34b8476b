"""The image of a page of an indexed PDF, rendered from the very file that was indexed.

The path comes from the index, and an index may come from anybody: only a regular file below the indexed folder is
opened, and it is used only if its SHA-256 is the recorded one.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from semsearch.errors import MissingExtra, NotFound, Unreadable, UsageError

MAX_BYTES = 256 << 20
TIMEOUT = 30.0  # seconds
MIN_WIDTH, MAX_WIDTH = 100, 4000  # pixels
_FIX = "Update the index, or put the file back."


@dataclass(frozen=True, slots=True)
class PageImage:
    """Page `page`, from 1, of `pages`; `png` is the image.

    `boxes` are around the lines of the text that was asked for: (left, top, width, height) from 0 to 1, of the image.
    """

    png: bytes
    page: int
    pages: int
    boxes: tuple[tuple[float, float, float, float], ...] = ()


def page_image(root: str, path: str, sha256: str, page: int, width: int, text: str = "") -> PageImage:
    """Page `page` of the PDF `path` below the folder `root`, with the recorded SHA-256. See `Index.page_image`."""
    if not MIN_WIDTH <= width <= MAX_WIDTH:
        raise UsageError(f"a page cannot be {width} pixels wide.", f"Choose {MIN_WIDTH} to {MAX_WIDTH}.")
    if find_spec("pypdfium2") is None:
        raise MissingExtra("the image of a PDF's page", "docs", "pypdfium2")
    request = json.dumps({"page": page, "width": width, "text": text}).encode()
    return _rendered(request + b"\n" + _content(root, path, sha256), path, page)


def _content(root: str, path: str, sha256: str) -> bytes:
    """The bytes of the file. Raises NotFound where it is missing or differs from what was indexed."""
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise NotFound(f"{path!r} is not a file of the indexed folder.", _FIX)
    file = Path(root, path)
    try:  # checked before it is opened: opening a device or a pipe can have effects
        content = _read(file) if _is_plain(file.stat()) else b""
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise NotFound(f"the file {path!r} is no longer there.", _FIX) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise NotFound(f"the file {path!r} has changed since it was indexed.", _FIX)
    return content


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        return file.read(status.st_size) if _is_plain(status) else b""


def _is_plain(status: os.stat_result) -> bool:
    """A regular file that is not empty: files in /proc have size 0, and reading one may block for ever."""
    return stat.S_ISREG(status.st_mode) and 0 < status.st_size <= MAX_BYTES


def _rendered(request: bytes, path: str, page: int) -> PageImage:
    command = [sys.executable, "-P", "-m", "semsearch.documents.isolation.pdf_renderer"]
    failed = Unreadable(f"page {page} of {path!r} cannot be rendered.", "Read its text instead.")
    import subprocess  # 15 ms, and every index imports this module

    try:
        ran = subprocess.run(command, input=request, capture_output=True, timeout=TIMEOUT, check=False)
        head, _, image = ran.stdout.partition(b"\n")
        result = json.loads(head)
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:
        raise failed from error
    if ran.returncode or "error" in result:
        raise failed
    left_out = result["page"] != page  # past the end, the text is elsewhere
    return PageImage(image, result["page"], result["pages"], () if left_out else tuple(map(tuple, result["boxes"])))
