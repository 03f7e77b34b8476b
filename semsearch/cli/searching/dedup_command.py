"""`dedup`: documents that repeat others, what to keep of them, and the deletion of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, cast, get_args

import typer
from click import Choice

import semsearch
from semsearch.cli.indexes.maintenance import CONFIRM_ABOVE
from semsearch.cli.lookup import open_index
from semsearch.cli.options import JsonFlag, NameArgument, NameOption, YesFlag, flag, value
from semsearch.cli.output import console
from semsearch.cli.output.progress import counted_progress
from semsearch.errors import SemsearchError
from semsearch.types import Copies, Copy, Keep
from semsearch.utils.quantities import count

KEEP = Choice(get_args(Keep))


def dedup(
    ctx: typer.Context,
    name: NameArgument = None,
    named: NameOption = None,
    threshold: Annotated[
        float, value("C", "Least cosine of a near copy with the document to keep.", min=-1.0, max=1.0)
    ] = 0.85,
    words: Annotated[float, value("S", "Least share of words in common, 0 to 1.", min=0.0, max=1.0)] = 0.9,
    exact: Annotated[bool, flag("--exact", "Only documents with exactly the same text.")] = False,
    keep: Annotated[
        str,
        typer.Option(click_type=KEEP, help="Prefer the longest text, the newest or oldest file, or the first name."),
    ] = "longest",
    where: Annotated[str | None, value("E", "Only among the documents that this filter selects.")] = None,
    delete: Annotated[bool, flag("--delete", "Delete the copies from the index; the files remain.")] = False,
    exclude: Annotated[bool, flag("--exclude", "With --delete: later runs of `index` leave their files out.")] = False,
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Find documents that repeat others, and what to keep.

    Prints groups of copies, each with the document to keep and the reason. Nothing is deleted without --delete; more
    than 10 documents have to be confirmed, with -y where there is no terminal.

    Near copies have nearly the same vector and most words in common, but can differ in a number or a name that matters:
    look at them before you delete them, or pass --exact. A file that is still in an indexed folder is indexed again by
    the next `index`, unless --exclude was passed.
    """
    with open_index(ctx.obj, name, named) as index:
        version = index.version
        with counted_progress(ctx.obj, index.name, "compared") as report:
            rule = cast(Keep, keep)
            groups = index.analysis.copies(
                threshold=threshold, words=words, exact=exact, keep=rule, where=where, progress=report
            )
        doomed = [copy.document for group in groups for copy in group.copies]
        deleted = _delete(index, version, doomed, exclude=exclude, yes=yes) if delete else 0
        name = index.name
    limits = {"threshold": threshold, "words": words, "exact": exact, "keep": keep}
    outcome = {"index": name, **limits, "groups": list(map(asdict, groups)), "copies": len(doomed), "deleted": deleted}

    def show() -> None:
        if groups:
            console.table(_rows(groups), ("", "document", "words", "cosine", "why"))
        if not ctx.obj.quiet:
            console.note(_summary(name, len(groups), len(doomed), deleted if delete else None))

    console.result(outcome, show, as_json=as_json)


def _delete(index: semsearch.Index, version: int, doomed: Sequence[str], *, exclude: bool, yes: bool) -> int:
    if len(doomed) > CONFIRM_ABOVE:
        some = f"{len(doomed):,} documents from {index.name}"
        console.confirm(f"Delete {some}?", f"deleting {some}", yes=yes)
    if index.version != version:
        raise SemsearchError(f"index {index.name} has changed meanwhile, and nothing was deleted.", "Run it again.")
    return index.delete(doomed, exclude=exclude) if doomed else 0


def _rows(groups: Sequence[Copies]) -> list[list[str]]:
    rows = []
    for group in groups:
        rows.append(["keep", group.keep, "", "", group.why])
        rows += [["copy", copy.document, *_how(copy)] for copy in group.copies]
    return rows


def _how(copy: Copy) -> list[str]:
    return [f"{copy.shared_words:.0%}", f"{copy.cosine:.3f}", copy.kind]


def _summary(name: str, groups: int, copies: int, deleted: int | None) -> str:
    if not groups:
        return f"{name}: no copies"
    text = f"{name}: {count(copies, 'copy', 'copies')} of {count(groups, 'document')}"
    if deleted is None:
        return f"{text}; delete them from the index: semsearch dedup {name} --delete"
    return f"{text}, {deleted:,} deleted from the index; the files remain"
