"""What passes between the processes of a job, as a row each of a Ray dataset: parts, and the answers to them.

A reading task yields the documents of its shard in parts of about PART_BYTES of text; an actor answers each part with
the vectors of its passages. No pickle: documents are the messages of `documents/isolation`, vectors an array of NumPy.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Container, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.documents import loaders
from semsearch.documents.isolation.messages import TooLarge, item_of, packed_item, receive
from semsearch.documents.vector_files import arrow
from semsearch.errors import Unreadable, UsageError
from semsearch.indexing.file_reader import named
from semsearch.scale.keys import KIND, document_key
from semsearch.scale.shards import Piece, Shard
from semsearch.stores.entry_checks import check_new
from semsearch.stores.records import text_hash
from semsearch.types import Document, JsonObject

if TYPE_CHECKING:
    import pyarrow

PART_BYTES = 2**17  # of text: some 170 passages of 192 tokens, 2 to 20 s of work for a core
MOST_MESSAGE = 2**40  # bytes: what our own tasks send is not limited


def row_type(dim: int) -> np.dtype[np.void]:
    """A text by its key, and its vector."""
    return np.dtype([("key", KIND), ("vector", np.float32, (dim,))])


@dataclass(frozen=True, slots=True)
class Part:
    """Documents of a shard. `name` is the same whenever the shard is read; `size`: the bytes of input that end in it.

    sources: the numbers of the files of the documents, where workers write into a store.
    """

    name: str
    size: int
    messages: bytes
    sources: tuple[int, ...] = ()

    def __iter__(self) -> Iterator[Document]:
        stream = io.BytesIO(self.messages)
        while (message := receive(stream, MOST_MESSAGE)) is not None:
            if isinstance(item := item_of(message), Document):
                yield item

    def table(self) -> pyarrow.Table:
        """The part as a table of one row."""
        return _one_row({**asdict(self), "sources": list(self.sources)})

    @classmethod
    def of_row(cls, row: JsonObject) -> Part:
        """The part in a row of `table`."""
        return cls(**{**row, "sources": tuple(row["sources"])})


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the part `name`; `seconds` an actor took.

    keys: those of its documents, one after the other. vectors: an array of `row_type`; b"" where workers
    write into a store, of whose documents `changed` were there before. set_aside: why the encoder failed, by the keys
    (in hexadecimal digits) of the texts of documents that are left out. cut_passages, cut_tokens: beyond its maximum
    length.
    """

    name: str
    size: int
    keys: bytes
    vectors: bytes
    documents: int
    passages: int
    embedded: int
    seconds: float
    worker: str
    set_aside: Mapping[str, str] = field(default_factory=dict)
    changed: int = 0
    cut_passages: int = 0
    cut_tokens: int = 0

    def table(self) -> pyarrow.Table:
        """The answer as a table of one row."""
        return _one_row({**asdict(self), "set_aside": json.dumps(dict(self.set_aside))})

    @classmethod
    def of_row(cls, row: JsonObject) -> Answer:
        """The answer in a row of `table`."""
        return cls(**{**row, "set_aside": json.loads(row["set_aside"])})


def documents(piece: Piece) -> Iterator[Document]:
    """The documents of a piece that can be stored, as the local path reads them, which reports all others itself."""
    seen: set[str] = set()
    try:
        for item in _read(piece):
            try:
                check_new(item, new_id=False)
            except Unreadable:
                continue
            if item.id not in seen:
                seen.add(item.id)
                yield item
    except (Unreadable, UsageError):
        return


def parts(number: int, shard: Shard, present: Container[bytes] | None = None) -> Iterator[Part]:
    """The parts of a shard; at least one. Documents whose key is in `present` are left out."""
    sources: list[int] = []
    packed, size, read, at = bytearray(), 0, 0, 0
    for piece in shard:
        for document in documents(piece):
            if present is not None and document_key(document.id, text_hash(document.text), document.title) in present:
                continue
            if size >= PART_BYTES:
                yield Part(f"{number}/{at}", read, bytes(packed), tuple(sources))
                packed, sources, size, read, at = bytearray(), [], 0, 0, at + 1
            try:
                packed += packed_item(document, MOST_MESSAGE)
            except TooLarge:  # with too many marks for a message: the update of the index embeds it
                continue
            size += len(document.text)
            if piece.file.source is not None:
                sources.append(piece.file.source)
        read += piece.size
    yield Part(f"{number}/{at}", read, bytes(packed), tuple(sources))


def _read(piece: Piece) -> Iterator[Document]:
    file, path = piece.file, Path(piece.file.location)
    read = loaders.read_from(path, file.kind, file.fields, piece.start, hashlib.sha256(), end=piece.end)
    end = piece.end if loaders.goes_on(loaders.loader_for(path, file.kind)) else None
    for item, place in read:
        if end is not None and (end < file.size if place is None else place.at > end):  # also what was added meanwhile
            return
        document = named(file.uri, path, item)
        if isinstance(document, Document):
            yield document


def _one_row(values: JsonObject) -> pyarrow.Table:
    """A table of one row, which is a block of a Ray dataset."""
    return arrow("a job on Ray").table({name: [value] for name, value in values.items()})
