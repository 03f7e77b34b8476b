"""`sql`: a SELECT over an index, with searches and cosines in it."""

from __future__ import annotations

import csv
import re
import sys
from base64 import b64encode
from typing import Annotated

import typer

from semsearch.cli.lookup import open_index
from semsearch.cli.options import WHICH_INDEX, JsonFlag, NameOption, complete_index, flag, value
from semsearch.cli.output import console
from semsearch.errors import UsageError
from semsearch.types import SqlRows
from semsearch.utils.quantities import count
from semsearch.utils.untrusted import cell

WIDEST = 80  # characters of a cell in a table
LONGEST = 1_000_000  # characters of a statement from stdin; SQLite refuses a longer one


def sql(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help=WHICH_INDEX,
            autocompletion=complete_index,
            show_default=False,
        ),
    ] = None,
    statement: Annotated[
        str | None, typer.Argument(metavar="SELECT", help="The statement; - reads it from stdin.", show_default=False)
    ] = None,
    named: NameOption = None,
    timeout: Annotated[float, value("S", "Seconds that the statement may take.", min=0.001)] = 60.0,
    as_json: JsonFlag = False,
    as_csv: Annotated[bool, flag("--csv", "Print CSV, with a head.")] = False,
    raw: Annotated[
        bool, flag("--raw", "CSV for programs: without the ' before a text that could be a formula.")
    ] = False,
) -> None:
    """Answer a SELECT over documents, passages and metadata.

    The views documents_view and passages_view have a column for each key of the metadata; metadata_view has a row for
    each value. FROM semsearch_search('text', 10) is a table of hits, and cosine(a, b) compares texts or ids of
    passages. Nothing can be written. A terminal gets a table, and a pipe JSON lines.

    Example: semsearch sql notes "SELECT document, count(*) FROM semsearch_search('boiler', 50) GROUP BY document"
    """
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other.", "Leave out one.")
    index, text = (None, name) if statement is None else (name, statement)
    if text is None or (index is None and text != "-" and re.fullmatch(r"[\w.-]+", text)):
        raise UsageError("there is no statement.", 'For example: semsearch sql "SELECT document FROM documents_view"')
    written = sys.stdin.read(LONGEST + 1) if text == "-" else text
    with open_index(ctx.obj, index, named) as opened:
        rows = opened.sql(written, seconds=timeout)
        head = {"index": opened.name, "columns": list(rows.columns)}
    if as_json:
        console.result({**head, "rows": [_plain(row) for row in rows.dicts()]}, "", as_json=True)
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(rows.columns)
        writer.writerows([_cell(one, raw) for one in row] for row in rows)
    elif sys.stdout.isatty():
        _table(rows)
    else:
        for row in rows.dicts():
            console.out(console.dumps(_plain(row)))


def _table(rows: SqlRows) -> None:
    shown = [[_short(console.safe(_text(one))) for one in row] for row in rows]
    if shown:
        console.table(shown, rows.columns)
    console.note(count(len(rows), "row"))


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _text(one: object) -> str:
    """A value as text; of bytes, such as a vector, their number."""
    return "" if one is None else f"<{len(one)} bytes>" if isinstance(one, bytes) else str(one)


def _cell(one: object, raw: bool) -> str:
    shown = console.safe(_text(one))
    return shown if raw or not isinstance(one, str) else cell(shown)


def _plain(row: dict[str, object]) -> dict[str, object]:
    """A row for JSON: bytes as base64, and no infinity."""
    values: dict[str, object] = {}
    for name, one in row.items():
        odd = isinstance(one, float) and one - one != 0
        values[name] = b64encode(one).decode() if isinstance(one, bytes) else str(one) if odd else one
    return values
