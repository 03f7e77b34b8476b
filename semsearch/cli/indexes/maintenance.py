"""Maintenance of indexes: `delete`, `rm`, `rename`, `compact`, `verify`, `dump` and `restore`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import semsearch
from semsearch.cli.lookup import choose_index, existing_index, existing_paths, open_index, parse_id
from semsearch.cli.options import (
    PATHS,
    JsonFlag,
    ModelOption,
    NameArgument,
    NameOption,
    Options,
    PrecisionOption,
    YesFlag,
    complete_index,
    flag,
    value,
)
from semsearch.cli.output import console, set_aside
from semsearch.cli.output.progress import counter, step_progress
from semsearch.errors import Corrupt, GateFailed, NotFound, UsageError
from semsearch.stores import recipe_trust
from semsearch.utils.quantities import count

if TYPE_CHECKING:
    from semsearch.documents.vector_files import Precision

CONFIRM_ABOVE = 10  # documents


def delete(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    path: Annotated[str | None, value("G", PATHS)] = None,
    id_: Annotated[list[str] | None, value("ID", "The document with this id; repeatable.", "--id")] = None,
    where: Annotated[str | None, value("E", "Documents that this filter selects.")] = None,
    exclude: Annotated[bool, flag("--exclude", "Later runs of `index` leave their files out.")] = False,
    dry_run: Annotated[bool, flag("--dry-run", "Print what would be deleted, and delete nothing.")] = False,
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Delete documents from an index; the files remain.

    --path and --where together select documents that match both.

    Deleting more than 10 documents has to be confirmed, with -y where there is no terminal. A file that is still in
    an indexed folder is indexed again by the next `index`, unless it is excluded there, as by --exclude.
    """
    if id_ and (path or where):
        raise UsageError("--id excludes --path and --where.", "Choose one.")
    if not (id_ or path or where):
        raise UsageError("say what to delete: --id, --path or --where.", "`semsearch rm` removes a whole index.")
    with open_index(ctx.obj, name, named) as index:
        doomed = _existing_documents(index, id_) if id_ else index.matching(where=where, path=path)
        if len(doomed) > CONFIRM_ABOVE and not dry_run:
            some = f"{len(doomed):,} documents from {index.name}"
            console.confirm(f"Delete {some}?", f"deleting {some}", yes=yes)
        deleted = len(doomed) if dry_run else index.delete(doomed, exclude=exclude) if doomed else 0
    outcome = {"index": index.name, "deleted": deleted, "documents": doomed, **({"dry_run": True} if dry_run else {})}
    text = f"{index.name}: {count(deleted, 'document')} deleted"
    console.result(outcome, doomed if dry_run else text, as_json=as_json, quiet=ctx.obj.quiet)
    if dry_run and not (as_json or ctx.obj.quiet):
        console.note(f"{count(deleted, 'document')} would be deleted")


