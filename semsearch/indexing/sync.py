"""Synchronisation with files: running `index` again finds new, changed, moved and deleted files.

A file with the same size and time as before is not opened. A new file with the content of one that is gone has moved:
its passages keep their vectors. A file that a killed run did not finish is read again by the next run.

The id of a document that comes from a file is the file's path below the indexed folder (see `sources` for several
folders); a record of a JSONL, CSV or SQLite file has its own id, or the file's path and its number.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from semsearch.documents import loaders
from semsearch.documents.loaders import Exceeded, Limits
from semsearch.errors import Unreadable, UsageError
from semsearch.indexing import reading
from semsearch.indexing.ingest import BATCH, BATCH_CHARACTERS, LOOKED_UP, Ingest, already_used, weight
from semsearch.indexing.reading import Content, Reading, reason
from semsearch.indexing.refusals import Refusals
from semsearch.indexing.run_report import Outcome
from semsearch.indexing.seen import NumberSet
from semsearch.indexing.sources import File, Roots, SyncOptions, below, in_scope, walked
from semsearch.stores.protocol import StoreWriter
from semsearch.stores.records import UNFINISHED, UNSURE, Bookmark, DocumentStamp, Source, at_places
from semsearch.types import Document, Progress, Skipped
from semsearch.utils.batches import batches

LOG = logging.getLogger(__name__)
MOST_COMPARED = 500  # files or documents that are looked up in the store together: 3 µs each, alone 35
JUST_WRITTEN_NS = 2 * 10**9  # a second write within the clock's tick would leave time and size as they are


def sync(
    writer: StoreWriter,
    roots: Roots,
    scopes: Sequence[Path],
    options: SyncOptions,
    ingest: Ingest,
    progress: Callable[[Progress], None] = lambda _: None,
) -> None:
    """Bring the store in line with the files of `scopes`. The outcomes are counted in `ingest.report`."""
    present = [scope for scope in scopes if scope.exists()]
    ingest.report.warnings += [
        f"{scope} does not exist; its documents stay in the index." for scope in scopes if not scope.exists()
    ]
    unseen: list[Path] = []
    run = _Run(writer, ingest, options, progress)
    for batch in batches(walked(present, roots, options, unseen, ingest.report.warnings), MOST_COMPARED):
        run.compare(batch)
    if options.prune:
        run.find_gone(lambda source: in_scope(source, present, roots) and not below(source, unseen))
    run.read()
    if run.gone:
        with writer.transaction():
            ingest.report.count("deleted", writer.drop_sources([source.id for source in run.gone.values()]))


@dataclass
class _Run:
    """One pass over the files that were found. Sources whose files have moved are removed from `gone`."""

    writer: StoreWriter
    ingest: Ingest
    options: SyncOptions
    progress: Callable[[Progress], None]

    def __post_init__(self) -> None:
        self._reader = self.writer.reader
        self._refusals = Refusals(self._reader, Limits.current())
        self._there = NumberSet()  # the known sources whose files were found
        self._todo: list[File] = []  # the files to read
        self._counts: dict[int, int] = {}  # documents of the sources of those that are read next
        self._found = 0  # files
        self._files = 0  # to read in all
        self.gone: dict[tuple[str, str], Source] = {}
        self._gone_ids: set[int] = set()
        self._by_content: defaultdict[str, list[Source]] = defaultdict(list)

    def compare(self, items: Sequence[File | Skipped]) -> None:
        """Count the unchanged files among those that were found, and put the others on the list to read."""
        unchanged = []
        known = self._known([item for item in items if isinstance(item, File)])
        for item in items:
            if isinstance(item, Skipped):
                self.ingest.report.skip(item)
                continue
            self._found += 1
            source = known.get((item.place.base, item.path))
            if source is not None:
                self._there.add(source.id)
            if source is not None and self._is_unchanged(item, source):
                unchanged.append(source.id)
            else:
                self._todo.append(item)
        if unchanged:
            self.ingest.report.count("unchanged", sum(self._reader.document_counts(unchanged).values()))
        self.progress(Progress(self._found, 0, "files", "", self.ingest.written))

    def _known(self, files: Sequence[File]) -> dict[tuple[str, str], Source]:
        """The sources of these files, by key."""
        return at_places(self._reader.sources_at, ((file.place.base, file.path) for file in files))

    def find_gone(self, is_covered: Callable[[Source], bool]) -> None:
        """Find the sources without a file, in places that this run covers."""
        absent = (source for source in self._reader.sources() if source.id not in self._there)
        self.gone = {source.key: source for source in absent if is_covered(source)}
        self._gone_ids = {source.id for source in self.gone.values()}
        for source in self.gone.values():
            self._by_content[source.sha256].append(source)

    def read(self) -> None:
        """Read the files on the list."""
        total, done = sum(file.found.size for file in self._todo), 0
        self._files = len(self._todo)
        self._todo.reverse()
        for file, known in self._listed():
            self._report(done, total, file.uri)
            try:
                self._read_file(file, known, done, total)
            except (Unreadable, UsageError) as error:
                if isinstance(error, UsageError) and self._found == 1:
                    raise  # --text-field and the like were meant for this file, and it has no such thing
                stays = " (the version indexed before stays)" if known else ""
                self._skip(file.uri, reason(error) + stays)
            done += file.found.size
        self.ingest.flush()
        self._report(total, total)

    def _listed(self) -> Iterator[tuple[File, Source | None]]:
        """The files on the list, which are taken off it, with what is stored of each; no other file changes that.

        Most files are one document of their name: these are looked up with them.
        """
        while self._todo:
            some = self._todo[: -LOOKED_UP - 1 : -1]
            known = self._known(some)
            self._counts = self._reader.document_counts([source.id for source in known.values()]) if known else {}
            self.ingest.look_up([file.uri for file in some])
            for file in some:
                self._todo.pop()
                yield file, known.get((file.place.base, file.path))

    def _stored(self, known: Source | None) -> int:
        """The number of documents of a file that is read next."""
        return self._counts.get(known.id, 0) if known else 0

    def _is_unchanged(self, file: File, known: Source) -> bool:
        """Whether size and time are as before, so that the file need not be opened."""
        if self.options.force or file.place.root.fields.sql:
            return False
        same = (known.mtime_ns, known.size) == (file.found.mtime_ns, file.found.size)
        return same and known.loader == loaders.loader_for(file.found.path, file.place.root.kind)

    def _read_file(self, file: File, known: Source | None, done: int, total: int) -> None:
        root = file.place.root
        bookmark = known.bookmark if known and not self.options.force else None
        found = reading.content(file.found.path, bookmark.at if bookmark else 0)
        loader = loaders.loader_for(file.found.path, root.kind)
        source = replace(file.source, sha256=found.sha256, loader=loader)
        if time.time_ns() - source.mtime_ns < JUST_WRITTEN_NS:
            source = replace(source, size=UNSURE)
        if known is not None and self._has_same_content(known, source) and not root.fields.sql:
            self.ingest.report.count("unchanged", self._stored(known))
            self.ingest.finish(replace(source, bookmark=known.bookmark))
            return
        if known is None and self._take_moved(file, source):
            return
        at_work = self._begin(file, known, found, bookmark)
        skipped = len(self.ingest.report.skipped)
        read = at_work.start.at if at_work.start else 0
        for batch in self._documents(at_work, source):
            read += self._put_all(at_work, source, known, batch)
            last = batch[-1]
            self._report(done + min(read, file.found.size), total, last.path if isinstance(last, Skipped) else last.id)
        if len(self.ingest.report.skipped) > skipped:
            source = replace(source, size=UNFINISHED)  # every run reports the skipped records, not only the first
        left = self._left(known) if known and not at_work.exact else []
        alone = self.options.prune or not left
        self.ingest.finish(replace(source, bookmark=at_work.bookmark() if alone else None))
        if left and self.options.prune:
            self.writer.delete(sorted(left))
            self.ingest.forget(left)
            self.ingest.report.count("deleted", len(left))

    def _left(self, known: Source) -> list[str]:
        """The documents that a file had before and has no more."""
        return [stamp.uri for stamp in self._reader.documents_of(known.id) if self.ingest.seen.is_left(stamp)]

    def _documents(self, at_work: Reading, source: Source) -> Iterator[list[Document | Skipped]]:
        """The documents of a file, in batches that are compared with the store together.

        A batch is one document where a commit in between needs the bookmark behind that very document. Those of a
        longer batch have different ids, so that what is stored of one does not depend on the others.
        """
        heaviest = 0 if at_work.exact else BATCH_CHARACTERS
        return batches(self._items(at_work, source), MOST_COMPARED, weight=weight, heaviest=heaviest, key=_id)

    def _put_all(
        self, at_work: Reading, source: Source, known: Source | None, batch: Sequence[Document | Skipped]
    ) -> int:
        """Put some documents of a file; the number of characters in them."""
        stamps = self.ingest.stamps([item.id for item in batch if isinstance(item, Document)])
        for item in batch:
            if isinstance(item, Skipped):
                self.ingest.report.skip(item)
            else:
                self._put(at_work, source, known, item, stamps.get(item.id))
        return sum(len(item.text) for item in batch if isinstance(item, Document))

    def _begin(self, file: File, known: Source | None, found: Content, bookmark: Bookmark | None) -> Reading:
        """The reading of a file, from its bookmark on if it has one that is right."""
        stored = self._stored(known)
        root = file.place.root
        fields = replace(root.fields, max_bytes=root.rules.max_bytes)
        at_work = reading.begin(file.uri, file.found.path, root.kind, fields, found, stored, bookmark)
        if at_work.start is not None:
            self.ingest.report.count("unchanged", stored)
            LOG.info(
                f"{file.uri} is read from record {at_work.start.number + 1:,} on: the {stored:,} before are stored."
            )
        elif known is not None and known.size == UNFINISHED and stored >= BATCH:
            LOG.warning(
                f"{file.uri} is not completely indexed, and is read again from its beginning. Its {stored:,} "
                "documents in the index are only compared, not encoded again."
            )
        return at_work

    def _items(self, at_work: Reading, source: Source) -> Iterator[Document | Skipped]:
        """The documents of a file. Raises Exceeded at once if it did so before."""
        try:
            if not self.options.force:
                self._refusals.check(source.sha256, source.loader, at_work.fields)
            yield from at_work.items(self._refusals.limits)
        except Exceeded as error:
            self.ingest.report.refused.append(
                self._refusals.record(source.sha256, source.loader, at_work.fields, error)
            )
            raise

    def _put(
        self, at_work: Reading, source: Source, known: Source | None, document: Document, stamp: DocumentStamp | None
    ) -> None:
        """Put one document of a file."""
        own = stamp is not None and known is not None and stamp.source == known.id
        new = not self.ingest.seen.has(document.id, stamp)
        if stamp is not None and not own and new and stamp.source not in self._gone_ids:
            self._skip(at_work.uri, f"its id {document.id!r} belongs to a document from elsewhere already")
            at_work.give_up()
            return
        if own and new and at_work.start is not None:
            outcome: Outcome | Skipped = already_used(document, source, source.key)
        else:
            outcome = self._ingested(at_work, source, document, stamp, adopt=stamp is not None and not own)
        self.ingest.report.count(outcome)
        if isinstance(outcome, Skipped):
            other = self.ingest.seen.has(document.id, stamp) and self.ingest.seen.file(document.id) != source.key
            at_work.give_up() if other else at_work.skip(outcome)  # it would be stored without the other file

    def _ingested(
        self, at_work: Reading, source: Source, document: Document, stamp: DocumentStamp | None, *, adopt: bool
    ) -> Outcome | Skipped:
        bookmark = at_work.bookmark if at_work.exact else lambda: None
        try:
            return self.ingest.put(document, source, stamp=stamp, adopt=adopt, bookmark=bookmark)
        except Unreadable as error:
            return Skipped(at_work.uri, f"document {document.id!r}: {error.message}")

    def _has_same_content(self, known: Source, source: Source) -> bool:
        whole = known.size != UNFINISHED
        return whole and not self.options.force and (known.sha256, known.loader) == (source.sha256, source.loader)

    def _take_moved(self, file: File, source: Source) -> bool:
        """Whether a file that is gone had this content: its documents, with their vectors, get the new name then."""
        twins = self._by_content[source.sha256]
        old = next((twin for twin in twins if twin.loader == source.loader and twin.size != UNFINISHED), None)
        if old is None:
            return False
        twins.remove(old)
        del self.gone[old.key]
        documents = [stamp.uri for stamp in self._reader.documents_of(old.id)]
        self.ingest.report.count("moved", len(documents))
        self.ingest.flush()
        with self.writer.transaction():
            self.writer.move_source(old.id, replace(source, bookmark=old.bookmark))
            for document in documents:
                _, within, part = document.partition(f"{old.path}#")
                if within:  # a record by its number, or a part of the file by its name
                    self._rename(document, f"{file.uri}#{part}")
                elif document.endswith(old.path):
                    self._rename(document, file.uri)
        self.ingest.forget(documents)
        return True

    def _rename(self, document: str, name: str) -> None:
        self.writer.rename(document, name)
        self.ingest.forget([name])

    def _skip(self, name: str, reason: str) -> None:
        self.ingest.report.skip(Skipped(name, reason))

    def _report(self, done: int, total: int, item: str = "") -> None:
        read = self._files - len(self._todo) - bool(item)  # without the present one
        self.progress(Progress(done, total, "bytes", item, self.ingest.written, read, self._files))


def _id(item: Document | Skipped) -> str | None:
    return None if isinstance(item, Skipped) else item.id
