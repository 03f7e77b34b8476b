"""Synchronisation with files: running `index` again finds new, changed, moved and deleted files.

A file with the same size and time as before is not opened. A new file with the content of one that is gone has moved:
its passages keep their vectors. A file that a killed run did not finish is read again by the next run.

The id of a document that comes from a file is the file's path below the indexed folder (see `sources` for several
folders); a record of a JSONL, CSV or SQLite file has its own id, or the file's path and its number.
"""

from __future__ import annotations

import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from semsearch.documents import loaders, walk
from semsearch.documents.loaders import Exceeded, Limits
from semsearch.documents.walk import FoundFile
from semsearch.errors import Unreadable, UsageError
from semsearch.indexing import reading
from semsearch.indexing.file_status import UNFINISHED, UNSURE
from semsearch.indexing.ingest import BATCH, Ingest, already_used
from semsearch.indexing.reading import Content, Reading, reason
from semsearch.indexing.refusals import Refusals
from semsearch.indexing.run_report import Outcome
from semsearch.indexing.sources import Root, Roots, SyncOptions
from semsearch.stores import drivers
from semsearch.stores.protocol import StoreWriter
from semsearch.stores.records import Bookmark, DocumentStamp, Source
from semsearch.types import Document, Progress, Skipped

LOG = logging.getLogger(__name__)
JUST_WRITTEN_NS = 2 * 10**9  # a second write within the clock's tick would leave time and size as they are
_NUMBERED = re.compile(r"(?P<file>.*)#(?P<number>\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _File:
    """A file that was found, with its record in the store."""

    found: FoundFile
    source: Source
    root: Root
    prefix: str

    @property
    def uri(self) -> str:
        return self.prefix + self.source.path


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
    files: list[_File] = []
    unseen: list[Path] = []
    for item in _walk(present, roots, options, unseen):
        ingest.report.skip(item) if isinstance(item, Skipped) else files.append(item)
    ingest.report.warnings += _left_out(present, roots, [*files, *ingest.report.skipped])
    known = writer.reader.sources()
    there = {file.source.key for file in files}
    gone = {
        key: source
        for key, source in known.items()
        if options.prune and key not in there and _in_scope(source, present, roots) and not _below(source, unseen)
    }
    _Run(writer, ingest, options, known, gone, progress).read(files)
    if gone:
        with writer.transaction():
            ingest.report.count("deleted", writer.drop_sources([source.id for source in gone.values()]))


@dataclass
class _Run:
    """One pass over the files that were found. Sources whose files have moved are removed from `gone`."""

    writer: StoreWriter
    ingest: Ingest
    options: SyncOptions
    known: dict[tuple[str, str], Source]
    gone: dict[tuple[str, str], Source]
    progress: Callable[[Progress], None]

    def __post_init__(self) -> None:
        self._reader = self.writer.reader
        self._refusals = Refusals(self._reader, Limits.current())
        self._counts = self._reader.document_counts()
        self._gone_ids = {source.id for source in self.gone.values()}
        self._by_content: defaultdict[str, list[Source]] = defaultdict(list)
        for source in self.gone.values():
            self._by_content[source.sha256].append(source)

    def read(self, files: Sequence[_File]) -> None:
        todo = []
        for file in files:
            if self._is_unchanged(file):
                self.ingest.report.count("unchanged", self._stored(self.known[file.source.key]))
            else:
                todo.append(file)
        total = sum(file.found.size for file in todo)
        done = 0
        for file in todo:
            self._report(done, total, file.uri)
            try:
                self._read_file(file, done, total)
            except (Unreadable, UsageError) as error:
                if isinstance(error, UsageError) and len(files) == 1:
                    raise  # --text-field and the like were meant for this file, and it has no such thing
                stays = " (the version indexed before stays)" if file.source.key in self.known else ""
                self._skip(file.uri, reason(error) + stays)
            done += file.found.size
        self.ingest.flush()
        self._report(total, total)

    def _stored(self, known: Source) -> int:
        """The number of documents of a file at the beginning of the run."""
        return self._counts.get(known.id, 0)

    def _is_unchanged(self, file: _File) -> bool:
        """Whether size and time are as before, so that the file need not be opened."""
        known = self.known.get(file.source.key)
        if known is None or self.options.force or file.root.fields.sql:
            return False
        same = (known.mtime_ns, known.size) == (file.source.mtime_ns, file.source.size)
        return same and known.loader == loaders.loader_for(file.found.path, file.root.kind)

    def _read_file(self, file: _File, done: int, total: int) -> None:
        known = self.known.get(file.source.key)
        bookmark = known.bookmark if known and not self.options.force else None
        found = reading.content(file.found.path, bookmark.at if bookmark else 0)
        loader = loaders.loader_for(file.found.path, file.root.kind)
        source = replace(file.source, sha256=found.sha256, loader=loader)
        if time.time_ns() - source.mtime_ns < JUST_WRITTEN_NS:
            source = replace(source, size=UNSURE)
        if known is not None and self._has_same_content(known, source) and not file.root.fields.sql:
            self.ingest.report.count("unchanged", self._stored(known))
            self.ingest.finish(replace(source, bookmark=known.bookmark))
            return
        if known is None and self._take_moved(file, source):
            return
        at_work = self._begin(file, known, found, bookmark)
        left = set(self._reader.documents_of(known.id)) if known and not at_work.exact else set()
        skipped = len(self.ingest.report.skipped)
        read = at_work.start.at if at_work.start else 0
        for item in self._items(at_work, source):
            if isinstance(item, Skipped):
                self.ingest.report.skip(item)
                continue
            self._put(at_work, source, known, item, left)
            read = min(read + len(item.text), file.found.size)
            self._report(done + read, total, item.id)
        if len(self.ingest.report.skipped) > skipped:
            source = replace(source, size=UNFINISHED)  # every run reports the skipped records, not only the first
        alone = self.options.prune or not left
        self.ingest.finish(replace(source, bookmark=at_work.bookmark() if alone else None))
        if left and self.options.prune:
            self.writer.delete(sorted(left))
            self.ingest.report.count("deleted", len(left))

    def _begin(self, file: _File, known: Source | None, found: Content, bookmark: Bookmark | None) -> Reading:
        """The reading of a file, from its bookmark on if it has one that is right."""
        stored = self._stored(known) if known else 0
        fields = replace(file.root.fields, max_bytes=file.root.rules.max_bytes)
        at_work = reading.begin(file.uri, file.found.path, file.root.kind, fields, found, stored, bookmark)
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

    def _put(self, at_work: Reading, source: Source, known: Source | None, document: Document, left: set[str]) -> None:
        """Put one document of a file, and remove it from `left`, the documents that the file had before."""
        stamp = self._reader.stamps([document.id]).get(document.id)
        own = stamp is not None and known is not None and stamp.source == known.id
        new = document.id not in self.ingest.seen
        if stamp is not None and not own and new and stamp.source not in self._gone_ids:
            self._skip(at_work.uri, f"its id {document.id!r} belongs to a document from elsewhere already")
            at_work.give_up()
            return
        if own and new and at_work.start is not None:
            outcome: Outcome | Skipped = already_used(document, source, source.key)
        else:
            outcome = self._ingested(at_work, source, document, stamp, adopt=stamp is not None and not own)
        self.ingest.report.count(outcome)
        if not isinstance(outcome, Skipped):
            left.discard(document.id)
        elif self.ingest.seen.get(document.id, source.key) == source.key:
            at_work.skip(outcome)
        else:  # it would be stored without the other file
            at_work.give_up()

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

    def _take_moved(self, file: _File, source: Source) -> bool:
        """Whether a file that is gone had this content: its documents, with their vectors, get the new name then."""
        twins = self._by_content[source.sha256]
        old = next((twin for twin in twins if twin.loader == source.loader and twin.size != UNFINISHED), None)
        if old is None:
            return False
        twins.remove(old)
        del self.gone[old.key]
        documents = self._reader.documents_of(old.id)
        self.ingest.report.count("moved", len(documents))
        self.ingest.flush()
        with self.writer.transaction():
            self.writer.move_source(old.id, replace(source, bookmark=old.bookmark))
            for document in documents:
                if document.endswith(old.path):
                    self.writer.rename(document, file.uri)
                elif (record := _NUMBERED.fullmatch(document)) and record["file"].endswith(old.path):
                    self.writer.rename(document, f"{file.uri}#{record['number']}")
        return True

    def _skip(self, name: str, reason: str) -> None:
        self.ingest.report.skip(Skipped(name, reason))

    def _report(self, done: int, total: int, item: str = "") -> None:
        self.progress(Progress(done, total, "bytes", item, self.ingest.written))


def _left_out(scopes: Sequence[Path], roots: Roots, found: Sequence[_File | Skipped]) -> Iterator[str]:
    """A warning for each scope that is only a part of a root, and in which the rules of the root found nothing."""
    for scope in scopes:
        root = roots.covering(scope)
        if root is None or root.path == str(scope):
            continue
        paths = (Path(root.path, one.path) if isinstance(one, Skipped) else one.found.path for one in found)
        if not any(path.is_relative_to(scope) for path in paths):
            yield f"nothing in {scope} is read: it is empty, or hidden, ignored or excluded within {root.path}."


def _walk(scopes: Sequence[Path], roots: Roots, options: SyncOptions, unseen: list[Path]) -> Iterator[_File | Skipped]:
    """Every file of the scopes once, under its base; a part of a root is read by the rules of the whole.

    Places that could not be read are added to `unseen`: nothing in them counts as deleted.
    """
    seen: dict[tuple[str, str], Path] = {}
    for scope in scopes:
        root = roots.covering(scope) or Root(str(scope))
        top = Path(root.path)
        walk.guard(top, None, yes=options.yes)
        base, prefix = roots.base(top)
        above = (top if top.is_dir() else top.parent).relative_to(base).as_posix()
        within = scope.relative_to(top).as_posix()
        rules = replace(root.rules, streamed=()) if root.kind == "files" else root.rules
        for item in walk.files(top, rules, drivers.exists):
            if isinstance(item, Skipped):
                if isinstance(item, walk.Unseen):
                    unseen.append(top / item.path)
                yield item
                continue
            if within != "." and item.relative != within and not item.relative.startswith(within + "/"):
                continue
            path = item.relative if above == "." else f"{above}/{item.relative}"
            file = _File(item, Source(base, path, item.mtime_ns, item.size, "", ""), root, prefix)
            if (other := seen.setdefault(file.source.key, item.path)) is not item.path:
                if other != item.path:  # a byte that is not UTF-8 is printed as \xe9, which may be a name too
                    yield Skipped(prefix + path, "another file has this name, as far as names can be printed")
                continue
            if len(seen) > walk.MAX_FILES:
                walk.guard(top, len(seen), yes=options.yes)
            yield file


def _in_scope(source: Source, scopes: Sequence[Path], roots: Roots) -> bool:
    """Whether this run covers the place of the source, or nothing there is followed any more."""
    return source.root not in dict(roots.bases) or _below(source, scopes)


def _below(source: Source, places: Sequence[Path]) -> bool:
    return any((Path(source.root) / source.path).is_relative_to(place) for place in places)
