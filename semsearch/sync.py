"""Running `index` again is the update: what is new, changed, moved or deleted is found without being told.

A file whose size and time are as before is not opened. A new file with the content of one that is gone has
moved: its passages keep their vectors. What a run was killed over is read again by the next.

The id of a document that comes from a file is the file's path below the indexed folder; a record of a JSONL,
CSV or SQLite file has its own id, or the file's path and its number. Folders beyond the first are told apart
by a prefix, their own name.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from semsearch import loaders, walk
from semsearch.errors import NotFound, Unreadable, UsageError
from semsearch.ingest import UNFINISHED, Ingest
from semsearch.loaders import Fields
from semsearch.rows import text_hash
from semsearch.split import Splitter
from semsearch.store import Source, Store
from semsearch.types import Document, Progress, Skipped
from semsearch.walk import Found, Rules

MOST_FILES_UNASKED = 100_000
JUST_WRITTEN_NS = 2 * 10**9  # a second write within the clock's tick would leave time and size as they are
_NUMBERED = re.compile(r"(?P<file>.*)#(?P<number>\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How to read a folder. None stands for what the index was told the last time, else the default."""

    rules: Rules | None = None
    kind: str | None = None
    fields: Fields | None = None
    splitter: Splitter | None = None
    prune: bool = True
    force: bool = False
    dry_run: bool = False
    yes: bool = False


@dataclass(frozen=True, slots=True)
class Root:
    """A file or folder that the index was told to follow, and how to read it."""

    path: str
    rules: Rules = field(default_factory=Rules)
    kind: str = "auto"
    fields: Fields = field(default_factory=Fields)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Root:
        rules, fields = Rules(**_with_tuples(kept["rules"])), Fields(**_with_tuples(kept["fields"]))
        return cls(kept["path"], rules, kept["kind"], fields)


def _with_tuples(kept: dict[str, Any]) -> dict[str, Any]:
    """JSON has lists where these types have tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in kept.items()}


@dataclass(frozen=True, slots=True)
class Roots:
    """All that an index follows. `bases` gives each folder the prefix that its documents' ids carry."""

    roots: tuple[Root, ...] = ()
    bases: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, recipe: dict[str, Any]) -> Roots:
        kept = tuple(Root.from_json(root) for root in recipe.get("roots", ()))
        return cls(kept, tuple(recipe.get("bases", {}).items()))

    def to_json(self) -> dict[str, Any]:
        return {"roots": [root.to_json() for root in self.roots], "bases": dict(self.bases)}

    def covering(self, path: Path) -> Root | None:
        """The root that is `path` or a folder above it."""
        return next((root for root in self.roots if path.is_relative_to(root.path)), None)

    def base(self, path: Path) -> tuple[str, str]:
        """(folder, prefix) that the file or folder `path` is named from."""
        return next((base, prefix) for base, prefix in self.bases if path.is_relative_to(base))

    def with_root(self, root: Root) -> Roots:
        """The same and `root`; what lies below it is followed through it from now on."""
        path = Path(root.path)
        kept = tuple(r for r in self.roots if not Path(r.path).is_relative_to(path))
        if any(path.is_relative_to(base) for base, _ in self.bases):
            return Roots((*kept, root), self.bases)
        base = path if path.is_dir() else path.parent
        bases = tuple((b, p) for b, p in self.bases if not Path(b).is_relative_to(base))
        taken = {prefix for _, prefix in bases}
        names = ["", *(f"{base.name or 'root'}{n}/" for n in ("", *(f"-{i}" for i in range(2, len(taken) + 3))))]
        return Roots((*kept, root), (*bases, (str(base), next(name for name in names if name not in taken))))


@dataclass(frozen=True, slots=True)
class _File:
    """A file that was found, under the name that the store knows it by."""

    found: Found
    source: Source
    root: Root
    prefix: str

    @property
    def key(self) -> tuple[str, str]:
        return self.source.root, self.source.path

    @property
    def uri(self) -> str:
        return self.prefix + self.source.path


def plan(paths: Sequence[Path], options: SyncOptions, roots: Roots) -> tuple[Roots, list[Path]]:
    """What the index follows from now on, and what to look through in this run (absolute paths)."""
    if not paths and not roots.roots:
        raise UsageError("there is no PATH, and this index follows none.", "Name a folder: semsearch index FOLDER")
    for path in paths:
        if not path.exists():
            raise NotFound(f"there is no file or folder {str(path)!r}.", "Check the path; nothing was changed.")
    scopes = [path.resolve() for path in paths] or [Path(root.path) for root in roots.roots]
    if not any(scope.exists() for scope in scopes):
        listed = ", ".join(str(scope) for scope in scopes)
        raise NotFound(f"none of what this index follows is there: {listed}.", "Nothing was changed.")
    for scope in scopes if paths else ():
        known = roots.covering(scope)
        told = Root(str(scope)) if known is None else known
        told = replace(told, **{k: v for k in ("rules", "kind", "fields") if (v := getattr(options, k)) is not None})
        if known is None or (told != known and known.path == str(scope)):
            roots = roots.with_root(told)
    return roots, scopes


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
    for item in _walk(present, roots, options):
        tally.skipped.append(item) if isinstance(item, Skipped) else files.append(item)
    known = store.sources()
    there = {file.key for file in files}
    gone = {key: s for key, s in known.items() if key not in there and _in_scope(s, present, roots)}
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
            source = replace(source, mtime_ns=0)
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
            source = replace(source, mtime_ns=UNFINISHED)  # every run names what it left out, not the first alone
        self._ingest.finish(source)
        if before and self._options.prune:
            self._drop(before)

    def _same_content(self, known: Source, source: Source) -> bool:
        whole = known.mtime_ns != UNFINISHED
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
        old = next((twin for twin in twins if twin.loader == source.loader and twin.mtime_ns != UNFINISHED), None)
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


def _walk(scopes: Sequence[Path], roots: Roots, options: SyncOptions) -> Iterator[_File | Skipped]:
    """Every file of the scopes once, under its base; a part of a root is read by the rules of the whole."""
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
                yield item
                continue
            if within != "." and item.relative != within and not item.relative.startswith(within + "/"):
                continue
            path = item.relative if above == "." else f"{above}/{item.relative}"
            file = _File(item, Source(base, path, item.mtime_ns, item.size, "", ""), root, prefix)
            if file.key in seen:
                continue
            seen.add(file.key)
            if len(seen) > MOST_FILES_UNASKED:
                walk.guard(top, len(seen), yes=options.yes)
            yield file


def _in_scope(source: Source, scopes: Sequence[Path], roots: Roots) -> bool:
    """Whether this run looked where the source was; one whose base is no longer followed counts as looked for."""
    if source.root not in dict(roots.bases):
        return True
    return any((Path(source.root) / source.path).is_relative_to(scope) for scope in scopes)


def _full_id(uri: str, local: str) -> str:
    """A loader's id within its file -> the id within the index."""
    return uri + local if local == "" or local.startswith("#") else local


def _content_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error


def stream_documents(stream: Any, kind: str, fields: Fields) -> Iterator[Document | Skipped]:
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
