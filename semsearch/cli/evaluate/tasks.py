"""Shared parts of the measuring commands: their options, reports, and the task names that may follow `eval`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Annotated, Literal, TypeAlias

import typer

import semsearch
from semsearch.cli.commands import EVAL
from semsearch.cli.options import JsonFlag, complete_index
from semsearch.cli.output import console
from semsearch.errors import UsageError
from semsearch.evaluation import report as reports
from semsearch.evaluation.report import Run
from semsearch.settings import DATA
from semsearch.types import Mode

Task: TypeAlias = Literal["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"]
Aggregation: TypeAlias = Literal["all", "mean", "wmean"]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help=f"Folder of test sets, laid out as in SentEval.  [default: {DATA}]"),
]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.json|DIR", help="Write each run as JSON, with all that repeats it."),
]
MODES: tuple[Mode, ...] = ("hybrid", "semantic", "keyword")
ModeOption = Annotated[Mode | None, typer.Option("--mode", help="Search mode.  [default: all three, side by side]")]
FigureOption = Annotated[Path | None, typer.Option("--figure", metavar="FILE.png", help="Draw the result as a figure.")]


def complete_first(ctx: typer.Context, incomplete: str) -> list[str]:
    """Tasks and indexes, for shell completion."""
    return [*(name for name in EVAL if name.startswith(incomplete)), *complete_index(ctx, incomplete)]


def refuse_task(name: str | None) -> None:
    """UsageError for a task behind an option, where it would be taken for an index."""
    if name in EVAL:
        raise UsageError(
            f"{name} is a task and has to follow eval directly.",
            f"Write: semsearch eval {name} …; for an index of this name: semsearch eval -n {name} …",
        )


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The options of a command whose runs are printed as a table, and written as a report."""

    form: Annotated[
        Literal["table", "md", "json"] | None,
        typer.Option("--format", help="table, md (Markdown table) or json.  [default: table]"),
    ] = None
    report: ReportOption = None
    as_json: JsonFlag = False

    def check(self, count: int) -> None:
        """Raise, before hours of work, where `count` runs cannot be written."""
        check_outputs(self.report, count)

    def show(self, runs: Sequence[Run]) -> None:
        """Write the report, if any, and print the measures."""
        save(runs, self.report)
        if self.as_json or self.form == "json":
            console.emit({"schema": 1, "runs": list(runs)})
        elif self.form == "md":
            console.out(reports.tables(runs))
        else:
            heads, rows = reports.rows(runs, [run["encoder"]["asked"] or run["encoder"]["name"] for run in runs])
            console.table(rows, heads)


def save(runs: Sequence[Run], report: Path | None) -> None:
    """Write the report, if any, and print its files to stderr."""
    if report is not None:
        for path in reports.write(runs, report):
            console.note(f"wrote {path}")


def check_outputs(report: Path | None, count: int, figure: Path | None = None) -> None:
    """Raise, before hours of work, where `count` runs cannot be written to `report` or a picture to `figure`."""
    if report is not None:
        reports.check(report, count)
    if figure is not None:
        from semsearch.evaluation.papers import figures  # matplotlib, which most runs do without

        figures.check(figure)


def stored_encoder(index: semsearch.Index) -> SimpleNamespace:
    """The encoder of an index for a report, described by the index; it is not loaded."""
    space = index.info()["spaces"][0]
    return SimpleNamespace(info={**space["encoder"], "dim": space["dim"]}, reference=space["encoder"]["name"])


class Stopwatch:
    """Seconds since it was created, or since it was read."""

    def __init__(self) -> None:
        self._began = perf_counter()

    def read(self) -> float:
        now = perf_counter()
        took, self._began = now - self._began, now
        return took
