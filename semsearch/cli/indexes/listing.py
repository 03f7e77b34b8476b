"""`list`, `info` and `get`: what indexes there are, and what is in them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import semsearch
from semsearch import encoders
from semsearch.cli.lookup import open_index, parse_id
from semsearch.cli.options import JsonFlag, NameArgument, NameOption, Options, flag
from semsearch.cli.output import console, set_aside
from semsearch.errors import NotFound, SemsearchError
from semsearch.types import JsonObject
from semsearch.utils.quantities import count, letters_by_kind
from semsearch.utils.untrusted import visible

MOST_OF_A_PATH = 20  # letters of the place of an index's documents in a table: its end


def list_(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """List indexes."""
    options: Options = ctx.obj
    listed = [_listed(options, name) for name in semsearch.admin.names(options.folder())]

    def show() -> None:
        if not listed:
            console.note(f"there is no index in {options.folder()} yet; create one: semsearch index FOLDER")
            return
        console.table(
            list(map(_row, listed)), ("name", "documents", "passages", "encoder", "size", "indexed", "sources")
        )
        console.warn(f"{row['index']}: {row['problem']}" for row in listed if "problem" in row)

    console.result({"home": str(options.folder()), "indexes": listed}, show, as_json=as_json)


def info(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    documents: Annotated[bool, flag("--documents", "List every document.")] = False,
    skipped: Annotated[bool, flag("--skipped", "List every file that was skipped, or not read as a whole.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show what an index contains and how it was built.

    Also what the last run skipped, the type of its vector index, and why that one was chosen. With --skipped, all files
    that are skipped, with the reasons, and what was left out of the others, such as navigation and scripts.
    """
    with open_index(ctx.obj, name, named) as index:
        facts = index.info()
        read = semsearch.admin.share_read(index)
        listed = index.documents() if documents else []
        left_out = index.analysis.left_out() if skipped else {}
        all_skipped = [asdict(each) for each in index.analysis.skipped()] if skipped else None
    facts = {
        "index": facts.pop("name"),
        "share_read": read,
        **facts,
        **{key: facts["spaces"][0][key] for key in ("backend", "why")},
    }

    def show() -> None:
        console.pairs(_readable(facts))
        for item in (facts["last_run"] or {}).get("skipped", ()) if all_skipped is None else all_skipped:
            console.out(f"  skipped {console.safe(item['path'])}: {console.safe(item['reason'])}")
        for path, kinds in left_out.items():
            console.out(f"  left out of {console.safe(path)}: {console.safe(letters_by_kind(kinds))}")
        if listed:
            rows = [[str(item["id"]), str(item.get("passages", ""))] for item in listed]
            console.table(rows, ("document", "passages"))

    more: JsonObject = {"list": listed} if documents else {}
    if skipped:
        by_file = [{"path": path, "kinds": kinds} for path, kinds in left_out.items()]
        more |= {"skipped": all_skipped, "left_out": by_file}
    console.result({**facts, **more}, show, as_json=as_json)


