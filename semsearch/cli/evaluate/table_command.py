"""`eval table`: the reports of several runs as Markdown tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semsearch.cli.options import JsonFlag, value
from semsearch.cli.output import console
from semsearch.evaluation import report as reports


def table(
    ctx: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="RUN.json|DIR…", help="Files or folders that --report wrote.")],
    output: Annotated[
        Path | None, value("FILE.md", "Write the tables to this file instead of stdout.", "-o", "--output")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Make Markdown tables from the runs that --report wrote.

    There is one table for each kind and protocol, since scores of different protocols cannot be compared.
    """
    runs = reports.read(paths)
    if output is not None:
        output.write_text(reports.tables(runs) + "\n", encoding="utf-8")
        console.note(f"wrote {output}")
    if as_json:
        console.emit({"schema": 1, "runs": runs})
    elif output is None:
        console.out(reports.tables(runs))
