"""Spreadsheets (Excel, OpenDocument): each sheet is a document, a row is a line with the number that the sheet shows.

Read by calamine, a library in Rust that knows Excel's old and new formats and OpenDocument's, in 0.2 s for 160,000
cells: openpyxl reads the new ones alone, in 4 s. Cells hold what was last computed; formulas are left out. Comments,
text boxes and labels of charts stand in the line of their row; headers and footers follow the last row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, time
from pathlib import Path

from semsearch.documents.file_access import open_regular
from semsearch.documents.parsing import sheet_extras
from semsearch.documents.parsing.charset import storable
from semsearch.documents.parsing.records import Fields, imported
from semsearch.documents.parsing.sheet_extras import Extras
from semsearch.documents.parsing.text_writer import described
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

ISOLATED = True
_MIDNIGHT = time()
_LAST_ROW = 1_048_575


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
    charts = [name for name in workbook.sheet_names if kinds[name] == calamine.SheetTypeEnum.ChartSheet]
    for name in sorted(kinds.keys() - {*sheets, *charts}):
        yield Skipped(f"{path.name}#{storable(name)}", "a sheet of macros or a dialog")
    beside, title, about = sheet_extras.read(path)
    if title and len(sheets) > 1:
        about["workbook"] = title
    empty = is_first = True
    with workbook:
        for name in sheets + charts:
            place = "" if sheets == [name] else f"#{storable(name)}"
            extras = beside.get(name) or Extras()
            try:
                rows = workbook.get_sheet_by_name(name).iter_rows() if name in sheets else ()
                text = _text(rows, extras)
            except calamine.CalamineError as error:
                empty = False
                yield Skipped(f"{path.name}{place}", f"not a readable sheet: {error}")
                continue
            if text:
                empty = False
                called = storable(name) if place else title or None
                metadata = {"sheet": storable(name), **about}
                document = Document(place, text, metadata, called, lines=True, omissions=extras.writer.omissions)
                yield described(document) if is_first else document
                is_first = False
    if empty:  # a damaged one may look like this, too
        raise Unreadable("no value in any of its sheets")


def _text(rows: Iterable[list[object]], extras: Extras) -> str:
    """A line for each row with what belongs to it, and an empty one for a row without anything."""
    lines = []
    for number, row in enumerate(rows):
        cells = list(map(_shown, row))
        for column in extras.percents.get(number, ()):
            if column < len(row) and isinstance(value := row[column], float):
                cells[column] = f"{_shown(round(100 * value, 10))}%"
        lines.append(" | ".join(cells).strip(" |"))
    for number, texts in extras.by_row.items():
        number = min(number, _LAST_ROW)
        lines += [""] * (number + 1 - len(lines))
        lines[number] = " | ".join(filter(None, [lines[number], *map(storable, texts)]))
    return "\n".join([*lines, *map(storable, extras.on_pages)]).rstrip()


def _shown(cell: object) -> str:
    """A cell as a person would write it: whole numbers without a fraction, ISO dates, text as one line."""
    if isinstance(cell, str):
        return " ".join(storable(cell).split())
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    if isinstance(cell, datetime) and cell.time() == _MIDNIGHT:
        cell = cell.date()
    return str(cell)
