"""Where a file of records can be cut into parts that are read one by one.

Lines are counted, groups of rows of Parquet are read from its description, and tables are read. A file without
records, or of one part, is not cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from semsearch.documents import loaders
from semsearch.documents.file_access import open_regular
from semsearch.documents.loaders import Place
from semsearch.errors import NotFound, Unreadable, UsageError
from semsearch.scale.shards.shard import BEGIN, File

LINES = "jsonl"  # the loader of files whose records are lines, which can be counted without reading them
BLOCK = 2**20  # bytes


def of(file: File, loader: str, size: int) -> list[Place]:
    """The places between records after which a new shard of `size` records begins; none where it is not cut.

    Who reads a file that cannot be cut tells the reason, and reads what can be read.
    """
    try:
        return [place for place in _places(file, loader, size) if place.at < file.size]
    except (NotFound, OSError, Unreadable, UsageError):
        return []


def _places(file: File, loader: str, size: int) -> Iterator[Place]:
    if loader == LINES:
        with open_regular(Path(file.location)) as opened:
            yield from _line_ends(opened, size)
    elif loaders.goes_on(loader):
        items = loaders.read_from(Path(file.location), loader, file.fields, BEGIN, hashlib.sha256())
        yield from (place for n, (_, place) in enumerate(items, start=1) if n % size == 0 and place is not None)
    else:
        with open_regular(Path(file.location)) as opened:
            yield from _apart(loaders.places(loader, opened), size)


def _apart(places: list[Place], size: int) -> Iterator[Place]:
    """Those with at least `size` records between them."""
    last = 0
    for place in places:
        if place.number - last >= size:
            yield place
            last = place.number


def _line_ends(file: BinaryIO, size: int) -> Iterator[Place]:
    """The place after every `size` lines."""
    at, lines = 0, 0
    while block := file.read(BLOCK):
        begin = 0
        while (missing := size - lines % size) <= block.count(b"\n", begin):
            for _ in range(missing):
                begin = block.index(b"\n", begin) + 1
            lines += missing
            yield Place(at + begin, lines)
        lines += block.count(b"\n", begin)
        at += len(block)
