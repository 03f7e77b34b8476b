"""The input of a job, cut into shards of about so many documents, in a fixed way: the same files give the same shards.

A shard is the unit that is done or not done. Its name is the hash of what is in it and of how that is embedded, so that
a changed file makes other shards and leaves the rest. A file of records is cut after every `size` records.
Other files are put together, and a shard ends with a file whose name
says so (one in `size`), so that a new file changes one shard.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from semsearch.documents import loaders
from semsearch.documents.file_access import open_regular
from semsearch.documents.loaders import Place
from semsearch.errors import Unreadable
from semsearch.scale.shards import borders
from semsearch.scale.shards.shard import BEGIN, File, Piece, Shard
from semsearch.stores.records import text_hash, to_json

SIZE = 10_000  # documents
NAME = 24  # hex digits of a shard's name
BLOCK = 2**20  # bytes
PARQUET = b"PAR1"  # its last bytes


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
        """The parts of a file that can be cut; else the file. Raises Unreadable."""
        loader = loaders.loader_for(Path(file.location), file.kind)
        places = borders.of(file, loader, self.size)
        if not places and not loaders.goes_on(loader):
            yield Piece(file, sha256=_sha256(file.location, 0, None))
            return
        described = "" if loader == borders.LINES else _description(file.location)
        for start, end in pairwise([BEGIN, *places, Place(file.size)]):
            yield Piece(file, start, end.at, described + _sha256(file.location, start.at, end.at))

    def _shard(self, pieces: list[Piece]) -> Shard:
        return Shard(text_hash(to_json([self.way, [_identity(piece) for piece in pieces]]))[:NAME], tuple(pieces))

    def _ends(self, uri: str) -> bool:
        return int(text_hash(uri)[:12], 16) % self.size == 0


def _identity(piece: Piece) -> list[object]:
    """What decides which documents a piece has."""
    file = piece.file
    return [file.uri, file.kind, asdict(file.fields), list(piece.start), piece.sha256]


def _description(location: str) -> str:
    """The hash of what names the columns: the first line, as far as it is in the first block, or the end of Parquet.

    Raises Unreadable.
    """
    try:
        with open_regular(Path(location)) as file:
            size = file.seek(0, os.SEEK_END)
            footer = _footer_bytes(file, size)
            file.seek(size - footer if footer else 0)
            return hashlib.sha256(file.read() if footer else file.readline(BLOCK)).hexdigest()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error


def _footer_bytes(file: BinaryIO, size: int) -> int:
    """The bytes of the description at the end of a Parquet file; 0 for others."""
    file.seek(max(0, size - len(PARQUET) - 4))
    end = file.read()
    return int.from_bytes(end[:4], "little") + len(end) if end.endswith(PARQUET) else 0


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
