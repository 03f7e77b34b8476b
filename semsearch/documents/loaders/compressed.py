"""Texts that are compressed (gzip, bzip2, xz, lzma): the file within, as its own loader reads it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing.records import Enclosed, Fields
from semsearch.errors import Unreadable

ISOLATED = True
_OPENED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".lzma": lzma.open}


def load(path: Path, fields: Fields) -> Iterator[Enclosed]:
    """The file within, under the id of this one. Raises Unreadable for a damaged one, and one beyond the limit."""
    opened = _OPENED.get(path.suffix.lower(), gzip.open)
    try:
        with open_regular(path) as file, opened(file) as unpacked:
            content = unpacked.read(fields.max_bytes + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, OSError, ValueError) as error:
        raise Unreadable(f"not a readable {path.suffix} file: {error}") from error
    if len(content) > fields.max_bytes:
        raise Unreadable(f"it unpacks to more than the limit of {fields.max_bytes / 2**20:g} MB for files")
    yield Enclosed("", path.stem, content)
