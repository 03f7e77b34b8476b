"""Running `index` again is the update: what is new, changed, moved or deleted is found without being told.

A file whose size and time are as before is not opened. A new file with the content of one that is gone has
moved: its passages keep their vectors. What a run was killed over is read again by the next.

The id of a document that comes from a file is the file's path below the indexed folder (see `roots` for more
than one); a record of a JSONL, CSV or SQLite file has its own id, or the file's path and its number.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from semsearch.documents import loaders, walk
from semsearch.documents.loaders import Fields
from semsearch.documents.walk import FoundFile
from semsearch.errors import Unreadable, UsageError
from semsearch.indexing.ingest import UNFINISHED, Ingest
from semsearch.indexing.sources import Root, Roots
from semsearch.indexing.sources import SyncOptions as SyncOptions
from semsearch.stores.local.store import Source, Store
from semsearch.stores.records import text_hash
from semsearch.types import Document, Progress, Skipped

_DEFAULT = Fields()
UNSURE = -2  # in place of a file's size: the next run compares the content
JUST_WRITTEN_NS = 2 * 10**9  # a second write within the clock's tick would leave time and size as they are
_NUMBERED = re.compile(r"(?P<file>.*)#(?P<number>\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _File:
    """A file that was found, under the name that the store knows it by."""

    found: FoundFile
    source: Source
    root: Root
    prefix: str

    @property
    def key(self) -> tuple[str, str]:
        return self.source.root, self.source.path

    @property
    def uri(self) -> str:
        return self.prefix + self.source.path


def sync(
    store: Store,
    roots: Roots,
    scopes: Sequence[Path],
    options: SyncOptions,
    ingest: Ingest,
    progress: Callable[[Progress], None] = lambda _: None,
) -> None:
    """Bring the store in line with the files of `scopes`. What happened is in `ingest.tally`."""
    tally = ingest.tally
    present = [scope for scope in scopes if scope.exists()]
    tally.warnings += [f"{scope} is not there; its documents are kept." for scope in scopes if not scope.exists()]
    files: list[_File] = []
    unseen: list[Path] = []
    for item in _walk(present, roots, options, unseen):
        tally.skipped.append(item) if isinstance(item, Skipped) else files.append(item)
    known = store.sources()
    there = {file.key for file in files}
    gone = {
        key: source
        for key, source in known.items()
        if key not in there and _in_scope(source, present, roots) and not _below(source, unseen)
    }
    if not options.prune:
        gone = {}
    _Run(store, ingest, options, known, gone, progress).read(files)
    if gone and not options.dry_run:
        with store.transaction():
            tally.deleted += store.drop_sources([source.id for source in gone.values()])
    elif gone:
        tally.deleted += sum(len(store.uris(source.id)) for source in gone.values())


class _Run:
    """One pass over the files that were found."""

    def __init__(
        self,
        store: Store,
        ingest: Ingest,
        options: SyncOptions,
        known: dict[tuple[str, str], Source],
        gone: dict[tuple[str, str], Source],
        progress: Callable[[Progress], None],
    ) -> None:
        self._store = store
        self._ingest = ingest
        self._options = options
        self._known = known
        self._gone = gone
        self._progress = progress
        self._gone_ids = {source.id for source in gone.values()}
        self._by_content: dict[str, list[Source]] = {}
        for source in gone.values():
            self._by_content.setdefault(source.sha256, []).append(source)

    def read(self, files: Sequence[_File]) -> None:
        counts = self._store.document_counts()
        todo = []
        for file in files:
            if self._as_before(file):
                self._ingest.tally.unchanged += counts.get(self._known[file.key].id, 0)
            else:
                todo.append(file)
        total = sum(file.found.size for file in todo)
        done = 0
        for file in todo:
            self._progress(Progress(done, total, "bytes", file.uri, self._ingest.tally.written))
            try:
                self._read_one(file, done, total)
            except (Unreadable, UsageError) as error:
                if isinstance(error, UsageError) and len(files) == 1:
                    raise  # --text-field and the like were meant for this file, and it has no such thing
                kept = " (the version indexed before is kept)" if file.key in self._known else ""
                self._skip(Skipped(file.uri, (str(error) if isinstance(error, UsageError) else error.message) + kept))
            done += file.found.size
        self._ingest.flush()
        self._progress(Progress(total, total, "bytes", "", self._ingest.tally.written))

    def _as_before(self, file: _File) -> bool:
        known = self._known.get(file.key)
        if known is None or self._options.force or file.root.fields.sql:
            return False
        same = (known.mtime_ns, known.size) == (file.source.mtime_ns, file.source.size)
        return same and known.loader == loaders.loader_for(file.found.path, file.root.kind)

    def _read_one(self, file: _File, done: int, total: int) -> None:
        loader = loaders.loader_for(file.found.path, file.root.kind)
        source = replace(file.source, sha256=_content_hash(file.found.path), loader=loader)
        if time.time_ns() - source.mtime_ns < JUST_WRITTEN_NS:
            source = replace(source, size=UNSURE)
        known = self._known.get(file.key)
        if known is not None and self._same_content(known, source) and not file.root.fields.sql:
            self._ingest.tally.unchanged += len(self._store.uris(known.id))
            self._ingest.finish(source)
            return
        if known is None and self._moved(file, source):
            return
        before = set(self._store.uris(known.id)) if known else set()
        skipped = len(self._ingest.tally.skipped)
        for document in self._documents(file, source, known, done, total):
            before.discard(document)
        if len(self._ingest.tally.skipped) > skipped:
            source = replace(source, size=UNFINISHED)  # every run names what it left out, not the first alone
        self._ingest.finish(source)
        if before and self._options.prune:
            self._drop(before)

    def _same_content(self, known: Source, source: Source) -> bool:
        whole = known.size != UNFINISHED
        return whole and not self._options.force and (known.sha256, known.loader) == (source.sha256, source.loader)

    def _documents(self, file: _File, source: Source, known: Source | None, done: int, total: int) -> Iterator[str]:
        """Put every document of the file; yields their ids."""
        read = 0
        fields = replace(file.root.fields, max_bytes=file.root.rules.max_bytes)
        for item in loaders.load(file.found.path, file.root.kind, fields):
            if isinstance(item, Skipped):
                self._skip(replace(item, path=file.uri + item.path.removeprefix(file.found.path.name)))
                continue
            document = replace(item, id=_full_id(file.uri, item.id))
            head = self._store.heads([document.id]).get(document.id)
            owner = head.source if head else None
            elsewhere = head is not None and (known is None or owner != known.id)
            if elsewhere and owner not in self._gone_ids:
                self._skip(Skipped(file.uri, f"its id {document.id!r} belongs to a document from elsewhere already"))
                continue
            try:
                self._ingest.put(document, source, head=head, adopt=elsewhere)
            except Unreadable as error:
                self._skip(Skipped(file.uri, f"document {document.id!r}: {error.message}"))
                continue
            read = min(read + len(document.text), file.found.size)
            self._progress(Progress(done + read, total, "bytes", document.id, self._ingest.tally.written))
            yield document.id

    def _moved(self, file: _File, source: Source) -> bool:
        """True where a file that is gone had this content: its documents take the new name, vectors and all."""
        twins = self._by_content.get(source.sha256, [])
        old = next((twin for twin in twins if twin.loader == source.loader and twin.size != UNFINISHED), None)
        if old is None:
            return False
        twins.remove(old)
        del self._gone[old.root, old.path]
        uris = self._store.uris(old.id)
        self._ingest.tally.moved += len(uris)
        if not self._options.dry_run:
            self._ingest.flush()
            self._rename(file, source, old, uris)
        return True

    def _rename(self, file: _File, source: Source, old: Source, uris: Sequence[str]) -> None:
        with self._store.transaction():
            self._store.move_source(old.id, source)
            for uri in uris:
                if uri.endswith(old.path):
                    self._store.rename(uri, file.uri)
                elif (record := _NUMBERED.fullmatch(uri)) and record["file"].endswith(old.path):
                    self._store.rename(uri, f"{file.uri}#{record['number']}")

    def _skip(self, item: Skipped) -> None:
        self._ingest.tally.skipped.append(item)

    def _drop(self, uris: set[str]) -> None:
        self._ingest.tally.deleted += len(uris)
        if not self._options.dry_run:
            self._store.delete(sorted(uris))


def _walk(scopes: Sequence[Path], roots: Roots, options: SyncOptions, unseen: list[Path]) -> Iterator[_File | Skipped]:
    """Every file of the scopes once, under its base; a part of a root is read by the rules of the whole.

    Places that could not be looked at are added to `unseen`: nothing in them counts as deleted.
    """
    seen: set[tuple[str, str]] = set()
    for scope in scopes:
        root = roots.covering(scope) or Root(str(scope))
        top = Path(root.path)
        walk.guard(top, None, yes=options.yes)
        base, prefix = roots.base(top)
        above = (top if top.is_dir() else top.parent).relative_to(base).as_posix()
        within = scope.relative_to(top).as_posix()
        rules = replace(root.rules, streamed=()) if root.kind == "files" else root.rules
        for item in walk.files(top, rules):
            if isinstance(item, Skipped):
                if isinstance(item, walk.Unseen):
                    unseen.append(top / item.path)
                yield item
                continue
            if within != "." and item.relative != within and not item.relative.startswith(within + "/"):
                continue
            path = item.relative if above == "." else f"{above}/{item.relative}"
            file = _File(item, Source(base, path, item.mtime_ns, item.size, "", ""), root, prefix)
            if file.key in seen:
                continue
            seen.add(file.key)
            if len(seen) > walk.MAX_FILES:
                walk.guard(top, len(seen), yes=options.yes)
            yield file


def _in_scope(source: Source, scopes: Sequence[Path], roots: Roots) -> bool:
    """Whether this run looked where the source was; one whose base is no longer followed counts as looked for."""
    if source.root not in dict(roots.bases):
        return True
    return _below(source, scopes)


def _below(source: Source, places: Sequence[Path]) -> bool:
    return any((Path(source.root) / source.path).is_relative_to(place) for place in places)


def _full_id(uri: str, local: str) -> str:
    """A loader's id within its file -> the id within the index."""
    return uri + local if local == "" or local.startswith("#") else local


