"""Looking at indexes: list info get."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from semsearch import settings
from semsearch.cli.common import JsonFlag, NameArgument, NameOption, Options, opened, pick
from semsearch.cli.output import text
from semsearch.cli.search.query import target
from semsearch.errors import SemsearchError


def list_(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """The indexes there are."""
    options: Options = ctx.obj
    known = [_listed(options, name) for name in settings.names(options.folder())]
    if as_json:
        text.emit({"schema": 1, "home": str(options.folder()), "indexes": known})
        return
    if not known:
        text.note(f"no index in {options.folder()} yet; make one: semsearch index FOLDER")
        return
    heads = ("name", "documents", "passages", "encoder", "size", "indexed")
    text.table([_row(found) for found in known], heads)
    text.warn(f"{found['index']}: {found['problem']}" for found in known if "problem" in found)


def info(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    documents: Annotated[bool, typer.Option("--documents", help="List every document.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """What an index holds, how it was made, what was skipped.

    Also which backend serves it, and why that one.
    """
    with opened(ctx.obj, pick(ctx.obj, name, named)) as index:
        known = _info_object(index.info())
        if documents:
            known["list"] = index.documents()
    if as_json:
        text.emit(known)
        return
    listed = known.pop("list", ())
    text.pairs(_readable(known))
    for item in (known["last_run"] or {}).get("skipped", ()):
        text.out(f"  skipped {text.safe(item['path'])}: {text.safe(item['reason'])}")
    if listed:
        text.table([[str(item["id"]), str(item.get("passages", ""))] for item in listed], ("document", "passages"))


def get(
    ctx: typer.Context,
    what: Annotated[str, typer.Argument(metavar="ID", help="A passage's id or a document's id.")],
    name: NameOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Print a passage or a document.

    Digits are a passage's id; where documents have such names, write document:12.
    """
    with opened(ctx.obj, pick(ctx.obj, name)) as index:
        found = index.get(target(what))
    if as_json:
        text.emit({"schema": 1, "index": index.name, **found})
    elif sys.stdout.isatty():
        for line in found["text"].split("\n"):
            text.out(text.safe(line))
    else:
        text.out(found["text"])


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
        return [found["index"], "-", "-", "cannot be read", "", ""]
    return [found["index"], f"{found['documents']:,}", f"{found['passages']:,}", ", ".join(found["encoders"]),
            text.size(found["bytes"]), found["indexed"] or ""]  # fmt: skip


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
    lines: dict[str, Any] = {"index": known["index"], "path": known["path"], "size": text.size(known["bytes"])}
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
