"""Tables as CSV that a spreadsheet opens without running any cell."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet may take for the start of a formula


def table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """CSV with a heading; what could be a formula, in the heading too, is led by an apostrophe."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([cell(name) for name in columns])
    for row in rows:
        writer.writerow([cell(row[name]) for name in columns])
    return text.getvalue()


def cell(value: Any) -> Any:
    """A cell as it is written.

    >>> cell("=1+1"), cell(-0.5), cell("plain")
    ("'=1+1", -0.5, 'plain')
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