def _content_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error


def stream_documents(stream: BinaryIO, kind: str, fields: Fields) -> Iterator[Document | Skipped]:
    """Documents from standard input, under ids that the same input gets again; none from a blank one.

    Raises Unreadable for what is no text of any kind.
    """
    try:
        for item in loaders.load_stream(stream, kind, fields):
            if isinstance(item, Document) and item.id.startswith("#"):
                yield replace(item, id=f"stdin{item.id}")
            elif isinstance(item, Document) and not item.id and item.text.strip():
                yield replace(item, id=f"stdin-{text_hash(item.text)[:8]}")
            elif isinstance(item, Skipped) or item.id:
                yield item
    except Unreadable as error:
        raise Unreadable(f"standard input cannot be read: {error.message}.", "Pipe text or records into it.") from error


def file_documents(
    name: str, stream: BinaryIO, kind: str = "auto", fields: Fields = _DEFAULT
) -> Iterator[Document | Skipped]:
    """The documents of a file of which only name and content are at hand, under the ids that a folder would give."""
    name = walk.printable(name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1])
    suffixes = "".join(Path(name).suffixes)[-40:]
    suffixes = suffixes if suffixes.isprintable() else ""
    with tempfile.TemporaryDirectory(prefix="semsearch-") as folder:
        path = Path(folder, f"file{suffixes}")  # the name itself may be none that a file can have here
        with path.open("wb") as spool:
            shutil.copyfileobj(stream, spool)
        try:
            for item in loaders.load(path, kind, fields):
                if isinstance(item, Skipped):
                    yield replace(item, path=name + item.path.removeprefix(path.name))
                else:
                    yield replace(item, id=_full_id(name, item.id))
        except (Unreadable, UsageError) as error:
            yield Skipped(name, str(error) if isinstance(error, UsageError) else error.message)
