"""`index` and `watch`: bring an index in line with files, once or for as long as it takes."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semsearch import settings
from semsearch.cli.common import (
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
    existing,
    existing_paths,
    pick,
    remembered,
    trusted,
    use_device,
)
from semsearch.cli.indexes.naming import usual_name
from semsearch.cli.output import text as show
from semsearch.cli.output.progress import reported
from semsearch.cli.output.reports import tell
from semsearch.errors import UsageError

if TYPE_CHECKING:
    from semsearch.index import Index
    from semsearch.indexing.sync import SyncOptions
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
    include: Annotated[list[str] | None, typer.Option(metavar="G", help="Only files that match; repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="G", help="No files that match; repeatable.")] = None,
    no_ignore: Annotated[bool, typer.Option("--no-ignore", help="Read what .gitignore and such leave out.")] = False,
    max_file_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Skip larger files: 500k, 10M, 1G.  [default: 10M]")
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option("--from", help="How to read: by suffix, every file as text, or as records.  [default: auto]"),
    ] = None,
    text_field: Annotated[str | None, typer.Option(metavar="F", help="Records: the field that holds the text.")] = None,
    id_field: Annotated[str | None, typer.Option(metavar="F", help="Records: the field that names them.")] = None,
    meta_field: Annotated[
        list[str] | None, typer.Option(metavar="F", help="Records: keep only this metadata; repeatable.")
    ] = None,
    sql: Annotated[str | None, typer.Option(metavar="Q", help="Index what this query finds in a SQLite file.")] = None,
    chunk: Annotated[Chunk | None, typer.Option(help="How documents are cut into passages.")] = None,
    chunk_size: Annotated[int | None, typer.Option(metavar="N", min=1, help="Tokens of a passage.")] = None,
    overlap: Annotated[int | None, typer.Option(metavar="N", min=0, help="Tokens that neighbours share.")] = None,
    device: DeviceOption = None,
    trust: TrustFlag = False,
    backend_type: Annotated[BackendType | None, typer.Option(help="Vector index.  [default: auto]")] = None,
    prune: Annotated[bool, typer.Option("--prune/--no-prune", help="Drop what is gone, or keep it.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Read and cut every file again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done.")] = False,
    watching: Annotated[bool, typer.Option("--watch", help="Go on and follow every change.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 5 if anything was skipped.")] = False,
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Index files, or update an index.

    New, changed, moved and deleted files are found.

    Without PATH the index is updated from where it came from. Without -n the index is the one that already
    follows PATH, else it is called like the folder.
    """
    options: Options = ctx.obj
    if watching and dry_run:
        raise UsageError("--watch and --dry-run cannot be given together.", "Choose one.")
    use_device(device)
    from_stdin = "-" in (paths or [])
    if from_stdin and (len(paths or []) > 1 or watching):
        raise UsageError("- (standard input) comes alone and cannot be watched.", "Index other paths separately.")
    files = [] if from_stdin else existing_paths(paths or [])
    chosen = usual_name(options, files, from_stdin=from_stdin) if name is None else name
    rules = _rules(include, exclude, no_ignore, max_file_size)
    fields = _fields(text_field, id_field, meta_field, sql)
    kind = "sqlite" if sql and not kind else kind
    cut = {k: v for k, v in (("kind", chunk), ("size", chunk_size), ("overlap", overlap)) if v is not None}
    how = {"template": template, "dtype": dtype, "layer": layer}
    named = _named(model, settings.index_folder(chosen, options.folder()), how)
    job = _Job(options, chosen, files, from_stdin, named, trust, backend_type, cut, strict, as_json)
    from semsearch.indexing.sync import SyncOptions

    job.run(SyncOptions(rules=rules, kind=kind, fields=fields, prune=prune, force=force, dry_run=dry_run, yes=yes))
    if watching:
        job.follow()


