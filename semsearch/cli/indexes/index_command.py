"""`index` and `watch`: synchronise an index with what a command names, once, or after every change of its files."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import semsearch
from semsearch import settings
from semsearch.cli.indexes.index_options import (
    FileOptions,
    PassageOptions,
    RayOptions,
    RecordOptions,
    RunOptions,
    StorageOptions,
)
from semsearch.cli.indexes.index_sources import Files, on_ray, source_of
from semsearch.cli.lookup import encoder_of, existing_index, index_of_files, trusted_encoder, use_device, with_options
from semsearch.cli.options import (
    EncoderOptions,
    ModelOption,
    NameArgument,
    NameOption,
    Options,
    TrustFlag,
    complete_index,
    flag,
    late,
    value,
)
from semsearch.cli.output import console, index_report
from semsearch.errors import Locked, NotFound
from semsearch.types import JsonMapping
from semsearch.utils.atomic_write import scratch_folder
from semsearch.utils.quantities import count

if TYPE_CHECKING:
    from semsearch import Rules, SyncOptions
    from semsearch.indexing.language_sample import LanguageSample
    from semsearch.types import EncoderLike, SyncReport

NAME = "Name of the index, or a path.  [default: see above]"
RETRY_SECONDS = 5  # after which a watcher tries again to write to an index that another process writes to


def index(
    ctx: typer.Context,
    *,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH|-]...", help="Files and folders; - reads standard input.")
    ] = None,
    name: Annotated[str | None, value("NAME", NAME, "-n", "--name", autocompletion=complete_index)] = None,
    model: ModelOption = None,
    files: FileOptions,
    run: RunOptions,
    records: RecordOptions,
    passages: PassageOptions,
    encoder: EncoderOptions,
    storage: StorageOptions,
    ray: RayOptions,
) -> None:
    """Index files, or update an index.

    New, changed, moved and deleted files are detected. Without PATH, the index is updated from its present sources.
    Without -n, it is the index that was built from PATH, else a new one named after the folder.
    """
    options: Options = ctx.obj
    use_device(encoder.device)
    source = source_of(paths or (), files.kind, records, storage.from_vectors, model=model)
    source.check(run, encoder, ray)
    chosen = index_of_files(options, source.paths, from_stdin=source.named) if name is None else name
    is_new = source.named or storage.store  # without PATH the index has to exist, here or on the server
    folder = semsearch.admin.folder(chosen, options.folder()) if is_new else existing_index(options, chosen)
    if storage.store and not (run.dry_run or semsearch.admin.exists(folder)):
        _link(folder, storage.store, needed=not source.named, options=options, as_json=run.as_json)
        if not source.named:
            return
    IndexJob(
        options,
        folder,
        source if run.dry_run else on_ray(source, ray),
        run,
        files.rules(),
        encoder=_reference(model, folder, encoder),
        trust=encoder.trust,
        splitter=passages.chosen(),
        backend=storage.backend_type,
        store=storage.store or "local",
    ).start()


def watch(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    trust: TrustFlag = False,
    as_json: Annotated[
        bool, flag("--json", "Print a JSON object at the start and after every update that changes something.")
    ] = False,
    poll: Annotated[
        bool, flag("--poll", "Look at the files every second, as network drives need, which have no events.")
    ] = False,
) -> None:
    """Update an index whenever its files change.

    It runs until Ctrl-C or SIGTERM. Changes are searchable about a second after they are written. Results go to
    stdout, what went wrong to stderr. docs/watching.md has a unit for systemd.
    """
    run = RunOptions(watching=True, as_json=as_json)
    IndexJob(ctx.obj, existing_index(ctx.obj, name, named), run=run, trust=trust).start(poll=poll)


@dataclass(frozen=True, slots=True)
class IndexJob:
    """What one command does. Of a new index: `backend` and `store`; `splitter` has the fields that options set."""

    options: Options
    folder: Path
    source: Files = field(default_factory=Files)
    run: RunOptions = field(default_factory=RunOptions)
    rules: Rules | None = None
    encoder: str | None = None
    trust: bool = False
    splitter: JsonMapping = field(default_factory=dict)
    backend: str | None = None
    store: str = "local"

    def start(self, *, poll: bool = False) -> None:
        """One run; with --watch another one after every change of the files, until a signal arrives."""
        self.synchronise()
        if self.run.watching:
            self._follow(poll=poll)

    def synchronise(self, *, report_nothing_new: bool = True) -> None:
        """One run, reported. A new index without a document is removed, unless it is watched, or what a cluster has
        embedded waits for it.

        Exits with 5 under --strict where something was skipped, with 1 or 2 where files named by themselves gave
        nothing.
        """
        dry = self.run.dry_run
        with ExitStack() as stack:
            sample = self._languages()
            index, created = self._open(stack, sample)
            unread = "" if sample is None else semsearch.admin.unread_warning(index, sample)
            warned = [unread] if unread else []
            console.warn(warned)
            try:
                report = self._sync(index)
            except BaseException:
                if created and not len(index) and not self.source.is_waiting(index):
                    index.close()
                    semsearch.admin.remove(index.path)
                raise
            if created and not len(index) and not dry and not self.run.watching:
                index.close()
                semsearch.admin.remove(index.path)
            elif self.backend and not dry and index.info()["recipe"].get("backend") != self.backend:
                semsearch.admin.rebuild(index, self.backend)
        if report_nothing_new or report.added + report.changed + report.moved + report.deleted:
            exists = semsearch.admin.exists(self.folder) or dry
            failed = index_report.nothing_read(report, [path for path in self.source.paths if path.is_file()])
            strict, as_json = self.run.strict, self.run.as_json
            index_report.show(
                report, self.options, strict=strict, as_json=as_json, exists=exists, failed=failed, warned=warned
            )

    def _follow(self, *, poll: bool) -> None:
        console.note(f"watching the files of {self.folder.name}; press Ctrl-C to stop")
        run = replace(self.run, prune=True, force=False, checksums=False, yes=False)
        again = replace(self, source=Files(), run=run, rules=None, splitter={}, backend=None)
        changes = late("indexes.file_watcher.changes")  # with the loaders
        for announced in changes(self.folder, poll=poll, warn=lambda message: console.warn([message])):
            while True:
                try:
                    again.synchronise(report_nothing_new=False)
                    break
                except NotFound as error:  # a folder that is away for a while
                    if not announced:
                        console.warn([f"{error} The next change starts another attempt."])
                    break
                except Locked as error:
                    console.warn([f"{error} Another attempt follows in {RETRY_SECONDS} s."])
                    time.sleep(RETRY_SECONDS)

    def _languages(self) -> LanguageSample | None:
        """A sample of the files of a new index; None where there is nothing to choose or to warn of."""
        if not self.source.samples or semsearch.admin.exists(self.folder):
            return None
        return semsearch.admin.languages_of_files(self.source.paths, self._how(None))

    def _open(self, stack: ExitStack, sample: LanguageSample | None) -> tuple[semsearch.Index, bool]:
        """The index, and whether it was created."""
        folder, dry = self.folder, self.run.dry_run
        created = not semsearch.admin.exists(folder) and self.source.named
        store = "local" if dry else self.store
        if created and self.source.width is not None:
            index = semsearch.Index.create(folder, encoder=None, dimensions=self.source.width, store=store)
            return stack.enter_context(index), True
        encoder = self._encoder(created, sample)
        if not created:
            return stack.enter_context(semsearch.Index.open(folder, encoder=encoder)), False
        if dry:
            folder = stack.enter_context(scratch_folder()) / folder.name
        splitter, backend = semsearch.Splitter(**self.splitter), self.backend or "auto"
        index = semsearch.Index.create(folder, encoder=encoder or "", splitter=splitter, backend=backend, store=store)
        return stack.enter_context(index), True

    def _encoder(self, created: bool, sample: LanguageSample | None) -> str | EncoderLike | None:
        """The encoder with which the index is opened; None for the one that it names."""
        name = self.encoder
        if name is None and created:
            name, why = (settings.load().model, "") if sample is None else semsearch.admin.usual_encoder(sample)
            if why and not self.options.quiet:
                console.note(f"{why} (another: -m NAME)")
        if name is None and (self.trust or self.source.loads_encoder):
            name = encoder_of(self.folder)
        if name is None:
            return None
        return trusted_encoder(name) if self.trust else self.source.encoder(name)

    def _sync(self, index: semsearch.Index) -> SyncReport:
        splitter = None
        if self.splitter:
            splitter = semsearch.Splitter(**{**index.info()["recipe"]["splitter"], **self.splitter})
        return self.source.run(index, self._how(splitter), self.options)

    def _how(self, splitter: semsearch.Splitter | None) -> SyncOptions:
        return semsearch.SyncOptions(
            rules=self.rules,
            kind=self.source.kind,
            fields=self.source.fields,
            splitter=splitter,
            prune=self.run.prune,
            force=self.run.force,
            checksums=self.run.checksums,
            dry_run=self.run.dry_run,
            yes=self.run.yes,
        )


def _link(folder: Path, store: str, *, needed: bool, options: Options, as_json: bool) -> None:
    """Link the collection of that name on the server; where it is all that was `needed`, report it.

    Raises NotFound where it was, and there is none.
    """
    linked = semsearch.admin.link(folder, store)
    if not linked and needed:
        raise NotFound(
            f"there is no collection called {folder.name!r} on {store}.",
            "Pass encoder= and create it.",
            f"Create it from files: semsearch index FILES -n {folder.name} --store {store}",
        )
    if linked and not needed:
        console.note(f"{folder.name}: linked to the collection of that name on {store}")
    if needed:
        with semsearch.Index.open(folder) as index:
            documents = len(index)
        outcome = {"index": folder.name, "linked": True, "documents": documents}
        text = f"{folder.name}: linked, {count(documents, 'document')}"
        console.result(outcome, text, as_json=as_json, quiet=options.quiet)


def _reference(model: str | None, folder: Path, encoder: EncoderOptions) -> str | None:
    """The encoder that the options name; None without any. Raises UsageError for an index without encoder."""
    if model is None and (encoder.template, encoder.dtype, encoder.layer) == (None, None, None):
        return None
    present = encoder_of(folder) if semsearch.admin.exists(folder) else settings.load().model
    return with_options(model or present, encoder)