def rm(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    unlink: Annotated[bool, flag("--unlink", "Of an index on a server, remove only the link here.")] = False,
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Remove a whole index; the indexed files remain.

    An index on a server is removed there too, unless --unlink is passed.
    """
    folder = existing_index(ctx.obj, name, named)
    if unlink:
        left = semsearch.admin.unlink(folder)
    else:
        console.confirm(f"Remove index {folder.name} ({folder})?", f"removing index {folder.name}", yes=yes)
        left = semsearch.admin.remove(folder)
    outcome = {"index": folder.name, "removed": True}
    text = f"{folder.name}: {'unlinked; its server keeps the documents' if unlink else 'removed'}"
    console.result(outcome, text, as_json=as_json, quiet=ctx.obj.quiet)
    if left:
        console.warn([f"{folder} contains other files, which were not removed: {', '.join(left[:5])}"])


def rename(
    ctx: typer.Context,
    first: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]",
            help="The index; may be left out where only one exists.",
            autocompletion=complete_index,
            show_default=False,
        ),
    ],
    second: Annotated[str | None, typer.Argument(metavar="NEW", help="The new name.", show_default=False)] = None,
    named: Annotated[
        str | None, value("NAME", "The index, in place of the argument.", "-n", "--name", autocompletion=complete_index)
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Rename an index."""
    name, new = (None, first) if second is None else (first, second)
    folder = existing_index(ctx.obj, name, named)
    if new == folder.name:
        raise UsageError(f"index {new} has this name already.", "Choose another name.")
    path = semsearch.admin.rename(folder, new)
    outcome = {"index": path.name, "before": folder.name, "path": str(path)}
    console.result(outcome, f"Renamed {folder.name} to {path.name}.", as_json=as_json, quiet=ctx.obj.quiet)


def compact(ctx: typer.Context, name: NameArgument = None, named: NameOption = None, as_json: JsonFlag = False) -> None:
    """Free the disk space of deleted documents.

    Also rebuilds the vector index.
    """
    with open_index(ctx.obj, name, named) as index:
        before = index.info()["bytes"]
        with step_progress(ctx.obj, f"compacting {index.name}") as report:
            semsearch.admin.compact(index, report)
    with semsearch.Index.open(index.path) as index:  # closed in between: SQLite folds its log in
        after = index.info()["bytes"]
    outcome = {"index": index.name, "bytes_before": before, "bytes": after}
    text = f"{index.name}: {console.size(before)} before, {console.size(after)} now"
    console.result(outcome, text, as_json=as_json, quiet=ctx.obj.quiet)


def verify(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    accept_loss: Annotated[
        bool, flag("--accept-loss", "First accept that acknowledged changes are missing, so that writing goes on.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check an index against its checksums.

    Exit 5 if it has a problem. Reads everything: counts, checksums, orphaned rows, every word of the full-text
    indexes, and each vector index against the store. Nothing is changed, and a writer can go on meanwhile.
    """
    folder = existing_index(ctx.obj, name, named)
    label, failed = folder.name, None
    if accept_loss:
        loss = semsearch.admin.accept_loss(folder)
        console.note(f"{loss} Accepted." if loss else f"{label}: no acknowledged change is missing.")
    try:
        with semsearch.Index.open(folder) as index, step_progress(ctx.obj, f"verifying {label}") as report:
            problems = index.analysis.verify(report)
    except Corrupt as error:  # too damaged to be opened, or to be read to the end
        problems = [error.message]
    if problems:
        failed = GateFailed(
            f"{label}: {count(len(problems), 'problem')} found.",
            "Restore a dump or rebuild the index; `semsearch compact` repairs a bad vector index.",
        )
    outcome = {"index": label, "ok": not problems, "problems": problems}
    text = f"{label}: no problems found"
    console.result(outcome, problems or text, as_json=as_json, quiet=ctx.obj.quiet, failed=failed)


def salvage(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    output: Annotated[str | None, value("NEW", "Name of the new index.", "-o", "--output")] = None,
    encoder: ModelOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Copy what is sound of a damaged index into a new one.

    Exit 5 if anything is lost. The damaged index is not changed. What is lost is printed, a line each; a vector
    that is lost is made again.
    """
    folder = existing_index(ctx.obj, name, named)
    if output is None:
        raise UsageError(
            "salvage needs a name for the new index.", f"Pass -o NEW: semsearch salvage {folder.name} -o NEW"
        )
    with counter(ctx.obj, f"salvaging {folder.name}", "documents") as show:
        report = semsearch.admin.salvage(
            folder,
            output,
            encoder=encoder,
            home=ctx.obj.folder(),
            progress=lambda step: show(step.done, step.total),
        )
    failed = None
    text = f"{report.index}: {count(report.documents, 'document')} salvaged from {folder.name}"
    if report.lost:
        lost = count(len(report.lost), "item")
        failed = GateFailed(f"{text}; {lost} lost.", f"Files that exist are read again by: semsearch index -n {output}")
    summary = {"from": folder.name, **asdict(report), "complete": not report.lost}
    shown = [f"{item.path}: {item.reason}" for item in report.lost] or text
    console.result(summary, shown, as_json=as_json, quiet=ctx.obj.quiet, failed=failed)


def dump(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    output: Annotated[Path | None, value("FILE", "File to write.", "-o", "--output")] = None,
    vectors: Annotated[
        Path | None, value("FILE", "Write the passages with their vectors: .parquet, or .npy and .jsonl.")
    ] = None,
    precision: PrecisionOption = "float32",
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Write an index to one file.

    --vectors writes a table for other programs instead, which `index --from-vectors` reads too: the passages with id,
    document, place, text, metadata and vector. Beside FILE.npy, line n of FILE.jsonl is the passage of row n.
    """
    chosen = choose_index(ctx.obj, name, named)
    if vectors is not None:
        if output is not None:
            raise UsageError("-o and --vectors exclude each other.", "Choose one.")
        _dump_vectors(ctx.obj, chosen, vectors, precision, yes=yes, as_json=as_json)
        return
    if output is None:
        raise UsageError("dump needs an output file.", f"Pass -o FILE: semsearch dump {chosen} -o {chosen}.dump")
    if output.exists():
        console.confirm(f"{output} exists. Replace it?", f"replacing {output}", yes=yes)
    with open_index(ctx.obj, chosen) as index, step_progress(ctx.obj, f"dumping {chosen}") as report:
        semsearch.admin.dump(index, output, report)
    size = output.stat().st_size
    outcome = {"index": index.name, "file": str(output), "bytes": size}
    text = f"{index.name}: {console.size(size)} in {output}"
    console.result(outcome, text, as_json=as_json, quiet=ctx.obj.quiet)


def _dump_vectors(options: Options, chosen: str, file: Path, precision: Precision, *, yes: bool, as_json: bool) -> None:
    beside = [file.with_suffix(".jsonl")] if file.suffix == ".npy" else []
    for there in [each for each in (file, *beside) if each.exists()]:
        console.confirm(f"{there} exists. Replace it?", f"replacing {there}", yes=yes)
    with open_index(options, chosen) as index, step_progress(options, f"writing {file}") as report:
        written = semsearch.admin.export_vectors(index, file, precision=precision, progress=report)
    sizes = {str(each): each.stat().st_size for each in written}
    outcome = {"index": index.name, "files": list(sizes), "bytes": sum(sizes.values())}
    text = [f"{index.name}: {console.size(size)} in {each}" for each, size in sizes.items()]
    console.result(outcome, text, as_json=as_json, quiet=options.quiet)


def restore(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="File that `dump` wrote.")],
    name: Annotated[
        str | None, value("NAME", "Name of the new index.  [default: the file's name]", "-n", "--name")
    ] = None,
    store: Annotated[
        str, value("STORE", "Where the new index is stored: local, or NAME:ADDRESS of a server.")
    ] = "local",
    trusted: Annotated[bool, flag("--trust", "Do what `semsearch trust` does, for a dump of your own.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Create an index from a dump.

    It follows no folder, and downloads no encoder, until you say so: with --trust, or later with `semsearch trust`.
    """
    [source] = existing_paths([file])
    chosen = name or source.name.split(".")[0]
    with step_progress(ctx.obj, f"restoring {chosen}") as report:
        restored_index = semsearch.admin.restore(
            source, chosen, home=ctx.obj.folder(), store=store, trust=trusted, progress=report
        )
    with restored_index as index:
        documents = len(index)
        apart = index.info()["recipe"].get(recipe_trust.KEY, {})
    outcome = {"index": index.name, "documents": documents, **({recipe_trust.KEY: apart} if apart else {})}
    text = f"{index.name}: {count(documents, 'document')} restored"
    console.result(outcome, text, as_json=as_json, quiet=ctx.obj.quiet)
    if said := set_aside.in_words(apart):
        console.note(f"Not yet: {said}. If you trust the dump: semsearch trust {index.name}")


def trust(ctx: typer.Context, name: NameArgument = None, named: NameOption = None, as_json: JsonFlag = False) -> None:
    """Trust a restored index: follow its folders, load its encoder.

    For an index restored from a dump of your own, or of somebody you trust. Nothing is read yet: `semsearch index -n
    NAME` updates the index from its folders.
    """
    with open_index(ctx.obj, name, named) as index:
        apart = index.info()["recipe"].get(recipe_trust.KEY, {})
        semsearch.admin.trust(index)
    outcome = {"index": index.name, "trusted": apart}
    said = set_aside.in_words(apart)
    text = f"{index.name}: from now on it may {said}" if said else f"{index.name}: nothing was set aside"
    console.result(outcome, text, as_json=as_json, quiet=ctx.obj.quiet)


def _existing_documents(index: semsearch.Index, ids: Iterable[str]) -> list[str]:
    """The ids, each once. Raises NotFound for an unknown one, before anything is deleted."""
    names = list(dict.fromkeys(str(parse_id(one)) if one.startswith("document:") else one for one in ids))
    for one in names:
        try:
            index.get(one)
        except NotFound:
            message = f"{index.name} has no document {one!r}; nothing was deleted."
            raise NotFound(message, f"See: semsearch info {index.name} --documents") from None
    return names
