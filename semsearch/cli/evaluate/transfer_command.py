"""`eval transfer`: accuracy of classifiers that see only the vectors of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import semsearch
from semsearch import evaluation, settings
from semsearch.cli.evaluate.tasks import DataOption, ReportOptions, check_report, measure_each, torch_required
from semsearch.cli.lookup import model_names
from semsearch.cli.options import EncoderOptions, ModelsOption, flag, value
from semsearch.cli.output.progress import Count, counter
from semsearch.encoders.device import torch_device
from semsearch.evaluation import papers
from semsearch.evaluation.papers import transfer_tasks
from semsearch.evaluation.papers.transfer_tasks import TransferTask
from semsearch.evaluation.report import Measurement
from semsearch.settings import data_folder

if TYPE_CHECKING:
    from semsearch.evaluation.papers.classifier import ClassifierSettings
    from semsearch.evaluation.papers.transfer import Embed, TransferResult

WINDOW = 1024  # texts between two steps of the progress bar


def transfer(
    ctx: typer.Context,
    *,
    tasks: Annotated[
        list[str] | None,
        value(
            "T",
            "MR, CR, SUBJ, MPQA, SST2, TREC, MRPC or SST5; repeatable.  [default: all but SST5, as in papers]",
            "--task",
        ),
    ] = None,
    models: ModelsOption = None,
    data: DataOption = None,
    fast: Annotated[bool, flag("--fast", "SentEval's fast settings: 5 folds, RMSprop, batches of 128.")] = False,
    hidden: Annotated[int, value("N", "Size of a hidden layer; 0 for none.", min=0)] = 0,
    options: EncoderOptions,
    output: ReportOptions,
) -> None:
    """Measure encoders on SentEval's classification tasks.

    Accuracy of logistic regression on the vectors, with SentEval's settings: 10 folds, Adam, batches of 64, and the
    best of four L2 penalties.
    """
    check_report(output.report, len(model_names(models)))
    names = list(dict.fromkeys(transfer_tasks.task_name(each) for each in tasks or transfer_tasks.SEVEN))
    folder = data_folder(data)
    for each in names:
        transfer_tasks.read(each, folder)  # raises for missing files before hours of work
    with torch_required("eval transfer"):
        learner = papers.transfer
    learning = replace(learner.FAST if fast else learner.FULL, hidden=hidden)
    device = torch_device(settings.load({"device": options.device}).device)  # of the classifiers

    def measure(name: str, encoder: semsearch.Encoder) -> Iterator[Measurement]:
        embed, vectors = learner.features_of(encoder)
        results, files = [], list[Path]()
        for each in names:
            task = transfer_tasks.read(each, folder)
            with counter(ctx.obj, f"{name}, {each}: embedding", "texts") as count:
                embed_cached = _embedded(task, embed, count)
            with counter(ctx.obj, f"{name}, {each}: learning", "classifiers") as count:
                results.append(learner.run(task, embed_cached, learning, device=device, report=count))
            files += task.files
        yield _measurement(results, learning, files, vectors)

    output.show(measure_each("transfer", ctx.obj, models, options, measure))


def _embedded(task: TransferTask, embed: Embed, count: Count) -> Embed:
    """An `embed` that looks up the texts of `task`, each of which is embedded here once."""
    texts = list(dict.fromkeys(text for part in task.parts.values() for column in part.columns for text in column))
    vectors = evaluation.encoding_windows.in_windows(embed, texts, lambda done: count(done, len(texts)), WINDOW)
    count(len(texts), len(texts))
    return evaluation.encoding_windows.lookup(texts, vectors)


def _measurement(
    results: Sequence[TransferResult], learning: ClassifierSettings, files: Sequence[Path], vectors: str
) -> Measurement:
    classifier = f"{learning.hidden} hidden units" if learning.hidden else "logistic regression"
    table = {one.task: one.accuracy for one in results}
    if len(results) > 1:
        mean = "Avg." if list(table) == list(transfer_tasks.SEVEN) else f"Avg. of {len(results)}"
        table[mean] = evaluation.sts_benchmarks.average(list(table.values()))
    return Measurement(
        protocol=f"SentEval's transfer tasks, accuracy in percent: {classifier}, {learning.folds} folds, "
        f"{learning.optimiser}, batches of {learning.batch}, on vectors {vectors}",
        scores={one.task: asdict(one) for one in results},
        table=table,
        settings={"vectors": vectors, **asdict(learning)},
        files=files,
    )
