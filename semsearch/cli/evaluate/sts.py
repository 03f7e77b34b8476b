"""`sts --task`: encoders on public test sets of sentence pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from semsearch.cli.common import Options
from semsearch.cli.evaluate.tasks import Watch, save
from semsearch.cli.output import text
from semsearch.cli.output.counting import counted

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder
    from semsearch.evaluation.report import Run
    from semsearch.evaluation.sts import TaskResult

How = Literal["all", "mean", "wmean"]
TITLES = {"stsb": "STS-B", "sickr": "SICK-R"}  # as tables write them; the others in capitals
WORDS = {
    "all": "over all pairs of a task joined",
    "mean": "mean over a task's subsets",
    "wmean": "mean over a task's subsets by their size",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """Which tasks, where they are read, and how the subsets of each make one score."""

    tasks: Sequence[str]
    data: Path
    split: str
    how: How


def tell(
    options: Options,
    asked: Asked,
    encoders: Mapping[str, Encoder],
    *,
    report: Path | None,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Measure every encoder on every task and show what was found, as a table, JSON, a picture and a report."""
    runs: list[Run] = []
    cosines: dict[str, Any] = {}
    found: dict[str, list[TaskResult]] = {}
    for name, encoder in encoders.items():
        watch = Watch()
        found[name], cosines[name] = _measured(options, name, asked, encoder)
        runs.append(_run(name, encoder, asked, found[name], watch.read()))
    save(runs, report)
    if figure is not None:
        _draw(asked, cosines, figure)
    if as_json:
        text.emit(_as_json(asked, found))
    elif len(asked.tasks) == 1:
        tell_correlations({name: correlations(*_chosen(one, asked.how)) for name, (one,) in found.items()})
    else:
        from semsearch.evaluation import report as reports

        heads, rows = reports.rows(runs, list(found))
        text.table(rows, ("model", *heads[1:]))


def correlations(spearman: float | None, pearson: float | None) -> dict[str, float | None]:
    """In percent; None where there is none, as when all scores are the same.

    >>> correlations(82.03149, float("nan"))
    {'spearman': 82.0315, 'pearson': None}
    """
    both = {"spearman": spearman, "pearson": pearson}
    return {key: None if value is None or math.isnan(value) else round(value, 4) for key, value in both.items()}


def tell_correlations(whole: Mapping[str, Mapping[str, float | None]]) -> None:
    """A line for each model."""
    rows = [[name, *("-" if v is None else f"{v:.2f}" for v in found.values())] for name, found in whole.items()]
    if rows:
        text.table(rows, ("model", "spearman", "pearson"))


def _measured(options: Options, name: str, asked: Asked, encoder: Encoder) -> tuple[list[TaskResult], Any]:
    """The scores of each task, and the cosines of the last one's pairs."""
    import numpy as np

    from semsearch.evaluation import sts

    results, values = [], {}
    with counted(options, name, "tasks") as count:
        for done, task in enumerate(asked.tasks, 1):
            subsets = sts.task_pairs(task, asked.data, asked.split)
            values = {key: sts.cosines(subset.pairs, encoder) for key, subset in subsets.items()}
            results.append(sts.aggregate(task, values, {key: subset.gold for key, subset in subsets.items()}))
            count(done, len(asked.tasks))
    return results, np.concatenate(list(values.values()))


def _run(name: str, encoder: Encoder, asked: Asked, found: Sequence[TaskResult], took_s: float) -> Run:
    from semsearch.evaluation import report, sts

    scores = {_title(one.task): round(getattr(one.spearman, asked.how), 4) for one in found}
    table: dict[str, float] = dict(scores)
    if len(found) > 1:
        table["Avg." if len(found) == len(sts.TASKS) else f"Avg. of {len(found)}"] = sts.average(list(scores.values()))
    files = [file for one in found for file in sts.task_files(one.task, asked.data, asked.split)]
    return report.run(
        "sts",
        encoder,
        protocol=f"Spearman in percent on {asked.split} pairs, {WORDS[asked.how]} ({asked.how!r})",
        scores={one.task: _details(one, asked.how) for one in found},
        table=table,
        settings={"tasks": list(asked.tasks), "split": asked.split, "aggregate": asked.how},
        files=files,
        asked=name,
        took_s=took_s,
    )


def _as_json(asked: Asked, found: Mapping[str, Sequence[TaskResult]]) -> dict[str, Any]:
    from semsearch.evaluation.report import finite
    from semsearch.evaluation.sts import average

    if len(asked.tasks) == 1:
        models = {name: _details(results[0], asked.how) for name, results in found.items()}
        return {"schema": 1, "task": asked.tasks[0], "models": models}
    whole = {
        name: {
            "average": finite(average([getattr(one.spearman, asked.how) for one in results])),
            "tasks": {one.task: _details(one, asked.how) for one in results},
        }
        for name, results in found.items()
    }
    return {"schema": 1, "tasks": list(asked.tasks), "aggregate": asked.how, "models": whole}


def _details(one: TaskResult, how: How) -> dict[str, Any]:
    from semsearch.evaluation.report import finite

    return {
        **correlations(*_chosen(one, how)),
        "pairs": one.pairs,
        "aggregates": {"spearman": finite(asdict(one.spearman)), "pearson": finite(asdict(one.pearson))},
        "subsets": {key: correlations(*scores) for key, scores in one.subsets.items()},
    }


def _chosen(one: TaskResult, how: How) -> tuple[float, float]:
    return getattr(one.spearman, how), getattr(one.pearson, how)


def _draw(asked: Asked, cosines: Mapping[str, Any], file: Path) -> None:
    from semsearch.evaluation import sts
    from semsearch.evaluation.papers import figures

    (task,) = asked.tasks
    subsets = sts.task_pairs(task, asked.data, asked.split)
    gold = [score for subset in subsets.values() for score in subset.gold]
    figures.by_gold(cosines, gold, file, f"{_title(task)} {asked.split}: {len(gold):,} pairs")
    text.note(f"wrote {file}")


def _title(task: str) -> str:
    return TITLES.get(task, task.upper())
