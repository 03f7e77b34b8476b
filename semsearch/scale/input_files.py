"""The input of a job: the files that the local path would read, with the names that it gives to their documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from semsearch.documents import loaders
from semsearch.errors import Unreadable
from semsearch.indexing import file_reader, sources
from semsearch.indexing.sources import SourceFile
from semsearch.scale.keys import DocumentKeys, document_key
from semsearch.scale.parts import documents
from semsearch.scale.shards import File, Piece
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import UNFINISHED, Source, text_hash
from semsearch.types import Skipped


@dataclass
class Input:
    """The files to embed, as sources of a store too, and the keys of documents in them that are stored already."""

    files: list[File] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    stored: list[bytes] = field(default_factory=list)  # the keys of a file, one after the other

    def add(self, one: SourceFile) -> None:
        """A file to embed."""
        self.files.append(_file(one))
        self.sources.append(one.source)


def of_index(update: sources.Update, reader: StoreReader) -> Input:
    """The files that are not in the store as they are now, and which of their documents are."""
    job = Input()
    there, new, unseen = set[int](), list[SourceFile](), list[Path]()
    for one in _walked(update, unseen):
        stored = next(reader.sources(keys=[(one.naming.base, one.path)]), None)
        if stored is None:
            new.append(one)
            continue
        there.add(stored.id)
        if not update.options.force:
            if _is_stored(one, stored):
                continue
            stamps = reader.document_rows(source=stored.id)
            keys = DocumentKeys.joined(document_key(stamp.uri, stamp.sha256, stamp.title) for stamp in stamps)
            if len(keys) and _all_stored(_file(one), keys):
                continue
            job.stored.append(keys.keys.tobytes())
        job.add(one)
    for one in _not_moved(new, update, reader, there, unseen):
        job.add(one)
    return job


def _not_moved(
    new: Sequence[SourceFile],
    update: sources.Update,
    reader: StoreReader,
    there: set[int],
    unseen: Sequence[Path],
) -> Iterator[SourceFile]:
    """New files but those with the content of one that is gone, which keep its vectors (`sync`)."""
    present = [scope for scope in update.scopes if scope.exists()]
    absent = (source for source in reader.sources() if update.options.prune and source.id not in there)
    gone = Counter(
        (source.sha256, source.loader)
        for source in absent
        if source.size != UNFINISHED
        and sources.in_scope(source, present, update.roots)
        and not sources.below(source, unseen)
    )
    for one in new:
        content = _content(one) if gone else None
        if content is not None and content in gone:
            gone[content] -= 1
            gone += Counter()  # without those that are none left
        else:
            yield one


def _content(one: SourceFile) -> tuple[str, str] | None:
    try:
        return file_reader.file_hash(one.entry.path).sha256, loaders.loader_for(one.entry.path, one.naming.root.kind)
    except Unreadable:
        return None


def _walked(update: sources.Update, unseen: list[Path]) -> Iterator[SourceFile]:
    present = [scope for scope in update.scopes if scope.exists()]
    items = sources.walked(present, update.roots, update.options, unseen, [])
    return (item for item in items if not isinstance(item, Skipped))


def _file(one: SourceFile) -> File:
    root = one.naming.root
    fields = replace(root.fields, max_bytes=root.rules.max_bytes)
    return File(one.uri, one.entry.location, one.entry.size, root.kind, fields)


def _is_stored(one: SourceFile, stored: Source) -> bool:
    """Whether a file has the size and time, or the content, that it had when all of it was stored."""
    root, now = one.naming.root, one.entry
    if root.fields.sql or stored.size == UNFINISHED:
        return False
    try:
        if stored.loader != loaders.loader_for(now.path, root.kind):
            return False
        if stored.size != now.size:
            return False
        return stored.mtime_ns == now.mtime_ns or file_reader.file_hash(now.path).sha256 == stored.sha256
    except Unreadable:
        return False


def _all_stored(file: File, keys: DocumentKeys) -> bool:
    """Whether the vectors of all documents of a file are there: records were removed, cannot be read, or other facts
    about them have changed."""
    return all(document_key(one.id, text_hash(one.text), one.title) in keys for one in documents(Piece(file)))
