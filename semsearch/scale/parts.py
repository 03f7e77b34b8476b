"""What passes between the driver and the actors of a job: parts of the input, and the answers to them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from semsearch.documents import loaders
from semsearch.documents.loaders import Fields
from semsearch.errors import Unreadable, UsageError
from semsearch.indexing.file_reader import named
from semsearch.scale.keys import KIND, document_key
from semsearch.stores.entry_checks import check_new
from semsearch.stores.records import text_hash
from semsearch.types import Document

PART_BYTES = 2**17  # of text: some 170 passages of 192 tokens, 2 to 20 s of work for a core
TRIES = 2
ENDED = "the process that embedded it ended, twice"


def row_type(dim: int) -> np.dtype[np.void]:
    """A text by its key, and its vector."""
    return np.dtype([("key", KIND), ("vector", np.float32, (dim,))])


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: the name that its documents get, where it is, and how it is read."""

    uri: str
    location: str
    size: int
    kind: str
    fields: Fields


@dataclass(frozen=True, slots=True)
class Part:
    """Documents that are embedded together. `size`: the bytes of the files that were read to their ends for them.

    losses: how often the process that embedded them has ended. failed: why they are not embedded any more.
    """

    documents: tuple[Document, ...]
    size: int = 0
    losses: int = 0
    failed: str = ""

    @property
    def letters(self) -> int:
        """Of all texts."""
        return sum(len(document.text) for document in self.documents)

    def after_loss(self) -> Iterator[Part]:
        """What is done next when the process of a part has ended: the same again, then one document at a time, and
        each that ends its process as often by itself is set aside.
        """
        if self.losses + 1 < TRIES or self.failed:
            yield replace(self, losses=self.losses + 1)
        elif len(self.documents) == 1:
            yield replace(self, failed=ENDED)
        else:
            for at, document in enumerate(self.documents):
                yield Part((document,), 0 if at else self.size)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a part of so many bytes of input; `seconds` an actor took, the one called `worker`.

    keys: those of its documents, one after the other. vectors: an array of `row_type`. set_aside: why the encoder
    failed, by the keys (in hexadecimal digits) of the texts of documents that are left out. cut_passages, cut_tokens:
    beyond its maximum length.
    """

    size: int
    keys: bytes
    vectors: bytes
    documents: int
    passages: int
    embedded: int
    seconds: float
    worker: str
    set_aside: Mapping[str, str] = field(default_factory=dict)
    cut_passages: int = 0
    cut_tokens: int = 0


def documents(file: File) -> Iterator[Document]:
    """The documents of a file that can be stored, as the local path reads them, which reports all others itself."""
    path, seen = Path(file.location), set[str]()
    try:
        for item in loaders.load(path, file.kind, file.fields):
            document = named(file.uri, path, item)
            if not isinstance(document, Document) or document.id in seen:
                continue
            try:
                check_new(document, new_id=False)
            except Unreadable:
                continue
            seen.add(document.id)
            yield document
    except (Unreadable, UsageError):
        return


def parts(files: Iterable[File], present: Container[bytes]) -> Iterator[Part]:
    """The documents of the files, in their order, in parts; those whose key is `present` are left out."""
    taken, letters, size = list[Document](), 0, 0
    for file in files:
        for document in documents(file):
            if document_key(document.id, text_hash(document.text), document.title) in present:
                continue
            if letters >= PART_BYTES:
                yield Part(tuple(taken), size)
                taken, letters, size = [], 0, 0
            taken.append(document)
            letters += len(document.text)
        size += file.size
    if taken:
        yield Part(tuple(taken), size)
