"""`index` and `watch`: synchronise an index with files, once or continuously."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import semsearch
from semsearch import settings
from semsearch.chunking.splitter import Splitter
from semsearch.cli.indexes.file_watcher import changes
from semsearch.cli.indexes.naming import index_name
from semsearch.cli.lookup import choose_index, encoder_of, existing_index, existing_paths, trusted_encoder, use_device
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
)
from semsearch.cli.output import console, index_report
from semsearch.cli.output.progress import sync_progress
from semsearch.documents.loaders import Fields
from semsearch.documents.walk import Rules
from semsearch.errors import Locked, NotFound, UsageError
from semsearch.indexing.sources import SyncOptions
from semsearch.models.model_ref import Reference
from semsearch.types import SyncReport

Kind = Literal["auto", "files", "jsonl", "csv", "tsv", "sqlite"]
Chunk = Literal["sentences", "tokens", "markdown", "none"]
BackendType = Literal["auto", "exact", "flat", "compressed", "ivf"]
Paths = Annotated[
    list[str] | None, typer.Argument(metavar="[PATH|-]...", help="Files and folders; - reads standard input.")
]


def index(
    ctx: typer.Context,
    paths: Paths = None,
    name: NameOption = None,
    model: ModelOption = None,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    layer: LayerOption = None,
    include: Annotated[
        list[str] | None, typer.Option(metavar="G", help="Index only files that match this glob; repeatable.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="G", help="Leave out files that match this glob; repeatable.")
    ] = None,
    no_ignore: Annotated[
        bool, typer.Option("--no-ignore", help="Also read what .gitignore excludes, and node_modules and the like.")
    ] = False,
    max_file_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Skip larger files: 500k, 10M, 1G.  [default: 10M]")
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(
            "--from",
            help="How to read files: by suffix (auto), each as one text (files), or as records.  [default: auto]",
        ),
    ] = None,
    text_field: Annotated[str | None, typer.Option(metavar="F", help="Records: field of the text.")] = None,
    id_field: Annotated[str | None, typer.Option(metavar="F", help="Records: field of the document's id.")] = None,
    meta_field: Annotated[
        list[str] | None,
        typer.Option(metavar="F", help="Records: field to store as metadata; repeatable.  [default: all]"),
    ] = None,
    sql: Annotated[str | None, typer.Option(metavar="Q", help="SQLite: index the rows of this query.")] = None,
    chunk: Annotated[Chunk | None, typer.Option(help="How to split documents into passages.")] = None,
    chunk_size: Annotated[int | None, typer.Option(metavar="N", min=1, help="Tokens per passage.")] = None,
    overlap: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Tokens shared by neighbouring passages.")
    ] = None,
    device: DeviceOption = None,
    trust: TrustFlag = False,
    backend_type: Annotated[BackendType | None, typer.Option(help="Type of the vector index.  [default: auto]")] = None,
    prune: Annotated[
        bool, typer.Option("--prune/--no-prune", help="Remove the documents of deleted files, or keep them.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Read and split every file again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report what would be done, and write nothing.")] = False,
    watching: Annotated[bool, typer.Option("--watch", help="Keep running and follow every change.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 5 if anything was skipped.")] = False,
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Index files, or update an index.

    New, changed, moved and deleted files are detected.

    Without PATH, the index is updated from the files that it already follows. Without -n, the index is the one that
    follows PATH, else a new one named after the folder.
    """
    options: Options = ctx.obj
    if watching and dry_run:
        raise UsageError("--watch and --dry-run exclude each other.", "Choose one.")
    use_device(device)
    from_stdin = "-" in (paths or [])
    if from_stdin and (len(paths or []) > 1 or watching):
        raise UsageError("- (standard input) allows neither other paths nor --watch.", "Index other paths separately.")
    files = [] if from_stdin else existing_paths(paths or [])
    chosen = index_name(options, files, from_stdin=from_stdin) if name is None else name
    folder = settings.index_folder(chosen, options.folder())
    parts = {"kind": chunk, "size": chunk_size, "overlap": overlap}
    job = IndexJob(
        options,
        chosen,
        files,
        from_stdin,
        encoder=_reference(model, folder, {"template": template, "dtype": dtype, "layer": layer}),
        trust=trust,
        backend=backend_type,
        splitter={key: value for key, value in parts.items() if value is not None},
        strict=strict,
        as_json=as_json,
    )
    job.run(
        SyncOptions(
            rules=_rules(include, exclude, no_ignore, max_file_size),
            kind="sqlite" if sql and not kind else kind,
            fields=_fields(text_field, id_field, meta_field, sql),
            prune=prune,
            force=force,
            dry_run=dry_run,
            yes=yes,
        )
    )
    if watching:
        job.follow()


