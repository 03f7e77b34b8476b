"""`label`: labels for documents or texts, learned from examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import semsearch
from semsearch.cli.input_files import read_examples, read_texts
from semsearch.cli.lookup import load_encoder, open_index, use_device
from semsearch.cli.options import EncoderOptions, JsonFlag, ModelOption, NameOption, Options, value
from semsearch.cli.output import console
from semsearch.cli.output.progress import counted_progress, counter
from semsearch.errors import UsageError
from semsearch.types import JsonObject, Label, LabelAccuracy

SHOWN = 60  # characters of a text in the table
WORST = 3  # labels that are named because they are often confused


def label(
    ctx: typer.Context,
    *,
    what: Annotated[
        str | None,
        typer.Argument(metavar="[NAME|FILE]", help="An index, or a file with a text on each line.", show_default=False),
    ] = None,
    named: NameOption = None,
    examples: Annotated[
        Path,
        value("FILE", "Examples with labels: text<TAB>label, CSV with these heads, or JSON lines.", "--examples"),
    ],
    folds: Annotated[int, value("N", "Parts of the examples, each labelled by the others.", min=2)] = 5,
    reject: Annotated[
        float, value("S", "Share of texts like the examples that may be left without a label.", min=0.0, max=1.0)
    ] = 0.02,
    where: Annotated[str | None, value("E", "Index: only the documents that this filter selects.")] = None,
    model: ModelOption = None,
    options: EncoderOptions,
    as_json: JsonFlag = False,
) -> None:
    """Label documents or texts, as in examples.

    Each text gets the label whose examples are nearest in meaning, with its probability; one that is unlike all
    examples gets none. An index is labelled by the vectors that it has; nothing in it is changed.

    stderr says how well the examples are labelled by the others (k-fold cross-validation).
    """
    labelled = read_examples(str(examples))
    file = what if what and Path(what).is_file() else None
    if file and (named or where):
        raise UsageError(f"{file} is a file, and -n and --where belong to an index.", "Choose one.")
    index = None
    if file:
        labels, accuracy = _texts(
            ctx.obj, read_texts(file), labelled, (folds, reject), load_encoder(ctx.obj, model, options)
        )
    elif model:
        raise UsageError("an index is labelled with its own encoder.", "Leave out -m.")
    else:
        use_device(options.device)
        index, labels, accuracy = _documents(ctx.obj, (what, named), labelled, (folds, reject), where)
    result = {"index": index, "accuracy": asdict(accuracy), "labels": labels}

    def show() -> None:
        if labels:
            console.table(
                [_row(one) for one in labels], ("label", "probability", "fit", "text" if file else "document")
            )
        if not ctx.obj.quiet:
            console.note(_summary(labels, accuracy))
            if advice := _too_few(accuracy.tested, reject):
                console.note(advice)

    console.result(result, show, as_json=as_json)


def _texts(
    options: Options,
    texts: Sequence[str],
    labelled: Sequence[tuple[str, str]],
    how: tuple[int, float],
    encoder: semsearch.Encoder,
) -> tuple[list[JsonObject], LabelAccuracy]:
    with counter(options, "examples", "folds") as shown:
        labeller = semsearch.label_examples(
            labelled, encoder=encoder, folds=how[0], reject=how[1], progress=lambda done: shown(done, how[0])
        )
    labels = labeller.label(encoder.encode(texts, role="passage")) if texts else []
    return list(_listed("text", texts, labels)), labeller.accuracy


def _documents(
    options: Options,
    names: Iterable[str | None],
    labelled: Sequence[tuple[str, str]],
    how: tuple[int, float],
    where: str | None,
) -> tuple[str, list[JsonObject], LabelAccuracy]:
    with open_index(options, *names) as index, counted_progress(options, index.name, "documents") as report:
        labels, accuracy = index.analysis.label(
            labelled,
            folds=how[0],
            reject=how[1],
            where=where,
            progress=report,
        )
        name = index.name
    return name, list(_listed("document", list(labels), list(labels.values()))), accuracy


def _listed(kind: str, names: Sequence[str], labels: Sequence[Label]) -> Iterator[JsonObject]:
    for name, one in zip(names, labels, strict=True):
        yield {kind: name, **asdict(one)}


def _row(label: JsonObject) -> list[str]:
    called = label.get("document") or label["text"][:SHOWN]
    return [label["label"] or "-", f"{label['probability']:.2f}", f"{label['fit']:.2f}", called]


def _too_few(tested: int, reject: float) -> str:
    """Advice where the least `fit`, that of a text unlike all examples, is not below `reject`."""
    least = 1 / (tested + 1)
    if not tested or not 0 < reject <= least:
        return ""
    return (
        f"{tested:,} examples are too few to leave a text without a label: "
        f"give {int(1 / reject):,} or more, or a --reject above {least:.2f}"
    )


def _summary(labels: Sequence[JsonObject], accuracy: LabelAccuracy) -> str:
    none = sum(one["label"] is None for one in labels)
    parts = [f"{len(labels) - none:,} labelled, {none:,} unlike all examples"]
    if accuracy.accuracy is None:
        return f"{parts[0]}; a label needs two examples to be tested"
    parts.append(f"{accuracy.accuracy:.1%} of {accuracy.tested:,} examples right in {accuracy.folds} folds")
    wrong = {label: (right, total) for label, (right, total) in accuracy.by_label.items() if right < total}
    worst = sorted(wrong, key=lambda label: (wrong[label][0] / wrong[label][1], label))[:WORST]
    if worst:
        parts.append("least: " + ", ".join(f"{label} {wrong[label][0]} of {wrong[label][1]}" for label in worst))
    return "; ".join(parts)
