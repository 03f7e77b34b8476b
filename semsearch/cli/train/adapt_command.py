"""`adapt`: the encoder of an index, trained on its documents overnight, which has to earn its place."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer

import semsearch
from semsearch.cli.lookup import existing_index
from semsearch.cli.options import JsonFlag, NameArgument, NameOption, complete_encoder, flag, value
from semsearch.cli.output import console
from semsearch.cli.output.progress import step_progress
from semsearch.errors import UsageError
from semsearch.index.admin import AdaptLook, AdaptOptions, AdaptReport
from semsearch.utils.quantities import count

LOWEST = 19  # priority, so that the machine stays of use


def adapt(
    ctx: typer.Context,
    *,
    name: NameArgument = None,
    named: NameOption = None,
    base: Annotated[
        str | None,
        value(
            "MODEL",
            "Model to train: a folder or hf:owner/name.  [default: the encoder of the index]",
            autocompletion=complete_encoder,
        ),
    ] = None,
    hours: Annotated[float, value("H", "At most so many hours of training.", min=0.0)] = 8.0,
    judgements: Annotated[
        Path | None,
        value("FILE", 'Judged questions, a line {"text": …, "grades": {"DOCUMENT": 1}} each, in place of your marks.'),
    ] = None,
    method: Annotated[
        Literal["cotbert", "sg-opt", "promptbert"], typer.Option(help="Objective on the sentences of the documents.")
    ] = "cotbert",
    seed: Annotated[int, value("N", "Random seed.", min=0)] = 0,
    dry_run: Annotated[bool, flag("--dry-run", "Say what there is to learn from, and how long it takes.")] = False,
    keep: Annotated[bool, flag("--keep", "Keep the new vectors to compare, even if they are not better.")] = False,
    undo: Annotated[bool, flag("--undo", "Go back to the encoder of before, at once.")] = False,
    force: Annotated[bool, flag("--force", "Train even if there is too little to learn from.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Train the encoder of an index on its documents, if that helps.

    It learns which text belongs to which title and heading, and is asked those of documents that it has not seen. The
    index changes to it only if it is better (p < 0.05) and no worse on general text. Searches go on meanwhile.

    Ctrl-C pauses it; the same command goes on. Needs the extra `train`.
    """
    folder = existing_index(ctx.obj, name, named)
    if undo and (dry_run or keep or base):
        raise UsageError("--undo excludes --dry-run, --keep and --base.", "Choose one.")
    chosen = AdaptOptions(base, hours, judgements, method, seed, keep, force)
    if not (undo or dry_run):
        with suppress(AttributeError, OSError):  # Windows
            os.nice(LOWEST)
    with semsearch.Index.open(folder) as index, step_progress(ctx.obj, f"adapting {folder.name}") as progress:
        if not ctx.obj.quiet:
            console.note(f"adapting {folder.name}: reading the index")
        if undo:
            before = semsearch.admin.adapt_undo(index, progress)
            console.result(
                {"index": index.name, "encoder": before},
                f"{index.name} is searched with {before} again",
                as_json=as_json,
            )
        elif dry_run:
            seen = semsearch.admin.adapt_look(index, chosen, progress)
            console.result({"look": seen.as_json()}, lambda: _print_look(seen, base), as_json=as_json)
        else:
            done = semsearch.admin.adapt(index, chosen, progress)
            console.result({"adapt": done.as_json()}, lambda: _print_report(done), as_json=as_json)


def _print_look(seen: AdaptLook, base: str | None) -> None:
    lines: dict[str, object] = {
        "index": f"{seen.index}, {count(seen.passages, 'passage')} of {count(seen.documents, 'document')}",
        "encoder": f"{seen.encoder}, trained from {base}" if base else seen.encoder,
        "to learn from": ", ".join(count(number, kind) for kind, number in seen.pairs.items()) or "nothing",
        "to choose by": count(seen.questions["choice"], "question"),
        "to test by": f"{count(seen.questions['test'], 'question')}, {seen.judged:,} judged",
    }
    if seen.agreement is not None:
        lines["found now"] = f"{seen.agreement:.0%} of the texts by their titles, headings or first sentences"
    if seen.hours is not None:
        lines["time"] = f"{seen.hours:.1f} hours at most, {seen.steps:,} steps of {seen.seconds_per_step:.1f} s"
    lines["enough"] = "yes" if seen.enough else f"no: {'; '.join(seen.reasons)}"
    console.pairs(lines)


def _print_report(done: AdaptReport) -> None:
    verdict = f"is searched with {done.encoder['name']} from now on" if done.switched else "stays as it was"
    console.out(f"{done.index} {verdict}" + "".join(f"\n  {each}" for each in done.objections))
    rows = [
        [name, *(f"{one[key]:.1f}" for key in ("before", "after")), f"{one['difference']:+.2f}", f"{one['p']:.4f}"]
        for name, one in done.measured.items()
    ]
    console.table(rows, ("nDCG@10", "before", "after", "difference", "p"))
    console.out(f"{count(done.questions, 'question')} of documents that were not trained on; report: {done.folder}")
    if done.switched:
        console.note(f"to go back: semsearch adapt {done.index} --undo")
