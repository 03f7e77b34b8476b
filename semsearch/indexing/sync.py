"""Synchronisation with files: running `index` again finds new, changed, moved and deleted files.

A file with the same size and time as before is not opened, unless all are compared by content. A new file with the
content of one that is gone has moved: its passages keep their vectors; so have the files of a folder that was renamed
(`moved_folders`). A file that a killed run did not finish is read again by the next run.

The id of a document that comes from a file is the file's path below the indexed folder (see `sources` for several
folders); a record of a JSONL, CSV or SQLite file has its own id, or the file's path and its number. Where a document
from elsewhere has that id already, the record is called by both, products.csv#1, and keeps that name.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from pathlib import Path

from semsearch.documents import loaders, textless
from semsearch.documents.loaders import Exceeded, Limits
from semsearch.documents.textless import Textless
from semsearch.errors import Unreadable, UsageError
from semsearch.indexing import file_reader
from semsearch.indexing.file_reader import FileHash, FileReader, reason
from semsearch.indexing.ingest import BATCH, BATCH_CHARACTERS, LOOKED_UP, Ingest, already_used, weight
from semsearch.indexing.run_report import Outcome, Refusals
from semsearch.indexing.sources import SourceFile, SyncOptions, Update, absence, below, in_scope, ordered, walked
from semsearch.indexing.visited import BitSet
from semsearch.stores.protocol import StoreWriter
from semsearch.stores.records import UNFINISHED, UNSURE, Bookmark, DocumentRow, Source
from semsearch.types import Document, Progress, Skipped
from semsearch.utils.batches import batches

LOG = logging.getLogger(__name__)
MUCH, AT_FIRST = 2**20, 64  # bytes to read, beyond which so many of the smallest files are read first
MOST_COMPARED = 500  # files or documents that are looked up in the store together: 3 µs each, alone 35
JUST_WRITTEN_NS = 2 * 10**9  # a second write within the clock's tick would leave time and size as they are


def sync(
    writer: StoreWriter,
    update: Update,
    ingest: Ingest,
    progress: Callable[[Progress], None] = lambda _: None,
) -> None:
    """Bring the store in line with the files of an update. The outcomes are counted in `ingest.report`."""
    report = ingest.report
    away = {scope: why for scope in update.scopes if (why := absence(scope))}
    report.warnings += [
        f"{scope} {why}; its documents stay in the index. Where it has moved, name its new place, and they follow: "
        f"semsearch index NEW_PLACE -n {writer.reader.name}"
        for scope, why in away.items()
    ]
    present = [scope for scope in update.scopes if scope not in away]
    roots, options = update.roots, update.options
    unseen: list[Path] = []
    run = _FileSync(writer, ingest, options, update.moved, progress)
    for batch in batches(walked(present, roots, options, unseen, report.warnings), MOST_COMPARED):
        run.compare(batch)
    if options.prune:
        run.find_gone(lambda source: in_scope(source, present, roots) and not below(source, unseen))
    run.read()
    if run.gone:
        with writer.transaction():
            report.count("deleted", writer.delete(sources=[source.id for source in run.gone.values()]))


class _FileSync:
    """One pass over the files that were found. Sources whose files have moved are removed from `gone`."""

    def __init__(
        self,
        writer: StoreWriter,
        ingest: Ingest,
        options: SyncOptions,
        moved: Mapping[str, str],
        progress: Callable[[Progress], None],
    ) -> None:
        self.gone: dict[tuple[str, str], Source] = {}
        self._writer, self._reader = writer, writer.reader
        self._ingest, self._counted = ingest, ingest.report
        self._options = options
        self._moved = moved
        self._progress = progress
        self._refusals = Refusals(self._reader, Limits.current())
        self._there = BitSet()  # the stored sources whose files were found
        self._todo: list[SourceFile] = []  # the files to read
        self._present = 0  # files
        self._files = 0  # to read in all
        self._gone_ids: set[int] = set()
        self._step = Progress(0, 0, "bytes")
        ingest.while_waiting(self._report_again)
        self._by_content: defaultdict[str, list[Source]] = defaultdict(list)

    # ---- what has changed

    def compare(self, items: Sequence[SourceFile | Skipped]) -> None:
        """Count the unchanged files among those that were found, and put the others on the list to read."""
        stored = self._stored([item for item in items if isinstance(item, SourceFile)])
        for item in items:
            if isinstance(item, Skipped):
                self._counted.skip(item)
                continue
            self._present += 1
            source = stored.get(self._key(item))
            if source is not None:
                self._there.add(source.id)
            if source is not None and self._is_unchanged(item, source):
                self._count_same(item, source)
                self._report_omissions(item.uri, source)
            else:
                self._todo.append(item)
        self._progress(Progress(self._present, 0, "files", "", self._ingest.written))

    def find_gone(self, is_covered: Callable[[Source], bool]) -> None:
        """Find the sources without a file, in places that this run covers."""
        absent = (source for source in self._reader.sources() if source.id not in self._there)
        self.gone = {source.key: source for source in absent if is_covered(source)}
        self._gone_ids = {source.id for source in self.gone.values()}
        for source in self.gone.values():
            self._by_content[source.sha256].append(source)

    def _stored(self, files: Sequence[SourceFile]) -> dict[tuple[str, str], Source]:
        """What is stored of these files, by key."""
        return {one.key: one for one in self._reader.sources(keys=list(map(self._key, files)))}

    def _key(self, file: SourceFile) -> tuple[str, str]:
        """What is stored of a file has this key: a dry run leaves that of a folder which has moved where it was."""
        base = file.naming.base
        return self._moved.get(base, base) if self._writer.dry_run else base, file.path

    def _count_same(self, file: SourceFile, stored: Source) -> None:
        """Count the documents of a file with the same content as before."""
        self._counted.count("moved" if file.naming.base in self._moved else "unchanged", stored.documents)

    def _is_unchanged(self, file: SourceFile, stored: Source) -> bool:
        """Whether size and time are as before, so that the file need not be opened."""
        if self._options.force or self._options.checksums or file.naming.root.fields.sql:
            return False
        same = (stored.mtime_ns, stored.size) == (file.entry.mtime_ns, file.entry.size)
        return same and stored.loader == loaders.loader_for(file.entry.path, file.naming.root.kind)

    # ---- the files to read

    def read(self) -> None:
        """Read the files on the list."""
        total, done = sum(file.entry.size for file in self._todo), 0
        self._files = len(self._todo)
        if self._options.first is not None:
            self._todo = ordered(self._todo, self._options.first)
        elif total > MUCH and next(iter(self._reader.sources()), None) is None:  # somebody may wait for a first hit
            limit = nsmallest(AT_FIRST, (file.entry.size for file in self._todo))[-1]
            self._todo.sort(key=lambda file: file.entry.size > limit)
        self._todo.reverse()
        for file, stored in self._listed():
            self._report(done, total, file.uri)
            try:
                self._read_file(file, stored, done, total)
            except (Unreadable, UsageError) as error:
                if isinstance(error, UsageError) and self._present == 1:
                    raise  # --text-field and the like were meant for this file, and it has no such thing
                stays = " (the version indexed before stays)" if stored else ""
                self._counted.skip(Skipped(file.uri, reason(error) + stays))
            done += file.entry.size
        self._ingest.flush()
        self._report(total, total)

    def _listed(self) -> Iterator[tuple[SourceFile, Source | None]]:
        """The files on the list, which are taken off it, with what is stored of each; no other file changes that.

        Most files are one document of their name: these are looked up with them.
        """
        while self._todo:
            some = self._todo[: -LOOKED_UP - 1 : -1]
            stored = self._stored(some)
            self._ingest.look_up([file.uri for file in some])
            for file in some:
                self._todo.pop()
                yield file, stored.get(self._key(file))

    def _read_file(self, file: SourceFile, stored: Source | None, done: int, total: int) -> None:
        root = file.naming.root
        bookmark = stored.bookmark if stored and not self._options.force else None
        content = file_reader.file_hash(file.entry.path, bookmark.at if bookmark else 0)
        source = replace(file.source, sha256=content.sha256, loader=loaders.loader_for(file.entry.path, root.kind))
        if time.time_ns() - source.mtime_ns < JUST_WRITTEN_NS:
            source = replace(source, size=UNSURE)
        if stored is not None and self._has_same_content(stored, source) and not root.fields.sql:
            self._count_same(file, stored)
            self._report_omissions(file.uri, stored)
            self._ingest.finish(replace(source, bookmark=stored.bookmark, omissions=stored.omissions))
            return
        if stored is None and self._take_moved(file, source):
            return
        reader = self._opened(file, stored, content, bookmark)
        skipped = len(self._counted.skipped)
        read = reader.start.at if reader.start else 0
        for batch in self._documents(reader, source):
            self._put_all(reader, source, stored, batch)
            read += sum(len(item.text) for item in batch if isinstance(item, Document))
            last = batch[-1]
            self._report(done + min(read, file.entry.size), total, last.path if isinstance(last, Skipped) else last.id)
        source = replace(source, omissions=reader.omissions, documents=int(not reader.is_textless))
        self._report_omissions(file.uri, source)
        if not reader.is_textless and len(self._counted.skipped) > skipped:
            source = replace(source, size=UNFINISHED)  # every run reports the skipped records, not only the first
        left = self._left(stored) if stored and not reader.exact else []
        alone = self._options.prune or not left
        self._ingest.finish(replace(source, bookmark=reader.bookmark() if alone else None))
        if left and self._options.prune:
            self._writer.delete(sorted(left))
            self._ingest.forget(left)
            self._counted.count("deleted", len(left))

    def _report_omissions(self, uri: str, source: Source) -> None:
        """Every run reports what was left out of a file, and a file of which no text remains."""
        self._counted.omit(source.omissions)
        if not source.documents:
            self._counted.skip(Skipped(uri, textless.reason(source.omissions)))

    def _has_same_content(self, stored: Source, source: Source) -> bool:
        whole = stored.size != UNFINISHED
        return whole and not self._options.force and (stored.sha256, stored.loader) == (source.sha256, source.loader)

    def _left(self, stored: Source) -> list[str]:
        """The documents that a file had before and has no more."""
        rows = self._reader.document_rows(source=stored.id)
        return [row.uri for row in rows if self._ingest.visited.is_left(row)]

    def _opened(
        self, file: SourceFile, stored: Source | None, content: FileHash, bookmark: Bookmark | None
    ) -> FileReader:
        """The reader of a file, from its bookmark on if it has one that is right."""
        count = stored.documents if stored else 0
        root = file.naming.root
        fields = replace(root.fields, max_bytes=root.rules.max_bytes)
        reader = file_reader.opened(file.uri, file.entry.path, root.kind, fields, content, count, bookmark)
        if stored is not None and reader.start is not None:
            self._counted.count("unchanged", count)
            reader.omit(stored.omissions)
            LOG.info(f"{file.uri} is read from record {reader.start.number + 1:,} on: the {count:,} before are stored.")
        elif stored is not None and stored.size == UNFINISHED and count >= BATCH:
            LOG.warning(
                f"{file.uri} is not completely indexed, and is read again from its beginning. Its {count:,} "
                "documents in the index are only compared, not encoded again."
            )
        return reader

    def _documents(self, reader: FileReader, source: Source) -> Iterator[list[Document | Skipped]]:
        """The documents of a file, in batches that are compared with the store together. Raises Exceeded at once if
        reading it did so before.

        A batch is one document where a commit in between needs the bookmark behind that very document.
        """
        heaviest = 0 if reader.exact else BATCH_CHARACTERS
        try:
            if not self._options.force:
                self._refusals.check(source.sha256, source.loader, reader.fields)
            yield from batches(reader.items(self._refusals.limits), MOST_COMPARED, weight=weight, heaviest=heaviest)
        except Exceeded as error:
            self._counted.refused.append(self._refusals.record(source.sha256, source.loader, reader.fields, error))
            raise

    def _put_all(
        self, reader: FileReader, source: Source, stored: Source | None, batch: Sequence[Document | Skipped]
    ) -> None:
        """Put some documents of a file."""
        ids = [item.id for item in batch if isinstance(item, Document)]
        stamps = self._ingest.stamps(ids)
        names = self._with_file(reader, source, stored, ids, stamps)
        for item in batch:
            if isinstance(item, Textless) and item.whole:
                continue  # unless other documents come from the file, it is reported at the end
            if isinstance(item, Skipped):
                self._counted.skip(item)
            elif name := names.get(item.id):
                self._put(reader, source, stored, replace(item, id=name), stamps.get(name))
            else:
                self._put(reader, source, stored, item, stamps.get(item.id))

    def _with_file(
        self,
        reader: FileReader,
        source: Source,
        stored: Source | None,
        ids: Sequence[str],
        stamps: dict[str, DocumentRow],
    ) -> dict[str, str]:
        """The names with the file for the records whose ids belong to documents from elsewhere, or did when they were
        stored; their stamps are put among the others.
        """
        elsewhere = {
            document: self._is_elsewhere(document, source, stamps.get(document))
            for document in ids
            if not (document == reader.uri or document.startswith(f"{reader.uri}#"))
            and not _is_of(stamps.get(document), stored)
        }
        names = {document: f"{reader.uri}#{document}" for document, other in elsewhere.items() if other or stored}
        more = self._ingest.stamps(list(names.values()))
        stamps |= more
        return {own: name for own, name in names.items() if elsewhere[own] or _is_of(more.get(name), stored)}

    def _is_elsewhere(self, document: str, source: Source, stamp: DocumentRow | None) -> bool:
        """Whether a document with this id comes from elsewhere, and is not going to be deleted."""
        if self._ingest.visited.has(document, stamp):
            return self._ingest.visited.file(document) != source.key
        return stamp is not None and stamp.source not in self._gone_ids

    def _put(
        self, reader: FileReader, source: Source, stored: Source | None, document: Document, stamp: DocumentRow | None
    ) -> None:
        """Put one document of a file."""
        own = _is_of(stamp, stored)
        new = not self._ingest.visited.has(document.id, stamp)
        place = f"{reader.uri}:{document.line}" if document.line else reader.uri
        if stamp is not None and not own and new and stamp.source not in self._gone_ids:
            self._counted.skip(Skipped(place, f"its id {document.id!r} belongs to a document from elsewhere already"))
            reader.give_up()
            return
        if own and new and reader.start is not None:
            outcome: Outcome | Skipped = already_used(document, source, source.key)
        else:
            bookmark = reader.bookmark if reader.exact else lambda: None
            adopt = stamp is not None and not own
            try:
                outcome = self._ingest.put(document, source, stamp=stamp, adopt=adopt, bookmark=bookmark)
            except Unreadable as error:
                outcome = Skipped(place, f"document {document.id!r}: {error.message}")
        if isinstance(outcome, Skipped):
            outcome = replace(outcome, path=place)
        self._counted.count(outcome)
        if isinstance(outcome, Skipped):
            visited = self._ingest.visited
            other = visited.has(document.id, stamp) and visited.file(document.id) != source.key
            reader.give_up() if other else reader.skip(outcome)  # it would be stored without the other file

    def _take_moved(self, file: SourceFile, source: Source) -> bool:
        """Whether a file that is gone had this content: its documents, with their vectors, get the new name then."""
        twins = self._by_content[source.sha256]
        old = next((twin for twin in twins if twin.loader == source.loader and twin.size != UNFINISHED), None)
        if old is None or not old.documents:
            return False
        twins.remove(old)
        del self.gone[old.key]
        documents = [stamp.uri for stamp in self._reader.document_rows(source=old.id)]
        self._counted.count("moved", len(documents))
        self._ingest.flush()
        names = {}
        for document in documents:
            _, within, part = document.partition(f"{old.path}#")
            if within:  # a record by its number, or a part of the file by its name
                names[document] = f"{file.uri}#{part}"
            elif document.endswith(old.path):
                names[document] = file.uri
        self._report_omissions(file.uri, old)
        with self._writer.transaction():
            here = replace(source, id=old.id, bookmark=old.bookmark, omissions=old.omissions)
            self._writer.put_sources([here])
            for document, name in names.items():
                self._writer.revise(document, new_uri=name)
        self._ingest.forget([*documents, *names.values()])
        return True

    def _report(self, done: int, total: int, item: str = "") -> None:
        read = self._files - len(self._todo) - bool(item)  # without the present one
        self._step = Progress(done, total, "bytes", item, self._ingest.passages, read, self._files)
        self._progress(self._step)

    def _report_again(self) -> None:
        """The same step, with what was encoded meanwhile."""
        self._progress(replace(self._step, passages=self._ingest.passages))


def _is_of(stamp: DocumentRow | None, file: Source | None) -> bool:
    return stamp is not None and file is not None and stamp.source == file.id
