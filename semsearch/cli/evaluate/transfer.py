"""`eval transfer`: how well a classifier does that is given nothing of a text but its vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semsearch.cli.common import DeviceOption, DtypeOption, JsonFlag, LayerOption, TemplateOption, TrustFlag
from semsearch.cli.evaluate.tasks import (
    DataOption,
    FormatOption,
    ModelsOption,
    ReportOption,
    Watch,
    encoders,
    named,
    ready,
    tell,
)
from semsearch.cli.output.counting import Count, counted
from semsearch.errors import MissingExtra
from semsearch.settings import data_folder

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder
    from semsearch.evaluation.papers.transfer import Embed, Protocol, Result
    from semsearch.evaluation.papers.transfer_tasks import Task
    from semsearch.evaluation.report import Run

WINDOW = 1024  # texts between two steps of the progress bar


def transfer(
    ctx: typer.Context,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="T",
            help="MR CR SUBJ MPQA SST2 TREC MRPC, or SST5; repeatable.  [default: "
            "the seven whose average papers report]",
        ),
    ] = None,
    models: ModelsOption = None,
    data: DataOption = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="SentEval's quick settings: 5 folds, rmsprop, batches of 128.")
    ] = False,
    hidden: Annotated[
        int, typer.Option("--hidden", metavar="N", min=0, help="Units between vector and classes; 0 is none.")
    ] = 0,
    template: TemplateOption = None,
    dtype: DtypeOption = None,
    layer: LayerOption = None,
    device: DeviceOption = None,
    trust: TrustFlag = False,
    form: FormatOption = None,
    report: ReportOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Accuracy of a classifier on the vectors, on SentEval's transfer tasks.

    Logistic regression with SentEval's settings: 10 folds, Adam, batches of 64, the L2 penalty chosen of four.
    """
    from semsearch.evaluation.papers import transfer_tasks

    ready(report, len(named(models)))
    asked = list(dict.fromkeys(transfer_tasks.known(each) for each in tasks or transfer_tasks.SEVEN))
    folder = data_folder(data)
    for name in asked:
        transfer_tasks.read(name, folder)  # what is absent is told before hours of work
    try:
        from semsearch.evaluation.papers import transfer as solving
    except ImportError as error:
        raise MissingExtra("eval transfer", "train") from error
    protocol = (solving.FAST if fast else solving.FULL).with_hidden(hidden)
    runs = []
    for name, encoder in encoders(ctx.obj, models, device, template=template, dtype=dtype, layer=layer, trust=trust):
        watch, found = Watch(), []
        files: list[Path] = []
        embed, vectors = solving.features_of(encoder)
        for each in asked:
            task = transfer_tasks.read(each, folder)
            with counted(ctx.obj, f"{name}, {each}: embedding", "texts") as count:
                known = _embedded(task, embed, count)
            with counted(ctx.obj, f"{name}, {each}: learning", "classifiers") as count:
                found.append(solving.run(task, known, protocol, device=_device(device), report=count))
            files += task.files
        runs.append(_run(name, encoder, found, protocol, files, vectors, watch.read()))
    tell(runs, as_json=as_json, form=form, report=report)


def _embedded(task: Task, embed: Embed, count: Count) -> Embed:
    """`embed` for the texts of `task`, which are all embedded now, each once."""
    import numpy as np

    columns = (column for part in task.parts.values() for column in part.columns)
    texts = list(dict.fromkeys(text for column in columns for text in column))
    vectors: dict[str, Any] = {}
    for start in range(0, len(texts), WINDOW):
        some = texts[start : start + WINDOW]
        vectors.update(zip(some, embed(some), strict=True))
        count(start + len(some), len(texts))
    return lambda asked: np.stack([vectors[text] for text in asked])


def _device(device: str | None) -> str:
    """Where the classifiers learn."""
    from semsearch import settings
    from semsearch.encoders.device import torch_device

    return torch_device(settings.load({"device": device}).device)


def _run(
    name: str, encoder: Encoder, found: Sequence[Result], protocol: Protocol, files: Sequence[Path], vectors: str,
    took_s: float,
) -> Run:  # fmt: skip
    from semsearch.evaluation import report
    from semsearch.evaluation.papers.transfer_tasks import SEVEN
    from semsearch.evaluation.sts import average

    learning = protocol.learning
    told = f"{learning.hidden} hidden units" if learning.hidden else "logistic regression"
    words = (
        f"SentEval's transfer tasks, accuracy in percent: {told}, {protocol.folds} folds, {learning.optimiser}, "
        f"batches of {learning.batch}, on vectors {vectors}"
    )
    mean = "Avg." if [one.task for one in found] == list(SEVEN) else f"Avg. of {len(found)}"
    table = {one.task: one.accuracy for one in found}
    if len(found) > 1:
        table[mean] = average(list(table.values()))
    return report.run(
        "transfer",
        encoder,
        protocol=words,
        scores={one.task: asdict(one) for one in found},
        table=table,
        settings={"folds": protocol.folds, "penalties": protocol.penalties, "vectors": vectors, **asdict(learning)},
        files=files,
        asked=name,
        took_s=took_s,
    )
