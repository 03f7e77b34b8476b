"""`sts --task`: encoders measured on public test sets of sentence pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import semsearch
from semsearch.cli.evaluate.tasks import Aggregation, Stopwatch, save
from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.cli.output.progress import counter
from semsearch.evaluation import report as reports
from semsearch.evaluation import sts, sts_pairs
from semsearch.evaluation.report import Run
from semsearch.evaluation.sts_benchmarks import TASKS, TaskResult, aggregate, average, task_files
from semsearch.types import JsonObject

Cosines = NDArray[np.float64]
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
    options: Options,
    benchmark: Benchmark,
    encoders: Mapping[str, semsearch.Encoder],
    *,
    report: Path | None,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Measure every encoder on every task; print the scores, and write figure and report."""
    runs: list[Run] = []
    cosines: dict[str, Cosines] = {}
    found: dict[str, list[TaskResult]] = {}
    for name, encoder in encoders.items():
        watch = Stopwatch()
        found[name], cosines[name] = _measured(options, name, benchmark, encoder)
        runs.append(_run(name, encoder, benchmark, found[name], watch.read()))
    save(runs, report)
    if figure is not None:
        _draw(benchmark, cosines, figure)
    if as_json:
        console.emit(_as_json(benchmark, found))
    elif len(benchmark.tasks) == 1:
        print_correlations({name: correlations(*_chosen(one, benchmark.aggregation)) for name, (one,) in found.items()})
    else:
        heads, rows = reports.rows(runs, list(found))
        console.table(rows, ("model", *heads[1:]))


def correlations(spearman: float | None, pearson: float | None) -> dict[str, float | None]:
    """Both in percent; None where there is none, as when all scores are equal.

    >>> correlations(82.03149, float("nan"))
    {'spearman': 82.0315, 'pearson': None}
    """
    both = {"spearman": spearman, "pearson": pearson}
    return {key: None if value is None or math.isnan(value) else round(value, 4) for key, value in both.items()}


def print_correlations(whole: Mapping[str, Mapping[str, float | None]]) -> None:
    """Print a line for each model."""
    rows = [[name, *("-" if v is None else f"{v:.2f}" for v in found.values())] for name, found in whole.items()]
    if rows:
        console.table(rows, ("model", "spearman", "pearson"))


def _measured(
    options: Options, name: str, benchmark: Benchmark, encoder: semsearch.Encoder
) -> tuple[list[TaskResult], Cosines]:
    """The scores of each task, and the cosines of the last task's pairs."""
    results, values = [], {}
    with counter(options, name, "tasks") as count:
        for done, task in enumerate(benchmark.tasks, 1):
            subsets = sts_pairs(task, benchmark.data, benchmark.split)
            values = {key: sts.cosines(subset.pairs, encoder) for key, subset in subsets.items()}
            results.append(aggregate(task, values, {key: subset.gold for key, subset in subsets.items()}))
            count(done, len(benchmark.tasks))
    return results, np.concatenate(list(values.values()))


def _run(
    name: str, encoder: semsearch.Encoder, benchmark: Benchmark, found: Sequence[TaskResult], took_s: float
) -> Run:
    how = f"{DESCRIPTIONS[benchmark.aggregation]} ({benchmark.aggregation!r})"
    scores = {_title(one.task): round(getattr(one.spearman, benchmark.aggregation), 4) for one in found}
    table: dict[str, float] = dict(scores)
    if len(found) > 1:
        table["Avg." if len(found) == len(TASKS) else f"Avg. of {len(found)}"] = average(list(scores.values()))
    files = [file for one in found for file in task_files(one.task, benchmark.data, benchmark.split)]
    return reports.run(
        "sts",
        encoder,
        protocol=f"Spearman in percent on {benchmark.split} pairs, {how}",
        scores={one.task: _details(one, benchmark.aggregation) for one in found},
        table=table,
        settings={"tasks": list(benchmark.tasks), "split": benchmark.split, "aggregate": benchmark.aggregation},
        files=files,
        asked=name,
        took_s=took_s,
    )


def _as_json(benchmark: Benchmark, found: Mapping[str, Sequence[TaskResult]]) -> JsonObject:
    if len(benchmark.tasks) == 1:
        models = {name: _details(results[0], benchmark.aggregation) for name, results in found.items()}
        return {"schema": 1, "task": benchmark.tasks[0], "models": models}
    whole = {
        name: {
            "average": reports.finite(average([getattr(one.spearman, benchmark.aggregation) for one in results])),
            "tasks": {one.task: _details(one, benchmark.aggregation) for one in results},
        }
        for name, results in found.items()
    }
    return {"schema": 1, "tasks": list(benchmark.tasks), "aggregate": benchmark.aggregation, "models": whole}


def _details(one: TaskResult, how: Aggregation) -> JsonObject:
    return {
        **correlations(*_chosen(one, how)),
        "pairs": one.pairs,
        "aggregates": {
            "spearman": reports.finite(asdict(one.spearman)),
            "pearson": reports.finite(asdict(one.pearson)),
        },
        "subsets": {key: correlations(*scores) for key, scores in one.subsets.items()},
    }


def _chosen(one: TaskResult, how: Aggregation) -> tuple[float, float]:
    return getattr(one.spearman, how), getattr(one.pearson, how)


def _draw(benchmark: Benchmark, cosines: Mapping[str, Cosines], file: Path) -> None:
    from semsearch.evaluation.papers import figures  # matplotlib

    (task,) = benchmark.tasks
    subsets = sts_pairs(task, benchmark.data, benchmark.split)
    gold = [score for subset in subsets.values() for score in subset.gold]
    figures.by_gold(cosines, gold, file, f"{_title(task)} {benchmark.split}: {len(gold):,} pairs")
    console.note(f"wrote {file}")


def _title(task: str) -> str:
    return TITLES.get(task, task.upper())
