"""`eval transfer`: accuracy of classifiers that see only the vectors of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import semsearch
from semsearch import settings
from semsearch.cli.evaluate.tasks import DataOption, ReportOptions, Stopwatch
from semsearch.cli.lookup import load_encoders, model_names
from semsearch.cli.options import EncoderOptions, ModelsOption, option_groups
from semsearch.cli.output.progress import Count, counter
from semsearch.encoders.device import torch_device
from semsearch.errors import MissingExtra
from semsearch.evaluation import report as reports
from semsearch.evaluation.papers import transfer_tasks
from semsearch.evaluation.papers.transfer_tasks import TransferTask
from semsearch.evaluation.report import Run
from semsearch.settings import data_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from semsearch.evaluation.papers.transfer import Embed, TransferProtocol, TransferResult

WINDOW = 1024  # texts between two steps of the progress bar


@option_groups
def transfer(
    ctx: typer.Context,
    *,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="T",
            help="MR, CR, SUBJ, MPQA, SST2, TREC, MRPC or SST5; repeatable.  [default: all but SST5, as in papers]",
        ),
    ] = None,
    models: ModelsOption = None,
    data: DataOption = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="SentEval's fast settings: 5 folds, RMSprop, batches of 128.")
    ] = False,
    hidden: Annotated[int, typer.Option(metavar="N", min=0, help="Size of a hidden layer; 0 for none.")] = 0,
    options: EncoderOptions,
    output: ReportOptions,
) -> None:
    """Measure encoders on SentEval's classification tasks.

    Accuracy of logistic regression on the vectors, with SentEval's settings: 10 folds, Adam, batches of 64, and the
    best of four L2 penalties.
    """
    output.check(len(model_names(models)))
    names = list(dict.fromkeys(transfer_tasks.known(each) for each in tasks or transfer_tasks.SEVEN))
    folder = data_folder(data)
    for each in names:
        transfer_tasks.read(each, folder)  # raises for missing files before hours of work
    try:
        from semsearch.evaluation.papers import transfer  # torch
    except ImportError as error:
        raise MissingExtra("eval transfer", "train") from error
    protocol = (transfer.FAST if fast else transfer.FULL).with_hidden(hidden)
    device = torch_device(settings.load({"device": options.device}).device)  # of the classifiers
    runs = []
    for name, encoder in load_encoders(ctx.obj, models, options):
        watch, found = Stopwatch(), []
        files: list[Path] = []
        embed, vectors = transfer.features_of(encoder)
        for each in names:
            task = transfer_tasks.read(each, folder)
            with counter(ctx.obj, f"{name}, {each}: embedding", "texts") as count:
                known = _embedded(task, embed, count)
            with counter(ctx.obj, f"{name}, {each}: learning", "classifiers") as count:
                found.append(transfer.run(task, known, protocol, device=device, report=count))
            files += task.files
        runs.append(_run(name, encoder, found, protocol, files, vectors, watch.read()))
    output.show(runs)


def _embedded(task: TransferTask, embed: Embed, count: Count) -> Embed:
    """An `embed` that looks up the texts of `task`, which are all embedded here, each once."""
    import numpy as np  # --help does without

    columns = (column for part in task.parts.values() for column in part.columns)
    texts = list(dict.fromkeys(text for column in columns for text in column))
    vectors: dict[str, NDArray[np.float32]] = {}
    for start in range(0, len(texts), WINDOW):
        some = texts[start : start + WINDOW]
        vectors.update(zip(some, embed(some), strict=True))
        count(start + len(some), len(texts))
    return lambda texts: np.stack([vectors[text] for text in texts])


def _run(
    name: str,
    encoder: semsearch.Encoder,
    found: Sequence[TransferResult],
    protocol: TransferProtocol,
    files: Sequence[Path],
    vectors: str,
    took_s: float,
) -> Run:
    from semsearch.evaluation.sts_benchmarks import average  # numpy

    learning = protocol.classifier
    classifier = f"{learning.hidden} hidden units" if learning.hidden else "logistic regression"
    description = (
        f"SentEval's transfer tasks, accuracy in percent: {classifier}, {protocol.folds} folds, {learning.optimiser}, "
        f"batches of {learning.batch}, on vectors {vectors}"
    )
    mean = "Avg." if [one.task for one in found] == list(transfer_tasks.SEVEN) else f"Avg. of {len(found)}"
    table = {one.task: one.accuracy for one in found}
    if len(found) > 1:
        table[mean] = average(list(table.values()))
    return reports.run(
        "transfer",
        encoder,
        protocol=description,
        scores={one.task: asdict(one) for one in found},
        table=table,
        settings={"folds": protocol.folds, "penalties": protocol.penalties, "vectors": vectors, **asdict(learning)},
        files=files,
        asked=name,
        took_s=took_s,
    )
