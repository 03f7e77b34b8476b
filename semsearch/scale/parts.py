"""What passes between the processes of a job: parts of a shard, as a row each of a Ray dataset.

A reading task yields the documents of its shard in parts of about PART_BYTES of text; an actor answers each part with
its passages and their vectors. No pickle: documents are the messages of `documents/isolation`, passages an Arrow table.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.documents import loaders
from semsearch.documents.isolation.messages import MOST_VALUES, TooLarge, item_of, packed_item, receive
from semsearch.documents.vector_files import arrow
from semsearch.errors import Unreadable, UsageError
from semsearch.indexing.file_reader import named, reason
from semsearch.scale.shards.shard import Piece
from semsearch.stores.records import check_document, meta_hash, text_hash
from semsearch.types import Document, JsonObject, Skipped

if TYPE_CHECKING:
    import pyarrow

PART_BYTES = 2**17  # of text: some 170 passages of 192 tokens, 2 to 20 s of work for a core
MOST_MESSAGE = 2**40  # bytes: what our own tasks send is not limited
KEY = 16  # bytes of a document's key


@dataclass(frozen=True, slots=True)
class Part:
    """Documents of the shard `shard`, which has the parts 0, 1, … up to the one that is `last`."""

    shard: str
    number: int
    last: bool
    items: bytes  # messages
    sources: tuple[int, ...] = ()  # of the documents, where workers write into a store

    def __iter__(self) -> Iterator[Document | Skipped]:
        stream = io.BytesIO(self.items)
        while (message := receive(stream, MOST_MESSAGE)) is not None:
            yield item_of(message)

    def table(self) -> pyarrow.Table:
        """The part as a table of one row."""
        return one_row({**asdict(self), "sources": list(self.sources)})


@dataclass(frozen=True, slots=True)
class Failed:
    """A document that was set aside: the keys of its texts, and the reason."""

    document: str
    reason: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """The answer to a part. `rows`: its passages with their vectors, an Arrow stream; `seconds` an actor took.

    changed: of the documents, those that were in the store before, where workers write into it. `rows` is empty then.
    cut_passages, cut_tokens: beyond the encoder's maximum length.
    """

    shard: str
    number: int
    last: bool
    rows: bytes
    documents: int
    passages: int
    embedded: int
    seconds: float
    worker: str
    failed: tuple[Failed, ...] = ()
    skipped: tuple[Skipped, ...] = field(default=())
    changed: int = 0
    cut_passages: int = 0
    cut_tokens: int = 0

    def table(self) -> pyarrow.Table:
        """The answer as a table of one row."""
        told = {"failed": [asdict(one) for one in self.failed], "skipped": [asdict(one) for one in self.skipped]}
        return one_row({**asdict(self), "failed": json.dumps(told), "skipped": ""})


def part_of(row: JsonObject) -> Part:
    """The part in a row of `Part.table`."""
    return Part(**{**row, "sources": tuple(row["sources"])})


def done_of(row: JsonObject) -> Done:
    """The answer in a row of `Done.table`."""
    told = json.loads(row["failed"])
    failed = tuple(Failed(one["document"], one["reason"], tuple(one["keys"])) for one in told["failed"])
    return Done(**{**row, "failed": failed, "skipped": tuple(Skipped(**one) for one in told["skipped"])})


def documents(pieces: Iterable[Piece]) -> Iterator[Document | Skipped]:
    """The documents of the pieces, as the local path reads them, and what cannot be read, with the reason."""
    return (item for item, _ in located(pieces))


def located(pieces: Iterable[Piece]) -> Iterator[tuple[Document | Skipped, int | None]]:
    """As `documents`, each with the number of its file in the store, where workers write into it."""
    seen: set[str] = set()
    for piece in pieces:
        try:
            for item in _items(piece, Path(piece.file.location)):
                yield _checked(item, seen), piece.file.source
        except (Unreadable, UsageError) as error:
            yield Skipped(piece.file.uri, reason(error)), None


def parts(
    shard: str, items: Iterable[tuple[Document | Skipped, int | None]], known: Container[bytes] | None = None
) -> Iterator[Part]:
    """The parts of a shard; at least one. Documents whose key is in `known` are left out: they are stored."""
    sources: list[int] = []
    packed, size, number = bytearray(), 0, 0
    for item, source in items:
        if isinstance(item, Document) and known is not None and key(item.id, text_hash(item.text), item.title) in known:
            continue
        if size >= PART_BYTES:
            yield Part(shard, number, False, bytes(packed), tuple(sources))
            packed, sources, size, number = bytearray(), [], 0, number + 1
        message, is_sent = _packed(item)
        packed += message
        if isinstance(item, Document) and is_sent and source is not None:
            sources.append(source)
        size += len(item.text) if isinstance(item, Document) else len(item.reason)
    yield Part(shard, number, True, bytes(packed), tuple(sources))


def _packed(item: Document | Skipped) -> tuple[bytes, bool]:
    """The message of an item; of a document that none can carry, the reason, and False."""
    try:
        return packed_item(item, MOST_MESSAGE), True
    except TooLarge:
        name = item.id if isinstance(item, Document) else item.path
        reason = f"its headings, pages and metadata are more than {MOST_VALUES:,} values"
        return packed_item(Skipped(name, reason), MOST_MESSAGE), False


def key(document: str, text_sha256: str, title: str | None) -> bytes:
    """By what a stored document is known whose vectors are right: its id, text and title."""
    return hashlib.sha256(f"{document}\0{text_sha256}\0{meta_hash(title, {})}".encode()).digest()[:KEY]


def _items(piece: Piece, path: Path) -> Iterator[Document | Skipped]:
    file = piece.file
    read = loaders.read_from(path, file.kind, file.fields, piece.start, hashlib.sha256(), end=piece.end)
    if piece.end is None or not loaders.goes_on(loaders.loader_for(path, file.kind)):
        yield from (named(file.uri, path, item) for item, _ in read)  # nothing else is read
        return
    for item, place in read:
        if place is None and not piece.is_last:
            return
        if place is not None and place.at > piece.end:  # also what was added meanwhile
            return
        yield named(file.uri, path, item)


def _checked(item: Document | Skipped, seen: set[str]) -> Document | Skipped:
    """The item, or why it cannot be stored: the reasons of the local path."""
    if isinstance(item, Skipped):
        return item
    try:
        check_document(item)
    except Unreadable as error:
        return Skipped(repr(item.id), f"document {item.id!r}: {error.message}")
    if item.id in seen:
        return Skipped(item.id, f"its id {item.id!r} was already used in this shard")
    seen.add(item.id)
    return item


def one_row(values: JsonObject) -> pyarrow.Table:
    """A table of one row, which is a block of a Ray dataset."""
    return arrow("a job on Ray").table({name: [value] for name, value in values.items()})
