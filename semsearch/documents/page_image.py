"""The image of a page of an indexed PDF, rendered from the very file that was indexed.

The path comes from the index, and an index may come from anybody: only a regular file below the indexed folder is
opened, and nothing of it is used unless its SHA-256 is the recorded one.
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
from typing import Protocol

from semsearch.errors import MissingExtra, NotFound, Unreadable, UsageError

MAX_BYTES = 256 << 20
TIMEOUT = 30.0  # seconds
MIN_WIDTH, MAX_WIDTH = 100, 4000  # pixels
_FIX = "Update the index, or put the file back."


class SourceFile(Protocol):
    """The file that a document was read from, as recorded in the index. `path` is relative to the folder `root`."""

    @property
    def root(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def loader(self) -> str: ...


@dataclass(frozen=True, slots=True)
class PageImage:
    """Page `page`, from 1, of `pages`; `png` is the image."""

    png: bytes
    page: int
    pages: int


def page_image(source: SourceFile | None, document: str, page: int, width: int) -> PageImage:
    """Page `page` of the PDF `source` that `document` was read from. See `Index.page_image`."""
    if source is None or source.loader != "pdf":
        raise UsageError(f"{document!r} was not read from a PDF, so it has no page to show.", "Read its text instead.")
    if not MIN_WIDTH <= width <= MAX_WIDTH:
        raise UsageError(f"a page cannot be {width} pixels wide.", f"Choose {MIN_WIDTH} to {MAX_WIDTH}.")
    if find_spec("pypdfium2") is None:
        raise MissingExtra("the image of a PDF's page", "docs")
    return _rendered(_content(source), document, page, width)


def _content(source: SourceFile) -> bytes:
    """The bytes of the file. Raises NotFound where it is missing or differs from what was indexed."""
    path = source.path
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise NotFound(f"{path!r} is not a file of the indexed folder.", _FIX)
    file = Path(source.root, path)
    try:  # checked before it is opened: opening a device or a pipe can have effects
        content = _read(file) if _is_plain(file.stat()) else b""
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise NotFound(f"the file {path!r} is no longer there.", _FIX) from error
    if hashlib.sha256(content).hexdigest() != source.sha256:
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


def _rendered(content: bytes, document: str, page: int, width: int) -> PageImage:
    command = [sys.executable, "-P", "-m", "semsearch.documents.pdf_renderer", str(page), str(width)]
    failed = Unreadable(f"page {page} of {document!r} cannot be rendered.", "Read its text instead.")
    import subprocess  # 15 ms, and every index imports this module

    try:
        ran = subprocess.run(command, input=content, capture_output=True, timeout=TIMEOUT, check=False)
        head, _, image = ran.stdout.partition(b"\n")
        result = json.loads(head)
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:
        raise failed from error
    if ran.returncode or "error" in result:
        raise failed
    return PageImage(image, result["page"], result["pages"])
