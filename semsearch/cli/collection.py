"""Looking after indexes: list info get delete rm compact verify dump restore."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from semsearch import settings
from semsearch.cli import show
from semsearch.cli.common import (
    JsonFlag,
    NameArgument,
    NameOption,
    Options,
    YesFlag,
    command,
    confirm,
    existing,
    existing_paths,
    opened,
    pick,
)  # fmt: skip
from semsearch.cli.searching import target
from semsearch.errors import GateFailed, NotFound, SemsearchError, UsageError

MANY = 10  # documents that `delete` takes out without asking


def register(app: typer.Typer) -> None:
    for name, function in (("list", list_), ("info", info), ("get", get), ("delete", delete), ("rm", rm),
                           ("compact", compact), ("verify", verify), ("dump", dump), ("restore", restore)):  # fmt: skip
        command(app, name)(function)


def list_(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """The indexes there are."""
    options: Options = ctx.obj
    known = [_listed(options, name) for name in settings.names(options.folder())]
    if as_json:
        show.emit({"schema": 1, "home": str(options.folder()), "indexes": known})
        return
    if not known:
        show.note(f"no index in {options.folder()} yet; make one: semsearch index FOLDER")
        return
    heads = ("name", "documents", "passages", "encoder", "size", "indexed")
    show.table([_row(found) for found in known], heads)


def info(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    documents: Annotated[bool, typer.Option("--documents", help="List every document.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """What an index holds, how it was made, which backend serves it and why, what the last run skipped."""
    with opened(ctx.obj, pick(ctx.obj, name, named)) as index:
        known = _info_object(index.info())
        if documents:
            known["list"] = index.documents()
    if as_json:
        show.emit(known)
        return
    listed = known.pop("list", ())
    show.pairs(_readable(known))
    for item in (known["last_run"] or {}).get("skipped", ()):
        show.out(f"  skipped {show.safe(item['path'])}: {show.safe(item['reason'])}")
    if listed:
        show.table([[str(item["id"]), str(item.get("passages", ""))] for item in listed], ("document", "passages"))


def get(
    ctx: typer.Context,
    what: Annotated[str, typer.Argument(metavar="ID", help="A passage's id or a document's id.")],
    name: NameOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Print a passage or a document. Digits are a passage's id; where documents have such names, document:12."""
    with opened(ctx.obj, pick(ctx.obj, name)) as index:
        found = index.get(target(what))
    if as_json:
        show.emit({"schema": 1, "index": index.name, **found})
    elif sys.stdout.isatty():
        for line in found["text"].split("\n"):
            show.out(show.safe(line))
    else:
        show.out(found["text"])


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
    """Take documents out of an index; their files stay. --path and --where together mean both.

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
        show.emit({**done, "dry_run": True} if dry_run else done)
        return
    if dry_run:
        for document in doomed:
            show.out(show.safe(document))
    elif not ctx.obj.quiet:
        show.out(f"{show.safe(index.name)}: {show.count(deleted, 'document')} deleted")


def rm(
    ctx: typer.Context, name: NameArgument = None, named: NameOption = None, yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:  # fmt: skip
    """Remove a whole index. The files that were indexed stay."""
    if not (name or named):
        raise UsageError("remove which index?", "Name it: semsearch rm NAME")
    chosen = pick(ctx.obj, name, named)
    folder = existing(ctx.obj, chosen)
    confirm(f"Remove index {chosen} ({folder})?", yes=yes)
    left = _remove(folder)
    if as_json:
        show.emit({"schema": 1, "index": chosen, "removed": True})
    elif not ctx.obj.quiet:
        show.out(f"{show.safe(chosen)}: removed")
    if left:
        show.warn([f"{folder} holds other files too; they were left: {', '.join(left[:5])}"])


def compact(ctx: typer.Context, name: NameArgument = None, named: NameOption = None, as_json: JsonFlag = False) -> None:
    """Give back the space of what was deleted, and build the vector cache anew."""
    with opened(ctx.obj, pick(ctx.obj, name, named)) as index:
        before = index.info()["bytes"]
        index.compact()
        after = index.info()["bytes"]
    if as_json:
        show.emit({"schema": 1, "index": index.name, "bytes_before": before, "bytes": after})
    elif not ctx.obj.quiet:
        show.out(f"{show.safe(index.name)}: {show.size(before)} before, {show.size(after)} now")


def verify(ctx: typer.Context, name: NameArgument = None, named: NameOption = None, as_json: JsonFlag = False) -> None:
    """Check everything: counts, checksums, orphan rows, each cache against the store. Exit 5 if anything is off."""
    with opened(ctx.obj, pick(ctx.obj, name, named)) as index:
        problems = index.verify()
    failed = GateFailed(f"{index.name}: {show.count(len(problems), 'problem')} found.",
                        "Restore a dump, or build the index anew; a bad cache alone: semsearch compact.")  # fmt: skip
    if as_json:
        done = {"schema": 1, "index": index.name, "ok": not problems, "problems": problems}
        show.emit({**done, "error": show.error_object(failed)} if problems else done)
    elif problems:
        for problem in problems:
            show.out(show.safe(problem))
    elif not ctx.obj.quiet:
        show.out(f"{show.safe(index.name)}: everything is in order")
    if problems:
        sys.stdout.flush()
        show.trouble(failed)
        raise typer.Exit(failed.exit_code)


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
        show.emit({"schema": 1, "index": index.name, "file": str(output), "bytes": output.stat().st_size})
    elif not ctx.obj.quiet:
        show.out(f"{show.safe(index.name)}: {show.size(output.stat().st_size)} in {show.safe(str(output))}")


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
        show.emit({"schema": 1, "index": index.name, "documents": documents})
    elif not ctx.obj.quiet:
        show.out(f"{show.safe(index.name)}: {show.count(documents, 'document')} restored")


def _listed(options: Options, name: str) -> dict[str, Any]:
    """One index in short; one that cannot be read says why instead of hiding the others."""
    try:
        with opened(options, name) as index:
            known = index.info()
    except SemsearchError as error:
        return {"index": name, "problem": str(error)}
    short = {key: known[key] for key in ("documents", "passages", "vectors", "bytes")}
    encoders = [space["encoder"]["name"] for space in known["spaces"]]
    return {
        "index": name,
        "path": known["path"],
        **short,
        "encoders": encoders,
        "indexed": (known["last_run"] or {}).get("at"),
    }


def _row(found: Mapping[str, Any]) -> list[str]:
    if "problem" in found:
        return [found["index"], "", "", found["problem"], "", ""]
    return [found["index"], f"{found['documents']:,}", f"{found['passages']:,}", ", ".join(found["encoders"]),
            show.size(found["bytes"]), found["indexed"] or ""]  # fmt: skip


def _info_object(known: Mapping[str, Any]) -> dict[str, Any]:
    """`Index.info()` with the name first, what serves it at the top, and without its thousand quantiles."""
    rest = {key: value for key, value in known.items() if key != "name"}
    rest["spaces"] = [
        {**space, "encoder": {k: v for k, v in space["encoder"].items() if k != "background"}}
        for space in known["spaces"]
    ]
    first = rest["spaces"][0] if rest["spaces"] else {}
    return {"schema": 1, "index": known["name"], **rest, "backend": first.get("backend"), "why": first.get("why")}


def _readable(known: Mapping[str, Any]) -> dict[str, Any]:
    """The lines of `info` for a person."""
    recipe, last = known["recipe"], known["last_run"] or {}
    lines: dict[str, Any] = {"index": known["index"], "path": known["path"], "size": show.size(known["bytes"])}
    lines |= {key: f"{known[key]:,}" for key in ("documents", "passages", "vectors")}
    for space in known["spaces"]:
        encoder = space["encoder"]
        lines["encoder"] = f"{encoder['name']} ({encoder['fingerprint'][:12]}), width {space['dim']}"
    lines["backend"] = f"{known['backend']}: {known['why']}"
    lines["follows"] = ", ".join(root["path"] for root in recipe.get("roots", ())) or "nothing"
    splitter = recipe.get("splitter", {})
    lines["passages by"] = ", ".join(f"{key} {value}" for key, value in splitter.items())
    if last:
        counts = ", ".join(f"{last.get(k, 0):,} {k}" for k in ("added", "changed", "unchanged", "moved", "deleted"))
        lines["last run"] = f"{last.get('at', '')}: {counts}, {len(last.get('skipped', ())):,} skipped"
    return lines


def _all_there(index: Any, ids: Iterable[str]) -> list[str]:
    """The ids, each once. Raises NotFound, before anything is deleted, for one that is not there."""
    wanted = list(dict.fromkeys(str(target(one)) if one.startswith("document:") else one for one in ids))
    for one in wanted:
        try:
            index.get(one)
        except NotFound:
            raise NotFound(f"{index.name} has no document {one!r}; nothing was deleted.",
                           f"See: semsearch info {index.name} --documents") from None  # fmt: skip
    return wanted


def _remove(folder: Path) -> list[str]:
    """Remove the index in `folder` under the writer's lock; the names of what is not its own and stays."""
    from semsearch import caches
    from semsearch.lock import LOCK, PID, WriterLock

    lock = WriterLock(folder)
    try:
        store = folder / settings.STORE_FILE
        store.unlink()  # from here on it is no index
        for file in [*folder.glob(f"{settings.STORE_FILE}-*"), *folder.glob(caches.FILES)]:
            file.unlink(missing_ok=True)
    finally:
        lock.release()
    for name in (LOCK, PID):
        (folder / name).unlink(missing_ok=True)
    left = sorted(file.name for file in folder.iterdir())
    if not left:
        folder.rmdir()
    return left
