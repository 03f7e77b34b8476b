"""The input of a job, cut into shards of about so many documents, in a fixed way: the same files give the same shards.

A shard is the unit that is done or not done. Its name is the hash of what is in it and of how that is embedded, so that
a changed file makes other shards and leaves the rest. A file of records is cut after every `size` records. Other files,
and objects in a store, are put together, and a shard ends with a file whose name says so (one in `size`), so that a new
file changes one shard.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

from semsearch.documents import loaders
from semsearch.documents.loaders import Fields, Place
from semsearch.documents.parsing.regular_file import open_regular
from semsearch.errors import Unreadable, UsageError
from semsearch.stores.records import text_hash, to_json
from semsearch.types import JsonObject

SIZE = 10_000  # documents
LINES = "jsonl"  # the loader of files whose records are lines, which can be counted without reading them
NAME = 24  # hex digits of a shard's name
BLOCK = 2**20  # bytes
BEGIN = Place()


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: the name that its documents get, where it is, and how it is read.

    location: a path, or the address of an object in a store. stamp: what changes with such an object. source: the
    number of the file in a store into which workers write.
    """

    uri: str
    location: str
    size: int
    kind: str
    fields: Fields
    stamp: str = ""
    source: int | None = None

    @property
    def is_remote(self) -> bool:
        """Whether it is an object in a store."""
        return "://" in self.location


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, or its records from the place `start` up to byte `end`.

    `sha256`: of these bytes, and of the first line, which names the columns of a table; "" if they were not read.
    """

    file: File
    start: Place = BEGIN
    end: int | None = None
    sha256: str = ""

    @property
    def size(self) -> int:
        """Its bytes."""
        return (self.file.size if self.end is None else self.end) - self.start.at

    @property
    def is_last(self) -> bool:
        """Whether it goes to the end of its file."""
        return self.end is None or self.end >= self.file.size

    def to_json(self) -> JsonObject:
        """What `from_json` makes the same piece of."""
        return asdict(self)

    @classmethod
    def from_json(cls, recorded: JsonObject) -> Piece:
        """The inverse of `to_json`, also after a way through JSON."""
        file = dict(recorded["file"])
        fields: JsonObject = {
            key: tuple(one) if isinstance(one, list) else one for key, one in file.pop("fields").items()
        }
        return cls(
            File(**file, fields=Fields(**fields)), Place(*recorded["start"]), recorded["end"], recorded["sha256"]
        )


@dataclass(frozen=True, slots=True)
class Shard:
    """Some pieces, whose documents are embedded and stored together."""

    name: str
    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(piece.size for piece in self.pieces)


@dataclass
class Cutter:
    """Cuts files into shards of about `size` documents. `way`: a text that says how they are embedded.

    `unreadable`: the files that could not be opened, each with the reason, so far.
    """

    size: int
    way: str
    unreadable: list[tuple[str, str]] = field(default_factory=list)

    def shards(self, files: Iterable[File]) -> Iterator[Shard]:
        """The shards of the files, in their order."""
        together: list[Piece] = []
        for file in files:
            try:
                pieces = list(self._pieces(file))
            except Unreadable as error:
                self.unreadable.append((file.uri, error.message))
                continue
            if len(pieces) > 1 or (pieces and pieces[0].end is not None):
                yield from (self._shard([piece]) for piece in pieces)
                continue
            together += pieces
            if len(together) >= 4 * self.size or self._ends(file.uri):
                yield self._shard(together)
                together = []
        if together:
            yield self._shard(together)

    def _pieces(self, file: File) -> Iterator[Piece]:
        """The parts of a file that is read record by record and can be cut; else the file. Raises Unreadable."""
        if file.is_remote:
            yield Piece(file)
            return
        loader = loaders.loader_for(Path(file.location), file.kind)
        if not loaders.goes_on(loader):
            yield Piece(file, sha256=_sha256(file.location, 0, None))
            return
        first_line = "" if loader == LINES else _first_line(file.location)
        try:
            cuts = [place for place in _cuts(file, loader, self.size) if place.at < file.size]
        except (Unreadable, UsageError):  # it is not cut; who reads it tells the reason, and reads what can be read
            cuts = []
        places = [BEGIN, *cuts, Place(file.size)]
        for start, end in pairwise(places):
            yield Piece(file, start, end.at, first_line + _sha256(file.location, start.at, end.at))

    def _shard(self, pieces: list[Piece]) -> Shard:
        return Shard(text_hash(to_json([self.way, [_identity(piece) for piece in pieces]]))[:NAME], tuple(pieces))

    def _ends(self, uri: str) -> bool:
        return int(text_hash(uri)[:12], 16) % self.size == 0


def _identity(piece: Piece) -> list[object]:
    """What decides which documents a piece has."""
    file = piece.file
    return [
        file.uri,
        file.kind,
        asdict(file.fields),
        list(piece.start),
        piece.sha256 or [file.location, file.size, file.stamp],
    ]


def _cuts(file: File, loader: str, size: int) -> Iterator[Place]:
    """The places between records after which a new shard begins."""
    if loader == LINES:
        yield from _line_ends(Path(file.location), size)
        return
    items = loaders.read_from(Path(file.location), file.kind, file.fields, BEGIN, hashlib.sha256())
    for number, (_, place) in enumerate(items, start=1):
        if number % size == 0 and place is not None:
            yield place


def _line_ends(path: Path, size: int) -> Iterator[Place]:
    """The place after every `size` lines, except at the end of the file. Raises Unreadable."""
    at, lines = 0, 0
    try:
        with open_regular(path) as file:
            end = os.fstat(file.fileno()).st_size
            while block := file.read(BLOCK):
                begin = 0
                while (missing := size - lines % size) <= block.count(b"\n", begin):
                    for _ in range(missing):
                        begin = block.index(b"\n", begin) + 1
                    lines += missing
                    if at + begin < end:
                        yield Place(at + begin, lines)
                lines += block.count(b"\n", begin)
                at += len(block)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error


def _first_line(location: str) -> str:
    """The hash of the first line of a file, as far as it is in the first block. Raises Unreadable."""
    try:
        with open_regular(Path(location)) as file:
            return hashlib.sha256(file.readline(BLOCK)).hexdigest()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error


def _sha256(location: str, start: int, end: int | None) -> str:
    """The hash of a part of a file. Raises Unreadable."""
    digest, left = hashlib.sha256(), None if end is None else end - start
    try:
        with open_regular(Path(location)) as file:
            file.seek(start)
            while left != 0 and (block := file.read(BLOCK if left is None else min(BLOCK, left))):
                digest.update(block)
                left = None if left is None else left - len(block)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error
    return digest.hexdigest()
