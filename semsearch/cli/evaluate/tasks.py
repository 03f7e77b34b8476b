"""Shared parts of the measuring commands: options, runs and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Literal, TypeAlias

import typer

import semsearch
from semsearch.cli.lookup import load_encoders
from semsearch.cli.options import EncoderOptions, JsonFlag, Options, value
from semsearch.cli.output import console
from semsearch.errors import MissingExtra
from semsearch.evaluation import papers
from semsearch.evaluation import report as reports
from semsearch.evaluation.report import Measurement, Run
from semsearch.settings import DATA
from semsearch.types import Mode

Task: TypeAlias = Literal["sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr"]
Aggregation: TypeAlias = Literal["all", "mean", "wmean"]
DataOption = Annotated[
    Path | None, value("DIR", f"Folder of test sets, laid out as in SentEval.  [default: {DATA}]", "--data")
]
ReportOption = Annotated[
    Path | None, value("FILE.json|DIR", "Write each run as JSON, with everything to repeat it.", "--report")
]
MODES: tuple[Mode, ...] = ("hybrid", "semantic", "keyword")
ModeOption = Annotated[Mode | None, typer.Option("--mode", help="Search mode.  [default: all three, side by side]")]


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The options of a command whose runs are printed as a table, and written as a report."""

    form: Annotated[
        Literal["table", "md", "json"] | None,
        typer.Option("--format", help="table, md (Markdown table) or json.  [default: table]"),
    ] = None
    report: ReportOption = None
    as_json: JsonFlag = False

    def show(self, runs: Sequence[Run]) -> None:
        """Write the report, if any, and print the measures."""
        save(runs, self.report)
        if self.as_json or self.form == "json":
            console.emit({"schema": 1, "runs": list(runs)})
        elif self.form == "md":
            console.out(reports.tables(runs))
        else:
            heads, rows = reports.rows(runs, [run["encoder"]["asked"] for run in runs])
            console.table(rows, heads)


@dataclass(frozen=True, slots=True)
class FigureOptions:
    """The options of a command whose result may be drawn as a figure, and written as a report."""

    report: ReportOption = None
    figure: Annotated[Path | None, value("FILE.png", "Draw the result as a figure.", "--figure")] = None
    as_json: JsonFlag = False

    def check(self, count: int) -> None:
        """Raise, before hours of work, if `count` runs or the figure cannot be written."""
        check_report(self.report, count)
        if self.figure is not None:
            papers.figures.check(self.figure)

    def write(self, runs: Sequence[Run], draw: Callable[[Path], None]) -> None:
        """Write the report and draw the figure, if any."""
        save(runs, self.report)
        if self.figure is not None:
            draw(self.figure)
            console.note(f"wrote {self.figure}")


def check_report(report: Path | None, count: int) -> None:
    """Raise, before hours of work, if `count` runs cannot be written to `report`."""
    if report is not None:
        reports.check(report, count)


def save(runs: Sequence[Run], report: Path | None) -> None:
    """Write the report, if any, and print its files to stderr."""
    for path in reports.write(runs, report) if report is not None else ():
        console.note(f"wrote {path}")


def measure_each(
    kind: str,
    options: Options,
    models: Sequence[str] | None,
    loading: EncoderOptions,
    measure: Callable[[str, semsearch.Encoder], Iterable[Measurement]],
) -> list[Run]:
    """The runs of every model: those that `measure` returns for its name on the command line and its encoder."""
    runs: list[Run] = []
    for name, encoder in load_encoders(options, models, loading):
        began = perf_counter()
        measurements = list(measure(name, encoder))
        took = perf_counter() - began
        runs += [
            reports.run(kind, encoder.info, one, name=name, reference=encoder.reference, took_s=took)
            for one in measurements
        ]
    return runs


def index_run(kind: str, index: semsearch.Index, measurement: Measurement, took_s: float) -> Run:
    """A run that measured an index; its encoder is described by the index, and not loaded."""
    space = index.info()["spaces"][0]
    info = {**space["encoder"], "dim": space["dim"]}
    return reports.run(kind, info, measurement, name=space["encoder"]["name"], took_s=took_s)


@contextmanager
def torch_required(command: str) -> Iterator[None]:
    """Raises MissingExtra if an import of the block fails, as it does without PyTorch."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra(command, "train", "PyTorch" if error.name == "torch" else error.name or "PyTorch") from error