def get(
    ctx: typer.Context,
    what: Annotated[str, typer.Argument(metavar="ID", help="Id of a passage or a document.")],
    name: NameOption = None,
    raw: Annotated[bool, flag("--raw", "The text exactly as it is stored, for programs.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Print a passage or a document.

    A number is a passage's id. If a document's id is a number, write document:12.

    Characters that control a terminal or reverse the direction of text are printed as \\x1b or \\u202e, also into a
    pipe; with --raw they are not.
    """
    with open_index(ctx.obj, name) as index:
        try:
            item = index.get(parse_id(what))
        except NotFound as error:
            raise NotFound(error.message, f"List them: semsearch info {index.name} --documents") from None
    text = item["text"] if raw else visible(item["text"])
    console.result({"index": index.name, **item}, lambda: console.out(text), as_json=as_json)


def _listed(options: Options, name: str) -> JsonObject:
    """A summary of one index; if it cannot be read, the problem, so that the others are still listed."""
    try:
        with open_index(options, name) as index:
            facts = index.info()
    except SemsearchError as error:
        return {"index": name, "problem": str(error)}
    listed = {"index": name, **{key: facts[key] for key in ("path", "documents", "passages", "vectors", "bytes")}}
    encoders = [space["encoder"]["name"] for space in facts["spaces"] if space["state"] == "current"]
    sources = [root["path"] for root in facts["recipe"].get("roots", ())]
    return {**listed, "encoders": encoders, "indexed": (facts["last_run"] or {}).get("at"), "sources": sources}


def _row(one: JsonObject) -> list[str]:
    if "problem" in one:
        return [one["index"], "-", "-", "unreadable", "", "", ""]
    counts = [f"{one[key]:,}" for key in ("documents", "passages")]
    first, *more = one["sources"] or [""]
    short = first if len(first) <= MOST_OF_A_PATH else f"…{first[1 - MOST_OF_A_PATH :]}"
    sources = f"{short} and {len(more)} more" if more else short
    return [
        one["index"],
        *counts,
        ", ".join(one["encoders"]),
        console.size(one["bytes"]),
        one["indexed"] or "",
        sources,
    ]


def _readable(facts: JsonObject) -> dict[str, str]:
    """The lines of `info` for a person."""
    recipe, last = facts["recipe"], facts["last_run"] or {}
    lines = {"index": facts["index"], "path": facts["path"]}
    if server := facts.get("server"):
        lines["stored at"] = server
    lines["size"] = console.size(facts["bytes"])
    lines |= {key: f"{facts[key]:,}" for key in ("documents", "passages", "vectors")}
    lines |= _encoders(facts)
    if (read := facts["share_read"]) is not None:
        lines["languages"] = f"the encoder reads {read:.0%} of the passages"
    exact = facts["backend"].split()[0] in ("flat", "exact")
    lines["backend"] = f"{'exact search' if exact else facts['backend']}: {facts['why']}"
    lines["sources"] = ", ".join(root["path"] for root in recipe.get("roots", ())) or "none"
    if apart := set_aside.in_words(recipe.get("set_aside", {})):
        lines["not yet"] = f"{apart}, as the dump says: semsearch trust {facts['index']}"
    if split := recipe.get("splitter"):
        overlap = f"{count(split['overlap'], 'token')} overlap" if split["overlap"] else "no overlap"
        lines["split at"] = f"{split['kind']}, {count(split['size'], 'token')}, {overlap}"
    if last:
        counts = ", ".join(f"{last.get(k, 0):,} {k}" for k in ("added", "changed", "unchanged", "moved", "deleted"))
        lines["last run"] = f"{last.get('at', '')}: {counts}, {len(last.get('skipped', ())):,} skipped"
    return lines


def _encoders(facts: JsonObject) -> dict[str, str]:
    """The lines about the encoder: what built the index, which others there are, and how to move."""
    current, *others = facts["spaces"]
    lines = {"encoder": f"{_called(current)}, width {current['dim']}"}
    command = f"semsearch reembed {facts['index']} -m"
    if reference := current["reference"]:
        lines["encoder"] += f"; {_moving(reference, current['encoder']['fingerprint'], command)}"
    for space in others:
        kind, way = ("not finished", "go on") if space["state"] == "unfinished" else ("also kept", "back to it")
        there = f"{space['vectors']:,} of {count(facts['passages'], 'passage')}"
        line = f"{_called(space)}, {there}; {way}: {command} {space['reference'] or 'MODEL'}"
        lines[kind] = f"{lines[kind]}; {line}" if kind in lines else line
    return lines


def _called(space: JsonObject) -> str:
    return f"{space['encoder']['name']} ({space['encoder']['fingerprint'][:12]})"


def _moving(reference: str, fingerprint: str, command: str) -> str:
    """What became of the encoder of an index, if it is not the one of its name any more, and how to move to another."""
    now, successor = encoders.factory.shipped_fingerprint(reference), encoders.factory.successor(reference)
    if not successor and now in (None, fingerprint):
        return f"to another: {command} MODEL"
    target = f"to its successor: {command} {successor}" if successor else f"to the present one: {command} {reference}"
    if elsewhere := encoders.factory.find_local(fingerprint):
        return f"found as {elsewhere}; {target}"
    gone = "does not come with semsearch any more" if successor else "is another one now"
    return f"{reference} {gone}, so only keyword search works; {target}"