def watch(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    trust: TrustFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Update an index whenever its files change, until Ctrl-C."""
    chosen = choose_index(ctx.obj, name, named)
    existing_index(ctx.obj, chosen)
    job = IndexJob(ctx.obj, chosen, trust=trust, as_json=as_json)
    job.run(SyncOptions())
    job.follow()


@dataclass(slots=True)
class IndexJob:
    """One `index` command: open or create the index, synchronise, report; again for each change that it follows."""

    options: Options
    name: str
    paths: Sequence[Path] = ()
    from_stdin: bool = False
    encoder: str | None = None
    trust: bool = False
    backend: str | None = None
    splitter: dict[str, Any] = field(default_factory=dict)  # the fields of Splitter that flags set
    strict: bool = False
    as_json: bool = False
    following: bool = False

    def run(self, how: SyncOptions) -> None:
        """One synchronisation, reported. Exits with 5 under --strict where something was skipped."""
        with ExitStack() as stack:
            index, created = self._open(stack, dry_run=how.dry_run)
            try:
                report = self._sync(index, how)
            except BaseException:
                if created and not len(index):
                    index.close()
                    shutil.rmtree(index.path)
                raise
            if self.backend and not how.dry_run and index.info()["recipe"].get("backend") != self.backend:
                index.rebuild(self.backend)
        if not self.following or report.added + report.changed + report.moved + report.deleted:
            index_report.show(report, self.options, strict=self.strict, as_json=self.as_json)

    def follow(self) -> None:
        """Synchronise after every change of the files, until a signal arrives."""
        folder = existing_index(self.options, self.name)
        self.paths, self.splitter, self.backend, self.following = (), {}, None, True
        console.note(f"watching the files of {self.name}; press Ctrl-C to stop")
        for _ in changes(folder):
            try:
                self.run(SyncOptions())
            except (Locked, NotFound) as error:  # another writer, or a folder that is away for a while
                console.warn([f"{error} The next change starts another attempt."])

    def _open(self, stack: ExitStack, *, dry_run: bool) -> tuple[semsearch.Index, bool]:
        """The index, and whether it was created."""
        folder = settings.index_folder(self.name, self.options.folder())
        if settings.is_index(folder):
            known = trusted_encoder(self.encoder or encoder_of(folder)) if self.trust else self.encoder
            return stack.enter_context(semsearch.Index.open(folder, encoder=known)), False
        if not self.paths and not self.from_stdin:
            existing_index(self.options, self.name)  # raises: without PATH the index has to exist
        if dry_run:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="semsearch-"))) / folder.name
        model = self.encoder or settings.load().model
        encoder = trusted_encoder(model) if self.trust else model
        splitter, backend = Splitter(**self.splitter), self.backend or "auto"
        index = semsearch.Index.create(folder, encoder=encoder, splitter=splitter, backend=backend)
        return stack.enter_context(index), True

    def _sync(self, index: semsearch.Index, how: SyncOptions) -> SyncReport:
        if self.splitter:
            how = replace(how, splitter=Splitter(**{**index.info()["recipe"]["splitter"], **self.splitter}))
        if self.from_stdin:
            return index.add_stream(sys.stdin.buffer, how)
        with sync_progress(self.options, self.name) as report:
            return index.sync(self.paths, how, report)


def _rules(include: list[str] | None, exclude: list[str] | None, no_ignore: bool, size: str | None) -> Rules | None:
    """None without any flag: then the rules of the last run apply."""
    if not (include or exclude or no_ignore or size):
        return None
    rules = Rules(tuple(include or ()), tuple(exclude or ()), not no_ignore)
    return replace(rules, max_bytes=_bytes(size)) if size else rules


def _fields(text: str | None, id_: str | None, meta: list[str] | None, sql: str | None) -> Fields | None:
    return Fields(text=text, id=id_, meta=tuple(meta or ()), sql=sql) if text or id_ or meta or sql else None


def _bytes(text: str) -> int:
    """
    >>> _bytes("500k"), _bytes("1.5M")
    (512000, 1572864)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip(), re.IGNORECASE)
    if not found:
        raise UsageError(f"--max-file-size: {text!r} is not a size.", "Write 500k, 10M or 1G.")
    return int(float(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " "))


def _reference(model: str | None, folder: Path, options: dict[str, Any]) -> str | None:
    """The model and its options as one reference; None without any flag."""
    if model is None and all(value is None for value in options.values()):
        return None
    default = encoder_of(folder) if settings.is_index(folder) else settings.load().model
    return str(Reference.parse(model or default).with_(**options))