def watch(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    trust: TrustFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Keep an index in line with its files, until Ctrl-C."""
    chosen = pick(ctx.obj, name, named)
    existing(ctx.obj, chosen)
    from semsearch.indexing.sync import SyncOptions

    job = _Job(ctx.obj, chosen, trust=trust, as_json=as_json)
    job.run(SyncOptions())
    job.follow()


@dataclass(slots=True)
class _Job:
    """One `index` command: open or make the index, synchronise, report; again for each change where it watches."""

    options: Options
    name: str
    paths: Sequence[Path] = ()
    from_stdin: bool = False
    model: str | None = None
    trust: bool = False
    backend: str | None = None
    cut: Mapping[str, Any] = field(default_factory=dict)  # fields of Splitter that were given
    strict: bool = False
    as_json: bool = False
    following: bool = False

    def run(self, how: SyncOptions) -> None:
        """One pass, reported. Raises GateFailed's exit code under --strict where something was skipped."""
        with ExitStack() as stack:
            index, created = self._opened(stack, dry_run=how.dry_run)
            try:
                report = self._synchronised(index, how)
            except BaseException:
                if created and not len(index):
                    index.close()
                    shutil.rmtree(index.path)
                raise
            if self.backend and not how.dry_run and index.info()["recipe"].get("backend") != self.backend:
                index.rebuild(self.backend)
        if not self.following or report.added + report.changed + report.moved + report.deleted:
            tell(report, self.options, strict=self.strict, as_json=self.as_json)

    def follow(self) -> None:
        """Synchronise after every change of the files, until a signal comes."""
        from semsearch.cli.indexes.watch import changes
        from semsearch.errors import Locked, NotFound
        from semsearch.indexing.sync import SyncOptions

        folder = existing(self.options, self.name)
        self.paths, self.cut, self.backend, self.following = (), {}, None, True
        show.note(f"watching what {self.name} follows; stop with Ctrl-C")
        for _ in changes(folder):
            try:
                self.run(SyncOptions())
            except (Locked, NotFound) as passing:  # another writer, or a folder that is away for a while
                show.warn([f"{passing} It is tried again after the next change."])

    def _opened(self, stack: ExitStack, *, dry_run: bool) -> tuple[Index, bool]:
        from semsearch.chunking.splitter import Splitter
        from semsearch.index import Index

        folder = settings.index_folder(self.name, self.options.folder())
        if settings.is_index(folder):
            known = trusted(self.model or remembered(folder)) if self.trust else self.model
            return stack.enter_context(Index.open(folder, encoder=known)), False
        if not self.paths and not self.from_stdin:
            existing(self.options, self.name)  # raises: without PATH it is an index that was meant
        if dry_run:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="semsearch-"))) / folder.name
        model = self.model or settings.load().model
        encoder = trusted(model) if self.trust else model
        made = Index.create(folder, encoder=encoder, splitter=Splitter(**self.cut), backend=self.backend or "auto")
        return stack.enter_context(made), True

    def _synchronised(self, index: Index, how: SyncOptions) -> SyncReport:
        if self.cut:
            from semsearch.chunking.splitter import Splitter

            how = replace(how, splitter=Splitter(**{**index.info()["recipe"]["splitter"], **self.cut}))
        if self.from_stdin:
            return index.add_stream(sys.stdin.buffer, how)
        with reported(self.options, self.name) as report:
            return index.sync(self.paths, how, report)


def _rules(include: list[str] | None, exclude: list[str] | None, no_ignore: bool, size: str | None) -> Any:
    """None where nothing was said: then what the index was told the last time holds."""
    if not (include or exclude or no_ignore or size):
        return None
    from semsearch.documents.walk import Rules

    rules = Rules(tuple(include or ()), tuple(exclude or ()), not no_ignore)
    return replace(rules, max_bytes=_bytes(size)) if size else rules


def _fields(text: str | None, id_: str | None, meta: list[str] | None, sql: str | None) -> Any:
    if not (text or id_ or meta or sql):
        return None
    from semsearch.documents.loaders import Fields

    return Fields(text=text, id=id_, meta=tuple(meta or ()), sql=sql)


def _bytes(text: str) -> int:
    """
    >>> _bytes("500k"), _bytes("1.5M")
    (512000, 1572864)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip(), re.IGNORECASE)
    if not found:
        raise UsageError(f"--max-file-size {text!r} is not a size.", "Write 500k, 10M or 1G.")
    return int(float(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " "))


def _named(model: str | None, folder: Path, how: Mapping[str, Any]) -> str | None:
    """The model that flags ask for, as one reference; None where nothing was said."""
    if model is None and all(value is None for value in how.values()):
        return None
    from semsearch.models.model_ref import Reference

    usual = remembered(folder) if settings.is_index(folder) else settings.load().model
    return str(Reference.parse(model or usual).with_(**how))
