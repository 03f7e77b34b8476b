"""Spreadsheets (Excel, OpenDocument): each sheet is a document, a row is a line with the number that the sheet shows.

Read by calamine, a library in Rust that knows Excel's old and new formats and OpenDocument's, in 0.2 s for 160,000
cells: openpyxl reads the new ones alone, in 4 s. Cells hold what was last computed; formulas, comments and charts are
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from pathlib import Path

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing.charset import storable
from semsearch.documents.parsing.records import Fields, imported
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

ISOLATED = True
_MIDNIGHT = time()


def load(path: Path, fields: Fields) -> Iterator[Document | Skipped]:
    """A document "#Sheet" for each sheet with a cell; the only one of a workbook has the name of the file.

    Raises Unreadable if it is damaged or encrypted, or python-calamine is missing.
    """
    calamine = imported("python_calamine", "needs python-calamine", "docs")
    with open_regular(path):
        pass
    try:
        workbook = calamine.CalamineWorkbook.from_path(str(path))
    except calamine.PasswordError as error:
        raise Unreadable("encrypted spreadsheet: it needs a password") from error
    except calamine.CalamineError as error:
        raise Unreadable(f"not a readable spreadsheet: {error}") from error
    kinds = {each.name: each.typ for each in workbook.sheets_metadata}
    sheets = [name for name in workbook.sheet_names if kinds[name] == calamine.SheetTypeEnum.WorkSheet]
    empty = True
    with workbook:
        for name in sheets:
            place = f"#{storable(name)}" if len(sheets) > 1 else ""
            try:
                text = _text(workbook.get_sheet_by_name(name).iter_rows())
            except calamine.CalamineError as error:
                empty = False
                yield Skipped(f"{path.name}{place}", f"not a readable sheet: {error}")
                continue
            if text:
                empty = False
                yield Document(place, text, {"sheet": storable(name)}, storable(name) if place else None, lines=True)
    if empty:  # a damaged one may look like this, too
        raise Unreadable("no value in any of its sheets")


def _text(rows: Iterable[list[object]]) -> str:
    """A line for each row, and an empty one for a row without a cell."""
    return "\n".join(" | ".join(map(_shown, row)).strip(" |") for row in rows).rstrip()


def _shown(cell: object) -> str:
    """A cell as a person would write it: whole numbers without a fraction, ISO dates, text as one line."""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    if isinstance(cell, datetime) and cell.time() == _MIDNIGHT:
        cell = cell.date()
    if isinstance(cell, datetime | date | time | timedelta):
        return str(cell)
    return " ".join(storable(str(cell)).split())
