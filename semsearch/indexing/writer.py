"""The writing side of an index: adding, synchronising and deleting; each call is a run with a recorded report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from semsearch.chunking.splitter import Splitter
from semsearch.documents import annotated_metadata, vector_databases, vector_import
from semsearch.documents.loaders import Fields
from semsearch.documents.textless import Textless
from semsearch.encoders.index_encoder import refuse_text
from semsearch.errors import NotFound, SemsearchError, Unreadable, UsageError
from semsearch.indexing import moved_folders, sources, sync, uploads
from semsearch.indexing.derived import update_vector_index
from semsearch.indexing.ingest import Ingest
from semsearch.indexing.reembedding import Reembedder
from semsearch.indexing.salvage import Salvager
from semsearch.indexing.sources import SyncOptions
from semsearch.stores import machine_recipes, recipe_trust
from semsearch.stores.filters import Exists, Field
from semsearch.stores.protocol import SalvageReader, StoreWriter
from semsearch.stores.records import UNFINISHED, DocumentRow, Space, meta_hash
from semsearch.types import (
    Document,
    EncoderProtocol,
    JsonObject,
    Progress,
    ReembedReport,
    SalvageReport,
    Skipped,
    SyncReport,
)
from semsearch.utils.batches import batches
from semsearch.utils.quantities import count

if TYPE_CHECKING:
    from semsearch.types import Vectors

DELETED_AT_ONCE = 500  # documents between two progress reports
MOVED_AT_ONCE = 1_000  # files


class IndexWriter:
    """Writes documents through a store and an encoder. On return, what was written is on disk for good.

    The methods are described in `Index`. With a `DryRunWriter` they report what they would do. One thread at a time.
    """

    def __init__(self, writer: StoreWriter, space: Space, encoder: EncoderProtocol) -> None:
        self._writer = writer
        self._reader = writer.reader
        self._space = space
        self._encoder = encoder

    @property
    def space(self) -> Space:
        """The space that it writes vectors to."""
        return self._space

    def close(self) -> None:
        """Close the store and release its lock."""
        self._writer.close()

    def add(
        self, documents: Iterable[Document], vectors: Vectors | None = None, *, errors: Literal["raise", "skip"]
    ) -> SyncReport:
        if isinstance(documents, Document) or not isinstance(documents, Iterable):
            raise UsageError("add() takes several documents.", "Put them in a list: add([document]).")
        rows = repeat(None) if vectors is None else vectors[:, None]
        replaced = 0
        with self._run() as run:
            for (document, vector), stamp in run.with_stamps(zip(documents, rows, strict=False), itemgetter(0)):
                if not isinstance(document, Document):
                    raise UsageError(
                        f"add() takes Document objects, not {type(document).__name__}.", "Write Document(id, text)."
                    )
                if vector is not None and not document.text.strip():
                    raise UsageError(f"document {document.id!r} has a vector and no text.", "A hit shows a text.")
                if errors == "skip":
                    _put(run, document, stamp, vector, again=True)
                    continue
                _require_own(document, stamp)
                try:
                    run.report.count(run.put(document, stamp=stamp, again=True, vector=vector))
                except Unreadable as error:
                    raise Unreadable(f"document {document.id!r} cannot be stored: {error.message}.") from error
                if stamp is not None and stamp.metadata:
                    replaced += stamp.meta_sha256 != meta_hash(stamp.title, document.metadata)
            if replaced:
                run.report.warnings.append(
                    f"{count(replaced, 'document')} had other metadata, which add() has replaced as a whole; update() "
                    "changes single keys."
                )
        return self._report(run)

    def add_vectors(
        self, file: Path, texts: Path | None, fields: Fields | None, progress: Callable[[Progress], None]
    ) -> SyncReport:
        encoder = self._encoder if self._space.has_encoder else None
        rows = vector_import.opened(file, texts)
        checked = vector_import.checked(file.name, rows, fields or Fields(), self._space.dim, encoder)
        with self._run() as run:
            for (document, vector), stamp in run.with_stamps(checked.documents(progress), itemgetter(0)):
                _require_own(document, stamp)
                run.report.count(run.put(document, stamp=stamp, vector=vector))
        return self._report(run)

    def add_from(
        self, kind: str, path: Path, fields: Fields | None, progress: Callable[[Progress], None]
    ) -> SyncReport:
        self._require_encoder()
        with self._run() as run:
            items = vector_databases.documents(kind, path, fields or Fields())
            for done, (item, stamp) in enumerate(run.with_stamps(items), start=1):
                _put(run, item, stamp)
                progress(Progress(done, 0, "documents", "", run.written))
        return self._report(run)

    def salvage(
        self, source: SalvageReader, space: Space | None, progress: Callable[[Progress], None]
    ) -> SalvageReport:
        salvaged = Salvager(source, space, self._writer, self._encoder).run(progress)
        report = SyncReport(salvaged.index, salvaged.documents, skipped=salvaged.lost, passages=salvaged.passages)
        self._add_run(replace(report, vectors=salvaged.passages, embedded=salvaged.embedded))
        return salvaged

    def add_stream(self, stream: BinaryIO, options: SyncOptions | None) -> SyncReport:
        options = options or SyncOptions()
        self._require_encoder()
        with self._run(force=options.force) as run:
            items = uploads.stream_documents(stream, options.kind or "auto", options.fields or Fields())
            for item, stamp in run.with_stamps(items):
                _put_read(run, item, stamp)
        return self._report(run)

    def add_files(
        self, files: Sequence[tuple[str, BinaryIO]], options: SyncOptions | None, progress: Callable[[Progress], None]
    ) -> SyncReport:
        options = options or SyncOptions()
        kind, fields = options.kind or "auto", options.fields or Fields()
        self._require_encoder()
        items = (
            (done, name, item)
            for done, (name, stream) in enumerate(files)
            for item in uploads.file_documents(name, stream, kind, fields)
        )
        with self._run(force=options.force) as run:
            for (done, name, item), stamp in run.with_stamps(items, itemgetter(2)):
                progress(Progress(done, len(files), "documents", name, run.written))
                _put_read(run, item, stamp, named=True)
            progress(Progress(len(files), len(files), "documents", "", run.written))
        return self._report(run)

    def plan(self, paths: Sequence[Path], options: SyncOptions | None) -> sources.Update:
        """What `sync` would do. Raises UsageError, NotFound, GuardRail."""
        self._require_encoder()
        if options is not None and not isinstance(options, SyncOptions):
            raise UsageError(f"options must be a SyncOptions, not {options!r}.", "Write SyncOptions(rules=…).")
        moved = moved_folders.moves(self._reader, paths)
        recipe = moved_folders.renamed(self._reader.state().recipe, moved)
        return replace(sources.update(paths, options or SyncOptions(), recipe), moved=moved)

    def sync(
        self, paths: Sequence[Path], options: SyncOptions | None, progress: Callable[[Progress], None]
    ) -> SyncReport:
        update = self._planned(paths, options)
        resplit, splitter = update.recipe["resplit"], Splitter(**update.recipe["splitter"])
        with self._run(force=update.options.force, splitter=splitter) as run:
            sync.sync(self._writer, update, run, progress)
            if resplit:
                self._split_anew(run, progress)
        if resplit:
            split = update.recipe["splitter"]  # another machine may have chosen another one
            self._record(lambda recipe: {**recipe, "resplit": recipe["splitter"] != split})
        return self._report(run, whole=not paths or resplit)

    def delete(self, ids: Iterable[str], progress: Callable[[Progress], None], *, exclude: bool) -> int:
        uris, deleted = list(dict.fromkeys(ids)), 0
        with self._writer.transaction():
            owned = Counter(row.source for row in self._reader.document_rows(uris) if row.source is not None)
            files = list(self._reader.sources(ids=sorted(owned)))
            excluded = [file for file in files if exclude and file.root and owned[file.id] == file.documents]
            self._record(partial(sources.excluding, excluded))
            again = [file for file in files if file not in excluded]  # is read by the next run
            self._writer.put_sources([replace(file, size=UNFINISHED, bookmark=None) for file in again])
            for at in range(0, len(uris), DELETED_AT_ONCE):
                progress(Progress(at, len(uris), "documents"))
                some = uris[at : at + DELETED_AT_ONCE]
                notes = [source.id for source in self._reader.sources(keys=[("", uri) for uri in some])]
                deleted += self._writer.delete(some, sources=notes)
            self._writer.delete(sources=[file.id for file in excluded])
        update_vector_index(self._writer, self._space, self._backend(self._reader.state().recipe))
        return deleted

    def annotate(self, ids: Iterable[str], metadata: Mapping[str, object]) -> int:
        recipe, changed = self._reader.state().recipe, 0
        for key in (key for key in metadata if key not in annotated_metadata.keys(recipe)):
            if self._reader.document_ids(Exists(Field((key,))), limit=1):
                raise UsageError(f"{key!r} is a key of the documents' own metadata.", "Choose another key.")
        with self._writer.transaction():
            self._record(lambda latest: annotated_metadata.with_keys(latest, metadata))
            for name in dict.fromkeys(ids):
                if not (stored := self._reader.full_documents([name])):
                    raise NotFound(f"index {self._reader.name} has no document {name!r}.", "Use the id of a document.")
                (document,) = stored
                if (merged := annotated_metadata.merged(document.metadata, metadata)) != document.metadata:
                    self._writer.revise(name, metadata=merged, title=document.title)
                    changed += 1
        return changed

    def compact(self, progress: Callable[[Progress], None]) -> None:
        steps = 0

        def store(step: Progress) -> None:
            nonlocal steps
            steps = step.total
            progress(replace(step, total=step.total + 1))

        self._writer.compact(store)
        progress(Progress(steps, steps + 1, "steps", "building the vector index"))
        self._writer.update_vector_index(self._space.id, self._backend(self._reader.state().recipe), when="always")

    def rebuild(self, backend: str) -> None:
        self._writer.update_vector_index(self._space.id, backend, when="always")
        self._record(lambda recipe: {**_unmeasured(recipe), "backend": backend})

    def keep(self, measured: str) -> None:
        """Use the backend that was measured as the fastest, until the index has doubled or halved."""
        self._writer.update_vector_index(self._space.id, measured, when="always")
        count = self._reader.state().vectors[self._space.id]
        how = {"backend": "auto", "measured": {"backend": measured, "vectors": count}}
        self._record(lambda recipe: {**recipe, **how})

    def reembed(
        self, encoder: EncoderProtocol, progress: Callable[[Progress], None], *, keep_old: bool, switch: bool = True
    ) -> ReembedReport:
        recipe = self._reader.state().recipe
        backend = str(recipe.get("backend", "auto"))  # not the one measured for the present vectors
        return Reembedder(self._writer, encoder, progress).run(backend, keep_old=keep_old, switch=switch)

    def using(self, space: Space, encoder: EncoderProtocol) -> IndexWriter:
        """The same writer, for another space and its encoder."""
        return IndexWriter(self._writer, space, encoder)

    def trust(self) -> None:
        self._record(recipe_trust.adopted)

    def _require_encoder(self) -> None:
        """Raise UsageError for files in an index without an encoder."""
        if not self._space.has_encoder:
            refuse_text(self._reader.name)

    def _backend(self, recipe: JsonObject) -> str:
        """The backend of the recipe, or for "auto" the one that was measured, at about this size."""
        chosen, measured = str(recipe.get("backend", "auto")), recipe.get("measured")
        if chosen != "auto" or not measured:
            return chosen
        now, then = self._reader.state().vectors[self._space.id], measured["vectors"]
        return str(measured["backend"]) if then / 2 <= now <= then * 2 else chosen

    def _planned(self, paths: Sequence[Path], options: SyncOptions | None) -> sources.Update:
        """The update, whose recipe is recorded: "resplit" stays in it until all is split again, even after a kill."""
        update, asked = self.plan(paths, options), options or SyncOptions()
        if self._writer.dry_run:
            return update
        with self._writer.transaction():
            self._move_sources(update.moved)
            self._record(
                lambda recipe: sources.update(paths, asked, moved_folders.renamed(recipe, update.moved)).recipe
            )
        return replace(sources.update(paths, asked, self._reader.state().recipe), moved=update.moved)

    def _move_sources(self, moved: Mapping[str, str]) -> None:
        """Record where the files of folders are now."""
        for new, old in moved.items():
            of_folder = (replace(source, root=new) for source in self._reader.sources() if source.root == old)
            for some in batches(list(of_folder), MOVED_AT_ONCE):
                self._writer.put_sources(some)

    def _record(self, made: Callable[[JsonObject], JsonObject]) -> None:
        machine_recipes.change_recipe(self._writer, made)

    @contextmanager
    def _run(self, *, force: bool = False, splitter: Splitter | None = None) -> Iterator[Ingest]:
        """An ingest that is flushed at the end; after an error, nothing of the last batch is committed."""
        recipe = self._reader.state().recipe
        chosen, context = splitter or Splitter(**recipe["splitter"]), recipe.get("context", False)
        backend = self._backend(recipe)
        run = Ingest(
            self._writer,
            self._space,
            self._encoder,
            chosen,
            context=context,
            backend=backend,
            force=force,
            annotated=annotated_metadata.keys(recipe),
        )
        try:
            yield run
            run.flush()
        except Exception:
            with suppress(SemsearchError, OSError):  # the first error is the one to report
                run.settle()
            raise
        finally:
            run.close()
        if not self._writer.dry_run:
            run.derived.complete(self._backend(self._reader.state().recipe))

    def _split_anew(self, run: Ingest, progress: Callable[[Progress], None]) -> None:
        """Split the documents added by `add` again; their text is in the store."""
        added = [row.uri for row in self._reader.document_rows() if row.source is None]
        stored = (document for uri in added for document in self._reader.full_documents([uri]))
        for done, (document, stamp) in enumerate(run.with_stamps(stored)):
            progress(Progress(done, len(added), "documents", document.id, run.written))
            try:
                run.report.count(run.put(document, stamp=stamp))
            except Unreadable as error:  # an older version has stored it
                run.report.skip(Skipped(document.id, f"{error.message} (it stays as it is)"))

    def _report(self, run: Ingest, *, whole: bool = False) -> SyncReport:
        state = self._reader.state()
        report = SyncReport(
            index=self._reader.name,
            **run.report.documents(),
            **run.report.encoded(run.written),
            **run.report.left_out(),
            skipped=tuple(run.report.skipped),
            passages=state.passages,
            vectors=sum(state.vectors.values()),
            took_s=run.report.seconds(),
            dry_run=self._writer.dry_run,
            warnings=tuple(run.report.warnings),
        )
        self._add_run(report, whole=whole, refused=run.report.refused)
        return report

    def _add_run(self, report: SyncReport, *, whole: bool = False, refused: Sequence[JsonObject] = ()) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._writer.record_run({"at": now, **asdict(report), "whole": whole, "refused": list(refused)})


def _put(
    run: Ingest,
    item: Document | Skipped,
    stamp: DocumentRow | None,
    vector: Vectors | None = None,
    *,
    named: bool = False,
    again: bool = False,
) -> bool:
    """Put a document, or record why it is skipped; whether it is in the index now."""
    if isinstance(item, Document | Textless):
        run.report.omit(item.omissions)
    if isinstance(item, Textless) and item.whole:
        return False  # who reads the file reports it, unless it has other documents
    if isinstance(item, Skipped):
        run.report.skip(item)
    elif stamp is not None and stamp.source is not None:
        run.report.skip(Skipped(item.id, "its id belongs to a document of a followed folder already"))
    else:
        try:
            outcome = run.put(item, stamp=stamp, vector=vector, named=named, again=again)
        except Unreadable as error:
            outcome = Skipped(item.id, error.message)
        run.report.count(outcome)
        return not isinstance(outcome, Skipped)
    return False


def _put_read(run: Ingest, item: Document | Skipped, stamp: DocumentRow | None, *, named: bool = False) -> None:
    """Put a document of a file that is not followed, and record what was left out of it."""
    if _put(run, item, stamp, named=named) and isinstance(item, Document):
        run.finish_alone(item, is_new=stamp is None)


def _require_own(document: Document, stamp: DocumentRow | None) -> None:
    """Raise UsageError where the document that is stored under the id comes from a file."""
    if stamp is not None and stamp.source is not None:
        raise UsageError(f"{document.id!r} is the id of a file's document.", "Use another id, or another index.")


def _unmeasured(recipe: JsonObject) -> JsonObject:
    """The recipe without the back end that was measured as the fastest."""
    return {key: value for key, value in recipe.items() if key != "measured"}
