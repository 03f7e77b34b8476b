"""The input of a job: the files that the local path would read, with the names that it gives to their documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from semsearch.documents import loaders
from semsearch.documents.walk import FileEntry
from semsearch.errors import Unreadable
from semsearch.indexing import file_reader, sources
from semsearch.indexing.sources import SourceFile
from semsearch.scale import parts
from semsearch.scale.known import Known
from semsearch.scale.shards.shard import File, Piece
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import UNFINISHED, Source, text_hash
from semsearch.types import Document, Skipped


@dataclass
class Input:
    """The files to embed, what cannot be read, and the keys of documents in them that are stored already."""

    files: list[File] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    known: list[bytes] = field(default_factory=list)  # one text of keys for each file
    sources: list[Source] = field(default_factory=list)  # of the files, for a store


def of_index(update: sources.Update, reader: StoreReader) -> Input:
    """The files that are not in the store as they are now, and which of their documents are."""
    found = Input()
    there, new, unseen = set[int](), list[SourceFile](), list[Path]()
    for one in _walked(update, found, unseen):
        file = _file(one)
        known = reader.sources_at(one.naming.base, [one.path]).get(one.path)
        if known is None:
            new.append(one)
            continue
        there.add(known.id)
        if not update.options.force:
            if _is_stored(one, known):
                continue
            stamps = reader.documents_of(known.id)
            keys = Known.of(parts.key(stamp.uri, stamp.sha256, stamp.title) for stamp in stamps)
            if keys and _all_stored(file, keys):
                continue
            found.known.append(keys.keys.tobytes())
        found.files.append(file)
        found.sources.append(one.source)
    for one in _not_moved(new, update, reader, there, unseen):
        found.files.append(_file(one))
        found.sources.append(one.source)
    return found


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


def _walked(update: sources.Update, found: Input, unseen: list[Path]) -> Iterator[SourceFile]:
    present = [scope for scope in update.scopes if scope.exists()]
    for item in sources.walked(present, update.roots, update.options, unseen, found.warnings):
        if isinstance(item, Skipped):
            found.skipped.append(item)
        else:
            yield item


def _file(one: SourceFile) -> File:
    root = one.naming.root
    fields = replace(root.fields, max_bytes=root.rules.max_bytes)
    return File(one.uri, one.entry.location, one.entry.size, root.kind, fields)


def _is_stored(one: SourceFile, known: Source) -> bool:
    """Whether a file has the size and time, or the content, that it had when all of it was stored."""
    root, now = one.naming.root, one.entry
    if root.fields.sql or known.size == UNFINISHED:
        return False
    try:
        if known.loader != loaders.loader_for(now.path, root.kind):
            return False
        return _same_time(now, known) or (
            known.size == now.size and file_reader.file_hash(now.path).sha256 == known.sha256
        )
    except Unreadable:
        return False


def _all_stored(file: File, keys: Known) -> bool:
    """Whether the vectors of all documents of a file are there: records were removed, cannot be read, or other facts
    about them have changed."""
    items = (item for item in parts.documents([Piece(file)]) if isinstance(item, Document))
    return all(parts.key(item.id, text_hash(item.text), item.title) in keys for item in items)


def _same_time(now: FileEntry, known: Source) -> bool:
    return (known.mtime_ns, known.size) == (now.mtime_ns, now.size)
