"""`eval TASK`: what the tasks share, and how `eval` tells a task from the name of an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from semsearch import settings
from semsearch.cli.common import Command, Options, complete_index, loaded
from semsearch.cli.output import text
from semsearch.errors import UsageError
from semsearch.settings import DATA

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder
    from semsearch.evaluation.report import Run
    from semsearch.stores.records import Space

TASKS = {  # the first word behind `eval`: module.function
    "transfer": "transfer.transfer",
    "retrieval": "retrieval.retrieval",
    "geometry": "geometry.geometry",
    "grid": "layers.grid",
    "tokens": "layers.tokens",
    "table": "table.table",
}

ModelsOption = Annotated[
    list[str] | None, typer.Option("-m", "--model", metavar="MODEL", help="Encoder, or MODEL#TEMPLATE; repeatable.")
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help=f"Where test sets lie, as SentEval has them.  [default: {DATA}]"),
]
Format: TypeAlias = Literal["table", "md", "json"]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="table, md: a table of Markdown, or json.  [default: table]")
]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE.json|DIR", help="Write each run as JSON, with all it takes to repeat it."),
]
FigureOption = Annotated[Path | None, typer.Option("--figure", metavar="FILE.png", help="Draw it.")]


class Evaluate(Command):
    """`eval`: where the first word is a task, that task's command; else the command that measures an index."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        if args and args[0] in TASKS:
            return task(args[0]).make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)


def task(name: str) -> Any:
    """The command of the task called `name`. Raises KeyError."""
    module, _, function = TASKS[name].partition(".")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=Command)(getattr(import_module(f"semsearch.cli.evaluate.{module}"), function))
    return typer.main.get_command(alone)


def complete_first(ctx: typer.Context, incomplete: str) -> list[str]:
    """Tasks and indexes, for shell completion."""
    return [*(name for name in TASKS if name.startswith(incomplete)), *complete_index(ctx, incomplete)]


def no_task(name: str | None) -> None:
    """UsageError where a task was named behind an option, and so would be taken for an index."""
    if name in TASKS:
        raise UsageError(
            f"{name} is a task, which stands right behind eval.",
            f"Write: semsearch eval {name} …; an index of that name: semsearch eval -n {name} …",
        )


def encoders(options: Options, models: Sequence[str] | None, device: str | None, **how: Any
             ) -> Iterator[tuple[str, Encoder]]:  # fmt: skip
    """Each encoder under the name that was asked for, loaded when its turn comes."""
    for name in named(models):
        encoder = loaded(options, name, device, **how)
        yield name, encoder
        encoder.close()


def tell(runs: Sequence[Run], *, as_json: bool, form: Format | None, report: Path | None) -> None:
    """Write the report that was asked for, and show what was measured."""
    from semsearch.evaluation import report as reports

    save(runs, report)
    if as_json or form == "json":
        text.emit({"schema": 1, "runs": list(runs)})
    elif form == "md":
        text.out(reports.tables(runs))
    else:
        heads, rows = reports.rows(runs, [run["encoder"]["asked"] or run["encoder"]["name"] for run in runs])
        text.table(rows, heads)


def save(runs: Sequence[Run], report: Path | None) -> None:
    """Write the report, where one was asked for, and say so."""
    if report is not None:
        from semsearch.evaluation.report import write

        for path in write(runs, report):
            text.note(f"wrote {path}")


def ready(report: Path | None, count: int, figure: Path | None = None) -> None:
    """What cannot be written is told before hours of work: `count` runs to `report`, or a picture to `figure`."""
    if report is not None:
        from semsearch.evaluation.report import check

        check(report, count)
    if figure is not None:
        from semsearch.evaluation.papers import figures

        figures.check(figure)


def named(models: Sequence[str] | None) -> list[str]:
    """The encoders that are meant, each once: those of -m, else that of the settings."""
    return list(dict.fromkeys(models or [settings.load().model]))


def stored(space: Space) -> Any:
    """What a run tells of the encoder that made the vectors of an index, which need not be loaded."""
    told = {**space.info, "name": space.name, "fingerprint": space.fingerprint, "dim": space.dim}
    return SimpleNamespace(info=told, reference=space.name)


class Watch:
    """Seconds since it was made, or since it was read."""

    def __init__(self) -> None:
        self._began = perf_counter()

    def read(self) -> float:
        now = perf_counter()
        took, self._began = now - self._began, now
        return took
