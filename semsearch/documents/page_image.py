"""A page of an indexed PDF as it looks, from the very file that was indexed and no other.

The place of a file is what the index says, and an index may come from anybody: nothing is opened but a regular file
that was read as a PDF below a followed folder, and nothing of it is used unless its SHA-256 is the recorded one.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.errors import MissingExtra, NotFound, Unreadable, UsageError

if TYPE_CHECKING:
    from semsearch.stores.local.store import Store

MOST_BYTES = 256 << 20
PATIENCE = 30.0  # seconds
WIDTHS = (100, 4000)
UPDATE = "Update the index, or put the file back."
_SOURCE = """SELECT s.root, s.path, s.sha256, s.loader FROM documents d
    LEFT JOIN sources s ON s.id = d.source WHERE d.uri = ?"""


@dataclass(frozen=True, slots=True)
class PageImage:
    """Page `page`, from 1, of `pages`; `png` is the picture."""

    png: bytes
    page: int
    pages: int


def page_image(store: Store, document: str, page: int, width: int) -> PageImage:
    """The page of the PDF that `document` was read from. See `Index.page_image`."""
    with store.snapshot():
        row = store.connection.execute(_SOURCE, (document,)).fetchone()
    if row is None:
        raise NotFound(f"index {store.folder.name} has no document {document!r}.", "It may have been deleted.")
    root, path, sha256, loader = row
    if loader != "pdf":
        raise UsageError(f"{document!r} was not read from a PDF, so it has no page to show.", "Its text is there.")
    if not WIDTHS[0] <= width <= WIDTHS[1]:
        raise UsageError(f"a width of {width} pixels was asked for.", f"Choose one from {WIDTHS[0]} to {WIDTHS[1]}.")
    if find_spec("pypdfium2") is None:
        raise MissingExtra("the picture of a PDF's page", "docs")
    return _drawn(_content(Path(root), path, sha256), document, page, width)


def _content(root: Path, path: str, sha256: str) -> bytes:
    """The file, if it is the one that was read."""
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise NotFound(f"{path!r} is no file of the folder that is followed.", UPDATE)
    try:  # looked at before it is opened: to open a device or a pipe can do something
        content = _read(root / path) if _plain((root / path).stat()) else b""
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise NotFound(f"the file {path!r} is not there any more.", UPDATE) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise NotFound(f"the file {path!r} is another than it was when it was indexed.", UPDATE)
    return content


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        return file.read(found.st_size) if _plain(found) else b""


def _plain(found: os.stat_result) -> bool:
    """A file with something in it: those of /proc are empty by their size, and to read one may wait for ever."""
    return stat.S_ISREG(found.st_mode) and 0 < found.st_size <= MOST_BYTES


def _drawn(content: bytes, document: str, page: int, width: int) -> PageImage:
    command = [sys.executable, "-P", "-m", "semsearch.documents.loaders._page", str(page), str(width)]
    failed = Unreadable(f"page {page} of {document!r} cannot be drawn.", "Its text is there.")
    try:
        ran = subprocess.run(command, input=content, capture_output=True, timeout=PATIENCE, check=False)
        head, _, picture = ran.stdout.partition(b"\n")
        told = json.loads(head)
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:
        raise failed from error
    if ran.returncode or "error" in told:
        raise failed
    return PageImage(picture, told["page"], told["pages"])
