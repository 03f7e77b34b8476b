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
from semsearch.scale.keys import document_key
from semsearch.scale.parts import File
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import UNFINISHED, UNSURE, Source
from semsearch.types import Skipped


@dataclass
class Input:
    """The files to embed, and the keys of documents in them that are stored already."""

    files: list[File] = field(default_factory=list)
    stored: list[bytes] = field(default_factory=list)

    def add(self, one: SourceFile) -> None:
        """A file to embed."""
        root, now = one.naming.root, one.entry
        fields = replace(root.fields, max_bytes=root.rules.max_bytes)
        self.files.append(File(one.uri, now.location, now.size, root.kind, fields))


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
            job.stored += [document_key(stamp.uri, stamp.sha256, stamp.title) for stamp in stamps]
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


def _is_stored(one: SourceFile, stored: Source) -> bool:
    """Whether a file has the size and time, or the content, that it had when all of it was stored."""
    root, now = one.naming.root, one.entry
    if root.fields.sql or stored.size == UNFINISHED:
        return False
    try:
        if stored.loader != loaders.loader_for(now.path, root.kind):
            return False
        if stored.size not in (now.size, UNSURE):
            return False
        is_same = (stored.size, stored.mtime_ns) == (now.size, now.mtime_ns)
        return is_same or file_reader.file_hash(now.path).sha256 == stored.sha256
    except Unreadable:
        return False
