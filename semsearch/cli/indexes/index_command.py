"""`index` and `watch`: synchronise an index with files, once or continuously."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from click import Choice

import semsearch
from semsearch import settings
from semsearch.cli.indexes import from_others, on_ray
from semsearch.cli.indexes.on_ray import RayJob
from semsearch.cli.lookup import encoder_of, existing_index, existing_paths, index_of_files, trusted_encoder, use_device
from semsearch.cli.options import (
    DeviceOption,
    DtypeOption,
    JsonFlag,
    LayerOption,
    ModelOption,
    NameArgument,
    NameOption,
    Options,
    TemplateOption,
    TrustFlag,
    YesFlag,
    complete_index,
    flag,
    value,
)
from semsearch.cli.output import console, index_report
from semsearch.cli.output.progress import sync_progress
from semsearch.cli.ray_options import RayOptions
from semsearch.documents import vector_database_files
from semsearch.documents.parsing.ocr import check as check_recognition
from semsearch.errors import Locked, NotFound, UsageError
from semsearch.types import SyncReport
from semsearch.utils import plugins
from semsearch.utils.atomic_write import scratch_folder
from semsearch.utils.quantities import count

if TYPE_CHECKING:
    from semsearch import SyncOptions

LOADERS = ", ".join(plugins.own_names("semsearch.documents.loaders"))
KINDS = Choice(["auto", "files", *LOADERS.split(", "), *vector_database_files.KINDS])
BACKENDS = Choice(["auto", *plugins.own_names("semsearch.vector_index.backends")])
RETRY_SECONDS = 5  # after which a watcher tries again to write to an index that another process writes to
Chunk = Literal["sentences", "tokens", "markdown", "none"]


def index(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH|-]...", help="Files and folders; - reads standard input.")
    ] = None,
    name: Annotated[
        str | None,
        value(
            "NAME",
            "Name of the index in the home of indexes, or a path.  [default: see above]",
            "-n",
            "--name",
            autocompletion=complete_index,
        ),
    ] = None,
    model: ModelOption = None,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    layer: LayerOption = None,
    include: Annotated[list[str] | None, value("G", "Index only files that match this glob; repeatable.")] = None,
    exclude: Annotated[list[str] | None, value("G", "Leave out files that match this glob; repeatable.")] = None,
    no_ignore: Annotated[
        bool, flag("--no-ignore", "Also read what .gitignore excludes, and node_modules and the like.")
    ] = False,
    max_file_size: Annotated[str | None, value("SIZE", "Skip larger files: 500k, 10M, 1G.  [default: 10M]")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--from",
            click_type=KINDS,
            metavar="KIND",
            help=f"How to read files: by suffix (auto), each as one text (files), all by one loader ({LOADERS}); or "
            f"another store ({', '.join(vector_database_files.KINDS)}).  [default: auto]",
        ),
    ] = None,
    text_field: Annotated[list[str] | None, value("F", "Records: field of the text; repeatable: joined.")] = None,
    id_field: Annotated[str | None, value("F", "Records: field of the document's id.")] = None,
    meta_field: Annotated[
        list[str] | None, value("F", "Records: field to store as metadata; repeatable.  [default: all]")
    ] = None,
    sql: Annotated[str | None, value("Q", "SQLite: index the rows of this query.")] = None,
    ocr: Annotated[
        str | None, value("LANG", "PDF: recognise the text of scanned pages with tesseract: eng, or deu+eng.")
    ] = None,
    from_vectors: Annotated[
        Path | None,
        value(
            "FILE",
            "Texts with vectors: .parquet, or a folder of them; or .npy, and as PATH the JSON lines of texts. "
            "-m: the encoder of both.",
        ),
    ] = None,
    chunk: Annotated[Chunk | None, typer.Option(help="How to split documents into passages.")] = None,
    chunk_size: Annotated[int | None, value("N", "Tokens per passage.", min=1)] = None,
    overlap: Annotated[int | None, value("N", "Tokens shared by neighbouring passages.", min=0)] = None,
    device: DeviceOption = None,
    trust: TrustFlag = False,
    backend_type: Annotated[
        str | None, typer.Option(click_type=BACKENDS, help="Type of the vector index.  [default: auto]")
    ] = None,
    store: Annotated[
        str | None,
        value(
            "STORE",
            "Where a new index is stored: local, or postgres:postgresql://host/database on a server; "
            "one of that name there is linked.  [default: local]",
        ),
    ] = None,
    prune: Annotated[bool, flag("--prune/--no-prune", "Remove the documents of deleted files, or keep them.")] = True,
    force: Annotated[bool, flag("--force", "Read and split every file again.")] = False,
    dry_run: Annotated[bool, flag("--dry-run", "Report what would be done, and write nothing.")] = False,
    watching: Annotated[bool, flag("--watch", "Keep running and follow every change.")] = False,
    strict: Annotated[bool, flag("--strict", "Exit 5 if anything was skipped.")] = False,
    yes: YesFlag = False,
    as_json: JsonFlag = False,
    *,
    ray: RayOptions,
) -> None:
    """Index files, or update an index.

    New, changed, moved and deleted files are detected.

    Without PATH, the index is updated from its present sources. Without -n, it is the index that was built from PATH,
    else a new one named after the folder.
    """
    options: Options = ctx.obj
    if watching and dry_run:
        raise UsageError("--watch and --dry-run exclude each other.", "Choose one.")
    if ocr is not None:
        check_recognition(ocr)
    use_device(device)
    from_stdin = "-" in (paths or [])
    if from_stdin and (len(paths or []) > 1 or watching):
        raise UsageError("- (standard input) allows neither other paths nor --watch.", "Index other paths separately.")
    files = [] if from_stdin else existing_paths(paths or [])
    text = text_field[0] if text_field and len(text_field) == 1 else text_field
    fields = _set(text=text, id=id_field, meta=meta_field, sql=sql, ocr=ocr)
    found = from_others.origin(
        files,
        "sqlite" if sql and not kind else kind,
        semsearch.Fields(**fields) if fields else None,
        from_vectors,
        encoder=model is not None,
    )
    if found.read and (dry_run or watching or from_stdin):
        raise UsageError("--dry-run, --watch and - are for files that are followed.", "Leave them out.")
    engine = ray.chosen()
    if engine and (found.read or watching or from_stdin or trust):
        raise UsageError("--engine ray is for files and folders that are followed.", "Leave out the other options.")
    if engine and device:
        raise UsageError("--device is of this process, and workers embed.", "Their GPUs: --gpus-per-worker N.")
    files = list(found.paths)
    max_bytes = _bytes(max_file_size) if max_file_size else None
    rules = _set(include=include, exclude=exclude, use_ignore_files=False if no_ignore else None, max_bytes=max_bytes)
    split = _set(kind=chunk, size=chunk_size, overlap=overlap)
    how = semsearch.SyncOptions(
        rules=semsearch.Rules(**rules) if rules else None,
        kind=found.kind,
        fields=found.fields,
        prune=prune,
        force=force,
        dry_run=dry_run,
        yes=yes,
    )
    chosen = index_of_files(options, files, from_stdin=from_stdin) if name is None else name
    is_new = files or from_stdin or store  # without PATH the index has to exist, here or on the server
    folder = semsearch.admin.folder(chosen, options.folder()) if is_new else existing_index(options, chosen)
    if store and not (dry_run or semsearch.admin.exists(folder)):
        _link(folder, store, needed=not (files or from_stdin), options=options, as_json=as_json)
        if not (files or from_stdin):
            return
    model_name = _reference(model, folder, _set(template=template, dtype=dtype, layer=layer))
    job = IndexJob(
        options,
        folder,
        files,
        from_stdin,
        encoder=model_name,
        trust=trust,
        backend=backend_type,
        splitter=split,
        strict=strict,
        as_json=as_json,
        read=found.read,
        dimensions=found.dimensions,
        store=store or "local",
        ray=ray,
    )
    job.run(how, watching=watching)
    if watching:
        job.follow()


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
    job = IndexJob(ctx.obj, existing_index(ctx.obj, name, named), trust=trust, as_json=as_json)
    job.run(semsearch.SyncOptions(), watching=True)
    job.follow(poll=poll)


@dataclass(frozen=True, slots=True)
class IndexJob:
    """One `index` command: open or create the index, synchronise, report."""

    options: Options
    folder: Path
    paths: Sequence[Path] = ()
    from_stdin: bool = False
    encoder: str | None = None
    trust: bool = False
    backend: str | None = None
    splitter: Mapping[str, Any] = field(default_factory=dict)  # the fields of Splitter that flags set
    strict: bool = False
    as_json: bool = False
    read: from_others.Read | None = None  # in place of a synchronisation with files
    dimensions: int | None = None  # of a new index without an encoder
    store: str = "local"  # of a new index
    ray: RayOptions = field(default_factory=RayOptions)

    def run(self, how: SyncOptions, *, watching: bool = False, report_nothing_new: bool = True) -> None:
        """One synchronisation, reported. A new index without a document is removed, unless it is watched, or what a
        cluster has embedded waits for it.

        Exits with 5 under --strict where something was skipped, with 1 or 2 where files named by themselves gave
        nothing.
        """
        with ExitStack() as stack:
            ray = None if how.dry_run else self._on_ray()
            index, created = self._open(stack, ray, dry_run=how.dry_run)
            try:
                report = self._sync(index, how, ray)
            except BaseException:
                if created and not len(index) and not (ray and ray.is_waiting(index)):
                    index.close()
                    semsearch.admin.remove(index.path)
                raise
            if created and not len(index) and not how.dry_run and not watching:
                index.close()
                semsearch.admin.remove(index.path)
            elif self.backend and not how.dry_run and index.info()["recipe"].get("backend") != self.backend:
                semsearch.admin.rebuild(index, self.backend)
        if report_nothing_new or report.added + report.changed + report.moved + report.deleted:
            exists = semsearch.admin.exists(self.folder) or how.dry_run
            failed = index_report.nothing_read(report, [path for path in self.paths if path.is_file()])
            index_report.show(
                report, self.options, strict=self.strict, as_json=self.as_json, exists=exists, failed=failed
            )

    def follow(self, *, poll: bool = False) -> None:
        """Synchronise after every change of the files, until a signal arrives."""
        from semsearch.cli.indexes.file_watcher import changes  # the loaders, which --help does without

        console.note(f"watching the files of {self.folder.name}; press Ctrl-C to stop")
        again = replace(self, paths=(), splitter={}, backend=None)
        for told in changes(self.folder, poll=poll, warn=lambda message: console.warn([message])):
            while True:
                try:
                    again.run(semsearch.SyncOptions(), report_nothing_new=False)
                    break
                except NotFound as error:  # a folder that is away for a while
                    if not told:
                        console.warn([f"{error} The next change starts another attempt."])
                    break
                except Locked as error:
                    console.warn([f"{error} Another attempt follows in {RETRY_SECONDS} s."])
                    time.sleep(RETRY_SECONDS)

    def _on_ray(self) -> RayJob | None:
        """The job that embeds on Ray; None for this process. Raises UsageError, NotFound."""
        engine = self.ray.chosen()
        if engine is None:
            return None
        recorded = encoder_of(self.folder) if semsearch.admin.exists(self.folder) else settings.load().model
        return on_ray.job(self.ray, engine, self.encoder or recorded)

    def _open(self, stack: ExitStack, ray: RayJob | None, *, dry_run: bool) -> tuple[semsearch.Index, bool]:
        """The index, and whether it was created."""
        folder, encoder = self.folder, self.encoder
        created = not semsearch.admin.exists(folder) and bool(self.paths or self.from_stdin)
        if created and self.dimensions is not None:
            index = semsearch.Index.create(folder, encoder=None, dimensions=self.dimensions, store=self.store)
            return stack.enter_context(index), True
        if created and encoder is None:
            encoder = settings.load().model
        known = trusted_encoder(encoder or encoder_of(folder)) if self.trust else ray.encoder if ray else encoder
        if not created:
            return stack.enter_context(semsearch.Index.open(folder, encoder=known)), False
        if dry_run:
            folder = stack.enter_context(scratch_folder()) / folder.name
        splitter, backend = semsearch.Splitter(**self.splitter), self.backend or "auto"
        store = "local" if dry_run else self.store
        index = semsearch.Index.create(folder, encoder=known or "", splitter=splitter, backend=backend, store=store)
        return stack.enter_context(index), True

    def _sync(self, index: semsearch.Index, how: SyncOptions, ray: RayJob | None) -> SyncReport:
        if self.splitter:
            recorded = index.info()["recipe"]["splitter"]
            how = replace(how, splitter=semsearch.Splitter(**{**recorded, **self.splitter}))
        if self.from_stdin:
            return index.add_stream(sys.stdin.buffer, how)
        with sync_progress(self.options, self.folder.name) as report:
            if self.read is not None:
                return self.read(index, report)
            if ray is not None:
                return ray.sync(index, self.paths, how, report, self.options)
            return index.sync(self.paths, how, report)


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
        found = {"index": folder.name, "linked": True, "documents": documents}
        text = f"{folder.name}: linked, {count(documents, 'document')}"
        console.result(found, text, as_json=as_json, quiet=options.quiet)


def _set(**flags: Any) -> dict[str, Any]:
    """The flags that have a value; lists as tuples."""
    return {
        name: tuple(setting) if isinstance(setting, list) else setting
        for name, setting in flags.items()
        if setting not in (None, [], "")
    }


def _bytes(text: str) -> int:
    """
    >>> _bytes("500k"), _bytes("1.5M")
    (512000, 1572864)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip(), re.IGNORECASE)
    if not found:
        raise UsageError(f"--max-file-size: {text!r} is not a size.", "Write 500k, 10M or 1G.")
    return int(float(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " "))


def _reference(model: str | None, folder: Path | None, options: Mapping[str, Any]) -> str | None:
    """The model and its options as one reference; None without any flag. `folder`: of an index that may have one."""
    if model is None and not options:
        return None
    from semsearch.models.model_ref import Reference  # 5 ms that --help does without

    default = encoder_of(folder) if folder and semsearch.admin.exists(folder) else settings.load().model
    return str(Reference.parse(model or default).with_(**options))
