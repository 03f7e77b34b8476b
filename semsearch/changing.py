"""What changes an open index: documents that come and go, and its caches built anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, ParamSpec, TypeVar

from semsearch.answering import Answering
from semsearch.errors import SemsearchError, Unreadable, UsageError
from semsearch.indexing import describe
from semsearch.search import null_distribution
from semsearch.types import Document, Progress, Skipped, SyncReport
from semsearch.vector_index import cache_files

if TYPE_CHECKING:
    from semsearch.indexing.ingest import Ingest
    from semsearch.indexing.sources import SyncOptions

P = ParamSpec("P")
R = TypeVar("R")
Method = Callable[Concatenate["Changing", P], R]
DELETED_AT_ONCE = 500  # documents between two words about how far it is


def _in_turn(method: Method[P, R]) -> Method[P, R]:
    """Of the threads that share an Index one writes at a time."""

    @wraps(method)
    def waiting(index: Changing, /, *arguments: P.args, **options: P.kwargs) -> R:
        with index._turn:
            return method(index, *arguments, **options)

    return waiting


class Changing(Answering):
    """The calls of an `Index` that write to it. What they acknowledge is on disk for good. All raise Locked."""

    @_in_turn
    def add(self, documents: Iterable[Document]) -> SyncReport:
        """Add documents, or replace those with the same id; what did not change is left alone.

        On return they are on disk for good. A document that came from a file is the file's: UsageError.
        """
        began = time.perf_counter()
        self._write()
        with self._ingest() as ingest:
            for document in documents:
                head = self._store.heads([document.id]).get(document.id)
                if head is not None and head.source is not None:
                    raise UsageError(f"{document.id!r} is the id of a file's document.", "Use another id.")
                ingest.put(document, head=head)
        return self._report(ingest, began)

    @_in_turn
    def add_stream(self, stream: BinaryIO, options: SyncOptions) -> SyncReport:
        """Add what standard input holds: one text, or records (`options.kind`). A dry run takes no lock."""
        from semsearch.documents.loaders import Fields
        from semsearch.indexing.sync import stream_documents

        began = time.perf_counter()
        with self._adding(options) as ingest:
            for item in stream_documents(stream, options.kind or "auto", options.fields or Fields()):
                self._put(ingest, item)
        return self._report(ingest, began, dry_run=options.dry_run)

    @_in_turn
    def add_files(
        self,
        files: Iterable[tuple[str, BinaryIO]],
        progress: Callable[[Progress], None] = lambda _: None,
        options: SyncOptions | None = None,
    ) -> SyncReport:
        """Add files that are given as name and content; they are kept as `add` keeps documents, and not followed.

        What they hold gets the ids that `sync` would give it, and replaces what has them. What cannot be read is in
        the report's `skipped`. Of `options`, `kind` and `fields` say how to read them, and `force` and `dry_run` hold.
        """
        from semsearch.documents.loaders import Fields
        from semsearch.indexing.sources import SyncOptions
        from semsearch.indexing.sync import file_documents

        began, given, how = time.perf_counter(), list(files), options or SyncOptions()
        with self._adding(how) as ingest:
            for done, (name, stream) in enumerate(given):
                for item in file_documents(name, stream, how.kind or "auto", how.fields or Fields()):
                    progress(Progress(done, len(given), "documents", name, ingest.tally.written))
                    self._put(ingest, item)
            progress(Progress(len(given), len(given), "documents", "", ingest.tally.written))
        return self._report(ingest, began, dry_run=how.dry_run)

    @_in_turn
    def sync(
        self,
        paths: Sequence[str | Path] | str | Path = (),
        options: SyncOptions | None = None,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> SyncReport:
        """Bring the index in line with files and folders; without `paths`, with those it follows already.

        Raises NotFound for a path that is not there, GuardRail for `/` and the like, Locked.
        """
        from semsearch.indexing import sources as followed
        from semsearch.indexing import sync as files

        began = time.perf_counter()
        wanted = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(path) for path in paths]
        told = options or followed.SyncOptions()
        update = followed.update(wanted, told, self._store.recipe())  # may refuse, so before the lock is taken
        if not told.dry_run:
            self._write()
            update = followed.update(wanted, told, self._store.recipe())  # another may have written until then
            self._remember(update.recipe)  # "resplit" stays until every document has been cut anew, whatever is killed
        how = update.options
        with self._ingest(dry_run=how.dry_run, force=how.force) as ingest:
            files.sync(self._store, update.roots, update.scopes, how, ingest, progress)
            if update.anew:
                self._put_again(ingest, progress)
        if update.anew and not how.dry_run:
            self._remember({**self._store.recipe(), "resplit": False})
        return self._report(ingest, began, dry_run=how.dry_run, whole=not wanted or update.anew)

    @_in_turn
    def delete(self, ids: Iterable[str], progress: Callable[[Progress], None] = lambda _: None) -> int:
        """Take documents out of the index; how many there were. All go at once: where `progress` raises, none does.

        Their files, if any, stay where they are, and a `sync` brings them back unless its rules leave them out.
        """
        from semsearch.indexing.ingest import UNFINISHED

        self._write()
        doomed = list(dict.fromkeys(ids))
        deleted = 0
        with self._store.transaction():
            owners = {head.source for head in self._store.heads(doomed).values()}
            for source in [known for known in self._store.sources().values() if known.id in owners]:
                self._store.put_source(replace(source, size=UNFINISHED))  # the next run looks into the file again
            for at in range(0, len(doomed), DELETED_AT_ONCE):
                progress(Progress(at, len(doomed), "documents"))
                deleted += self._store.delete(doomed[at : at + DELETED_AT_ONCE])
        self._after_writing()
        return deleted

    @_in_turn
    def compact(self) -> None:
        """Give back the space of what was deleted, and build the cache anew."""
        self._write()
        self._store.compact()
        cache_files.rebuild(self._store, self._used_space(), self._store.recipe().get("backend", "auto"))

    @_in_turn
    def rebuild(self, backend: str = "auto") -> None:
        """Build the cache anew with this backend, and keep to it."""
        self._write()
        cache_files.rebuild(self._store, self._used_space(), backend)
        self._remember({**self._store.recipe(), "backend": backend})

    def _remember(self, recipe: dict[str, Any]) -> None:
        if recipe != self._store.recipe():
            self._store.set_recipe(recipe)

    def _adding(self, options: SyncOptions) -> AbstractContextManager[Ingest]:
        if not options.dry_run:
            self._write()
        return self._ingest(dry_run=options.dry_run, force=options.force)

    @contextmanager
    def _ingest(self, *, force: bool = False, dry_run: bool = False) -> Iterator[Ingest]:
        from semsearch.chunking.splitter import Splitter
        from semsearch.indexing.ingest import Ingest

        splitter = Splitter(**self._store.recipe()["splitter"])
        ingest = Ingest(self._store, self._used_space(), self.encoder, splitter, force=force, dry_run=dry_run)
        try:
            yield ingest
        except BaseException:
            ingest.drop()  # what was not committed is not half-committed now
            raise
        ingest.flush()
        if not dry_run:
            ingest.tally.warnings += self._after_writing()

    def _put(self, ingest: Ingest, item: Document | Skipped) -> None:
        """Take a document, or note why it is not taken."""
        if isinstance(item, Skipped):
            ingest.tally.skipped.append(item)
            return
        head = self._store.heads([item.id]).get(item.id)
        if head is not None and head.source is not None:
            ingest.tally.skipped.append(Skipped(item.id, "its id belongs to a document of a followed folder already"))
            return
        try:
            ingest.put(item, head=head)
        except Unreadable as error:
            ingest.tally.skipped.append(Skipped(item.id, error.message))

    def _put_again(self, ingest: Ingest, progress: Callable[[Progress], None]) -> None:
        """Cut the documents that came through `add` anew; their text is in the store."""
        kept = [document for document, root, *_ in self._store.origins() if root is None]
        for done, uri in enumerate(kept):
            progress(Progress(done, len(kept), "documents", uri, ingest.tally.written))
            document = self._store.document(uri)
            if document is not None:
                ingest.put(document, head=self._store.heads([uri]).get(uri))

    def _report(self, ingest: Ingest, began: float, *, dry_run: bool = False, whole: bool = False) -> SyncReport:
        report = describe.run(self._store, ingest, time.perf_counter() - began, dry_run=dry_run)
        if not dry_run:
            self._store.add_run(
                {"at": datetime.now(UTC).isoformat(timespec="seconds"), **asdict(report), "whole": whole}
            )
        return report

    def _after_writing(self) -> list[str]:
        """Bring what is derived from the store up to date: the background of chance, then the cache.

        The documents are on disk already, so a cache that cannot be written is a warning and no failure.
        """
        space = self._used_space()
        try:
            null_distribution.refresh(self._store, space)
            if cache_files.why_rebuild(self._store, space):
                cache_files.rebuild(self._store, space, self._store.recipe().get("backend", "auto"))
        except (SemsearchError, OSError) as error:
            return [f"the documents are stored, but the vector cache could not be built: {error}"]
        return []
