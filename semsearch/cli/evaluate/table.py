"""`eval table`: what several runs found, as tables of Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semsearch.cli.common import JsonFlag
from semsearch.cli.output import text


def table(
    ctx: typer.Context,
    paths: Annotated[list[Path], typer.Argument(metavar="RUN.json|DIR…", help="What --report wrote.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.md", help="Write them here instead of printing.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Tables of Markdown out of the runs that --report wrote.

    One for each kind and protocol, since figures of two protocols are not to be compared.
    """
    from semsearch.evaluation import report

    runs = report.read(paths)
    if output is not None:
        output.write_text(report.tables(runs) + "\n", encoding="utf-8")
        text.note(f"wrote {output}")
    if as_json:
        text.emit({"schema": 1, "runs": runs})
    elif output is None:
        text.out(report.tables(runs))
