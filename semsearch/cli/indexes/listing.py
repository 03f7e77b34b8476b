"""`list`, `info` and `get`: what indexes there are, and what is in them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from semsearch import settings
from semsearch.cli.lookup import choose_index, open_index, parse_id
from semsearch.cli.options import JsonFlag, NameArgument, NameOption, Options
from semsearch.cli.output import console
from semsearch.errors import SemsearchError
from semsearch.types import JsonObject


def list_(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List indexes."""
    options: Options = ctx.obj
    known = [_listed(options, name) for name in settings.names(options.folder())]
    if as_json:
        console.emit({"schema": 1, "home": str(options.folder()), "indexes": known})
        return
    if not known:
        console.note(f"there is no index in {options.folder()} yet; create one: semsearch index FOLDER")
        return
    heads = ("name", "documents", "passages", "encoder", "size", "indexed")
    console.table([_row(found) for found in known], heads)
    console.warn(f"{found['index']}: {found['problem']}" for found in known if "problem" in found)


def info(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    documents: Annotated[bool, typer.Option("--documents", help="List every document.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show what an index contains, how it was built and what was skipped.

    Also its vector index backend, and why that one was chosen.
    """
    with open_index(ctx.obj, choose_index(ctx.obj, name, named)) as index:
        known = _info_object(index.info())
        if documents:
            known["list"] = index.documents()
    if as_json:
        console.emit(known)
        return
    listed = known.pop("list", ())
    console.pairs(_readable(known))
    for item in (known["last_run"] or {}).get("skipped", ()):
        console.out(f"  skipped {console.safe(item['path'])}: {console.safe(item['reason'])}")
    if listed:
        console.table([[str(item["id"]), str(item.get("passages", ""))] for item in listed], ("document", "passages"))


def get(
    ctx: typer.Context,
    what: Annotated[str, typer.Argument(metavar="ID", help="Id of a passage or a document.")],
    name: NameOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Print a passage or a document.

    A number is a passage's id. If a document's id is a number, write document:12.
    """
    with open_index(ctx.obj, choose_index(ctx.obj, name)) as index:
        found = index.get(parse_id(what))
    if as_json:
        console.emit({"schema": 1, "index": index.name, **found})
    elif sys.stdout.isatty():
        for line in found["text"].split("\n"):
            console.out(console.safe(line))
    else:
        console.out(found["text"])


def _listed(options: Options, name: str) -> JsonObject:
    """A summary of one index; if it cannot be read, the problem, so that the others are still listed."""
    try:
        with open_index(options, name) as index:
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


def _row(found: JsonObject) -> list[str]:
    if "problem" in found:
        return [found["index"], "-", "-", "unreadable", "", ""]
    counts = [f"{found[key]:,}" for key in ("documents", "passages")]
    return [found["index"], *counts, ", ".join(found["encoders"]), console.size(found["bytes"]), found["indexed"] or ""]


def _info_object(known: JsonObject) -> JsonObject:
    """`Index.info()` with the name first, the backend at the top level, and without the encoder's null distribution."""
    rest = {key: value for key, value in known.items() if key != "name"}
    rest["spaces"] = [
        {**space, "encoder": {k: v for k, v in space["encoder"].items() if k != "background"}}
        for space in known["spaces"]
    ]
    first = rest["spaces"][0] if rest["spaces"] else {}
    return {"schema": 1, "index": known["name"], **rest, "backend": first.get("backend"), "why": first.get("why")}


def _readable(known: JsonObject) -> dict[str, str]:
    """The lines of `info` for a person."""
    recipe, last = known["recipe"], known["last_run"] or {}
    lines = {"index": known["index"], "path": known["path"], "size": console.size(known["bytes"])}
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
