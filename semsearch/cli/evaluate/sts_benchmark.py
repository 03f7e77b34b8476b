"""`sts --task`: encoders measured on public test sets of sentence pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import semsearch
from semsearch.cli.evaluate.tasks import Aggregation, FigureOptions, measure_each
from semsearch.cli.options import EncoderOptions, Options
from semsearch.cli.output import console
from semsearch.cli.output.progress import counter
from semsearch.evaluation import report as reports
from semsearch.evaluation import sts_pairs, sts_task
from semsearch.evaluation.papers import figures
from semsearch.evaluation.report import Measurement
from semsearch.evaluation.sts_benchmarks import TASKS, TaskResult, average, task_files
from semsearch.types import JsonObject

TITLES = {"stsb": "STS-B", "sickr": "SICK-R"}  # as tables write them; the others in capitals
DESCRIPTIONS = {
    "all": "over all pairs of a task joined",
    "mean": "mean over a task's subsets",
    "wmean": "mean over a task's subsets by their size",
}


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Tasks, the folder of their files, and how the subsets of each are combined into one score."""

    tasks: Sequence[str]
    data: Path
    split: str
    aggregation: Aggregation


def show(
    options: Options, benchmark: Benchmark, models: Sequence[str], loading: EncoderOptions, output: FigureOptions
) -> None:
    """Measure every encoder on every task; print the scores, and write figure and report."""
    results: dict[str, list[TaskResult]] = {}

    def measure(name: str, encoder: semsearch.Encoder) -> Iterator[Measurement]:
        results[name] = []
        with counter(options, name, "tasks") as count:
            for done, task in enumerate(benchmark.tasks, 1):
                results[name].append(sts_task(task, encoder, benchmark.data, benchmark.split))
                count(done, len(benchmark.tasks))
        yield _measurement(benchmark, results[name])

    def draw(file: Path) -> None:
        (task,) = benchmark.tasks
        subsets = sts_pairs(task, benchmark.data, benchmark.split)
        gold = [score for subset in subsets.values() for score in subset.gold]
        title = f"{_title(task)} {benchmark.split}: {len(gold):,} pairs"
        figures.by_gold({name: one.cosines for name, (one,) in results.items()}, gold, file, title)

    runs = measure_each("sts", options, models, loading, measure)
    output.write(runs, draw)
    if output.as_json:
        console.emit(_as_json(benchmark, results))
    elif len(benchmark.tasks) == 1:
        print_correlations(
            {name: correlations(*_chosen(one, benchmark.aggregation)) for name, (one,) in results.items()}
        )
    else:
        heads, rows = reports.rows(runs, list(results))
        console.table(rows, ("model", *heads[1:]))


def correlations(spearman: float | None, pearson: float | None) -> dict[str, float | None]:
    """Both in percent; None for an undefined one, as when all scores are equal.

    >>> correlations(82.03149, float("nan"))
    {'spearman': 82.0315, 'pearson': None}
    """
    both = {"spearman": spearman, "pearson": pearson}
    return {key: None if value is None or math.isnan(value) else round(value, 4) for key, value in both.items()}


def print_correlations(whole: Mapping[str, Mapping[str, float | None]]) -> None:
    """Print a line for each model."""
    rows = [
        [name, *("-" if v is None else f"{v:.2f}" for v in correlations.values())]
        for name, correlations in whole.items()
    ]
    if rows:
        console.table(rows, ("model", "spearman", "pearson"))


def _measurement(benchmark: Benchmark, results: Sequence[TaskResult]) -> Measurement:
    how = benchmark.aggregation
    scores = {_title(one.task): round(getattr(one.spearman, how), 4) for one in results}
    table: dict[str, float] = dict(scores)
    if len(results) > 1:
        table["Avg." if len(results) == len(TASKS) else f"Avg. of {len(results)}"] = average(list(scores.values()))
    return Measurement(
        protocol=f"Spearman in percent on {benchmark.split} pairs, {DESCRIPTIONS[how]} ({how!r})",
        scores={one.task: _details(one, how) for one in results},
        table=table,
        settings={"tasks": list(benchmark.tasks), "split": benchmark.split, "aggregate": how},
        files=[file for one in results for file in task_files(one.task, benchmark.data, benchmark.split)],
    )


def _as_json(benchmark: Benchmark, by_model: Mapping[str, Sequence[TaskResult]]) -> JsonObject:
    if len(benchmark.tasks) == 1:
        models = {name: _details(results[0], benchmark.aggregation) for name, results in by_model.items()}
        return {"schema": 1, "task": benchmark.tasks[0], "models": models}
    how, whole = benchmark.aggregation, {}
    for name, results in by_model.items():
        mean = reports.finite(average([getattr(one.spearman, how) for one in results]))
        whole[name] = {"average": mean, "tasks": {one.task: _details(one, how) for one in results}}
    return {"schema": 1, "tasks": list(benchmark.tasks), "aggregate": how, "models": whole}


def _details(one: TaskResult, how: Aggregation) -> JsonObject:
    return {
        **correlations(*_chosen(one, how)),
        "pairs": one.pairs,
        "aggregates": reports.finite({"spearman": asdict(one.spearman), "pearson": asdict(one.pearson)}),
        "subsets": {key: correlations(*scores) for key, scores in one.subsets.items()},
    }


def _chosen(one: TaskResult, how: Aggregation) -> tuple[float, float]:
    return getattr(one.spearman, how), getattr(one.pearson, how)


def _title(task: str) -> str:
    return TITLES.get(task, task.upper())
