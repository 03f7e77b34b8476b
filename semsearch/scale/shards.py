"""The input of a job, cut into shards: what one task reads, about so many documents.

A file of records is cut between records: lines are counted, groups of rows of Parquet are read from its description,
and tables are read. Other files are put together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, TypeAlias

from semsearch.documents import loaders
from semsearch.documents.file_access import open_regular
from semsearch.documents.loaders import Fields, Place
from semsearch.errors import Unreadable, UsageError
from semsearch.types import JsonObject

SIZE = 10_000  # documents
MOST_BYTES = 2**27  # of files that are put together, so that large files keep several tasks at work
LINES = "jsonl"  # the loader of files whose records are lines, which can be counted without reading them
BLOCK = 2**20  # bytes
START = Place()


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: the name that its documents get, where it is, and how it is read.

    source: the number of the file in a store into which workers write.
    """

    uri: str
    location: str
    size: int
    kind: str
    fields: Fields
    source: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, or its records from the place `start` up to byte `end`."""

    file: File
    start: Place = START
    end: int | None = None

    @property
    def size(self) -> int:
        """Its bytes."""
        return (self.file.size if self.end is None else self.end) - self.start.at

    @classmethod
    def from_json(cls, recorded: JsonObject) -> Piece:
        """The inverse of `asdict`, also after a way through JSON."""
        file = dict(recorded["file"])
        fields: JsonObject = {
            key: tuple(one) if isinstance(one, list) else one for key, one in file.pop("fields").items()
        }
        return cls(File(**file, fields=Fields(**fields)), Place(*recorded["start"]), recorded["end"])


Shard: TypeAlias = tuple[Piece, ...]  # whose documents one task reads, in their order


def cut(files: Iterable[File], size: int) -> Iterator[Shard]:
    """The shards of the files, in their order, of about `size` documents each."""
    together: list[Piece] = []
    for file in files:
        pieces = _pieces(file, size)
        if len(pieces) > 1 or pieces[0].end is not None:
            yield from ((piece,) for piece in pieces)
            continue
        together += pieces
        if len(together) >= size or sum(piece.size for piece in together) >= MOST_BYTES:
            yield tuple(together)
            together = []
    if together:
        yield tuple(together)


def _pieces(file: File, size: int) -> list[Piece]:
    """The parts of a file that can be cut; else the file. Who reads one that cannot be opened tells the reason."""
    try:
        loader = loaders.loader_for(Path(file.location), file.kind)
        places = [place for place in _places(file, loader, size) if place.at < file.size]
    except (OSError, Unreadable, UsageError):
        return [Piece(file)]
    if not places and not loaders.goes_on(loader):
        return [Piece(file)]
    return [Piece(file, start, end.at) for start, end in pairwise([START, *places, Place(file.size)])]


def _places(file: File, loader: str, size: int) -> Iterator[Place]:
    """The places between records after which a new shard of `size` records begins."""
    if loader == LINES:
        with open_regular(Path(file.location)) as opened:
            yield from _line_ends(opened, size)
    elif loaders.goes_on(loader):
        items = loaders.read_from(Path(file.location), loader, file.fields, START, hashlib.sha256())
        yield from (place for n, (_, place) in enumerate(items, start=1) if n % size == 0 and place is not None)
    else:
        last = 0
        with open_regular(Path(file.location)) as opened:
            for place in loaders.places(loader, opened):
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
