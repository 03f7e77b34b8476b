"""Looking after an index: delete rm rename compact verify dump restore."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semsearch.cli.common import (
    JsonFlag,
    NameArgument,
    NameOption,
    YesFlag,
    complete_index,
    confirm,
    end_with,
    existing,
    existing_paths,
    opened,
    pick,
)
from semsearch.cli.output import text
from semsearch.cli.search.query import target
from semsearch.errors import Corrupt, GateFailed, NotFound, UsageError

if TYPE_CHECKING:
    from semsearch.index import Index

MANY = 10  # documents that `delete` takes out without asking


def delete(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    path: Annotated[str | None, typer.Option(metavar="G", help="Documents whose path matches.")] = None,
    id_: Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="This document; repeatable.")] = None,
    where: Annotated[str | None, typer.Option(metavar="E", help="Documents for which this holds.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Name them, and leave them.")] = False,
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Take documents out of an index; their files stay.

    --path and --where together mean both.

    More than 10 documents are asked about; where nobody can be asked, -y has to be given. A file that is still
    in an indexed folder comes back with the next `index` unless it is excluded there.
    """
    if id_ and (path or where):
        raise UsageError("--id and a filter cannot be given together.", "Choose one.")
    if not (id_ or path or where):
        raise UsageError("delete what?", "Give --id, --path or --where; the whole index goes with `rm`.")
    with opened(ctx.obj, pick(ctx.obj, name, named)) as index:
        doomed = _all_there(index, id_) if id_ else index.matching(where=where, path=path)
        if len(doomed) > MANY and not dry_run:
            confirm(f"Take {len(doomed):,} documents out of {index.name}?", yes=yes)
        deleted = len(doomed) if dry_run else index.delete(doomed) if doomed else 0
    if as_json:
        done = {"schema": 1, "index": index.name, "deleted": deleted, "documents": doomed}
        text.emit({**done, "dry_run": True} if dry_run else done)
        return
    if dry_run:
        for document in doomed:
            text.out(text.safe(document))
    elif not ctx.obj.quiet:
        text.out(f"{text.safe(index.name)}: {text.count(deleted, 'document')} deleted")


def rm(
    ctx: typer.Context, name: NameArgument = None, named: NameOption = None, yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:  # fmt: skip
    """Remove a whole index; the files that were indexed stay."""
    chosen = pick(ctx.obj, name, named)
    folder = existing(ctx.obj, chosen)
    confirm(f"Remove index {chosen} ({folder})?", yes=yes)
    from semsearch.index import Index

    left = Index.remove(folder)
    if as_json:
        text.emit({"schema": 1, "index": chosen, "removed": True})
    elif not ctx.obj.quiet:
        text.out(f"{text.safe(chosen)}: removed")
    if left:
        text.warn([f"{folder} holds other files too; they were left: {', '.join(left[:5])}"])


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
    second: Annotated[
        str | None, typer.Argument(metavar="NEW", help="What it is called from now on.", show_default=False)
    ] = None,
    named: NameOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Give an index another name; all that it holds stays."""
    name, new = (None, first) if second is None else (first, second)
    folder = existing(ctx.obj, pick(ctx.obj, name, named))
    from semsearch.index import Index

    path = Index.rename(folder, new)
    if as_json:
        text.emit({"schema": 1, "index": path.name, "before": folder.name, "path": str(path)})
    elif not ctx.obj.quiet:
        text.out(f"{text.safe(folder.name)}: {text.safe(path.name)} from now on")


def compact(ctx: typer.Context, name: NameArgument = None, named: NameOption = None, as_json: JsonFlag = False) -> None:
    """Give back the space of what was deleted.

    The vector cache is built anew.
    """
    chosen = pick(ctx.obj, name, named)
    with opened(ctx.obj, chosen) as index:
        before = index.info()["bytes"]
        index.compact()
    with opened(ctx.obj, chosen) as index:  # closed in between: SQLite folds its log in
        after = index.info()["bytes"]
    if as_json:
        text.emit({"schema": 1, "index": index.name, "bytes_before": before, "bytes": after})
    elif not ctx.obj.quiet:
        text.out(f"{text.safe(index.name)}: {text.size(before)} before, {text.size(after)} now")


def verify(ctx: typer.Context, name: NameArgument = None, named: NameOption = None, as_json: JsonFlag = False) -> None:
    """Check an index against its checksums. Exit 5 if anything is off.

    Counts, checksums, orphan rows, each cache against the store: everything is read.
    """
    chosen = pick(ctx.obj, name, named)
    label = existing(ctx.obj, chosen).name
    try:
        with opened(ctx.obj, chosen) as index:
            problems = index.verify()
    except Corrupt as error:  # too damaged to be opened, or to be read to the end
        problems = [error.message]
    failed = GateFailed(f"{label}: {text.count(len(problems), 'problem')} found.",
                        "Restore a dump, or build the index anew; a bad cache alone: semsearch compact.")  # fmt: skip
    if as_json:
        done = {"schema": 1, "index": label, "ok": not problems, "problems": problems}
        text.emit({**done, "error": text.error_object(failed)} if problems else done)
    elif problems:
        for problem in problems:
            text.out(text.safe(problem))
    elif not ctx.obj.quiet:
        text.out(f"{text.safe(label)}: everything is in order")
    if problems:
        end_with(failed)


def dump(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")] = None,
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Write an index to one file."""
    chosen = pick(ctx.obj, name, named)
    if output is None:
        raise UsageError("where to?", f"Say -o FILE: semsearch dump {chosen} -o {chosen}.dump")
    if output.exists():
        confirm(f"{output} exists. Replace it?", yes=yes)
    with opened(ctx.obj, chosen) as index:
        index.dump(output)
    if as_json:
        text.emit({"schema": 1, "index": index.name, "file": str(output), "bytes": output.stat().st_size})
    elif not ctx.obj.quiet:
        text.out(f"{text.safe(index.name)}: {text.size(output.stat().st_size)} in {text.safe(str(output))}")


def restore(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `dump` wrote.")],
    name: Annotated[
        str | None, typer.Option("-n", "--name", metavar="NAME", help="The new index.  [default: the file's name]")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a new index out of a dump."""
    [source] = existing_paths([file])
    chosen = name or source.name.split(".")[0]
    from semsearch.index import Index

    with Index.restore(source, chosen, home=ctx.obj.folder()) as index:
        documents = len(index)
    if as_json:
        text.emit({"schema": 1, "index": index.name, "documents": documents})
    elif not ctx.obj.quiet:
        text.out(f"{text.safe(index.name)}: {text.count(documents, 'document')} restored")


def _all_there(index: Index, ids: Iterable[str]) -> list[str]:
    """The ids, each once. Raises NotFound, before anything is deleted, for one that is not there."""
    wanted = list(dict.fromkeys(str(target(one)) if one.startswith("document:") else one for one in ids))
    for one in wanted:
        try:
            index.get(one)
        except NotFound:
            raise NotFound(f"{index.name} has no document {one!r}; nothing was deleted.",
                           f"See: semsearch info {index.name} --documents") from None  # fmt: skip
    return wanted
