"""Documents that do not come from a followed file: standard input, and files passed as name and content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from semsearch.documents import loaders, walk
from semsearch.documents.loaders import Fields
from semsearch.documents.textless import Textless
from semsearch.errors import Unreadable, UsageError
from semsearch.indexing.file_reader import named, reason
from semsearch.stores.records import text_hash
from semsearch.types import Document, Omission, Skipped


def stream_documents(stream: BinaryIO, kind: str, fields: Fields) -> Iterator[Document | Skipped]:
    """The documents of standard input, none for a blank one. The same input has the same ids every time.

    Raises Unreadable for binary input.
    """
    try:
        for item in _reported(loaders.load_stream(stream, kind, fields)):
            if isinstance(item, Document) and item.id.startswith("#"):
                yield replace(item, id=f"stdin{item.id}")
            elif isinstance(item, Document) and not item.id and item.text.strip():
                yield replace(item, id=f"stdin-{text_hash(item.text)[:8]}")
            elif isinstance(item, Skipped) or item.id:
                yield item
    except Unreadable as error:
        raise Unreadable(f"standard input cannot be read: {error.message}.", "Pipe text or records into it.") from error


def file_documents(name: str, stream: BinaryIO, kind: str, fields: Fields) -> Iterator[Document | Skipped]:
    """The documents of a file that was passed as name and content, under the ids that they would have in a folder."""
    name = walk.printable(name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1])
    suffixes = "".join(Path(name).suffixes)[-40:]  # the name itself may not be possible on this file system
    try:
        with loaders.spooled(stream, f"file{suffixes if suffixes.isprintable() else ''}") as path:
            yield from _reported(named(name, path, item) for item in loaders.load(path, kind, fields))
    except (Unreadable, UsageError) as error:
        yield Skipped(name, reason(error))


def _reported(items: Iterable[Document | Skipped]) -> Iterator[Document | Skipped]:
    """The items of a file. What was left out of one without a text counts with its first document; without any, it is
    reported as skipped.
    """
    whole, has_documents = None, False
    for item in items:
        if isinstance(item, Textless) and item.whole:
            whole = item
            continue
        if isinstance(item, Document) and whole and not has_documents:
            counted = Counter(dict(whole.omissions))
            counted.update(dict(item.omissions))
            yield replace(item, omissions=tuple(map(Omission._make, counted.items())))
        else:
            yield item
        has_documents |= isinstance(item, Document)
    if whole and not has_documents:
        yield replace(whole, whole=False)
