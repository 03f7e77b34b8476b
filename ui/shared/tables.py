"""Tables, their columns, and downloads of them that a spreadsheet opens without running any cell."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from semsearch.types import JsonObject
from semsearch.utils.untrusted import cell

from .messages import WORD_JOINER, Place, one_line, size

Rows = Sequence[JsonObject] | Mapping[str, Sequence[object]]
Columns = Mapping[str, ColumnConfig | str | None]
WIDE = st.column_config.TextColumn(width="large")
MEDIUM = st.column_config.TextColumn(width="medium")
NAME = st.column_config.TextColumn(pinned=True)
BYTES = st.column_config.NumberColumn()
SMALL_BYTES = st.column_config.NumberColumn(width="small")
TEXT_BYTES = st.column_config.NumberColumn(help="Of the extracted text")
SIZES = (BYTES, SMALL_BYTES, TEXT_BYTES)
COUNT = st.column_config.NumberColumn(format="localized")
MOST_HIGH, LINE, HEAD = 432, 33, 36  # pixels of a table of whole rows, of a row, and of its heading with the border
WIDTHS = {"small": 75, "medium": 200}  # pixels of a column; one of any other width has room for MOST_ROOM letters
LETTER, MOST_ROOM = 7.5, 54


def show(rows: Rows, columns: Columns | None = None, **other: Any) -> None:
    """A table; `other` is for st.dataframe. Long texts are cut at words: a click on a cell shows the whole."""
    frame, columns = pd.DataFrame(rows), columns or {}
    height = min(MOST_HIGH, LINE * len(frame) + HEAD)  # at once, so that nothing below it moves
    options: dict[str, Any] = {"hide_index": True, "placeholder": "", "height": height, **other}
    shown = {name: size for name, kind in columns.items() if any(kind is each for each in SIZES)}
    for name in frame.select_dtypes(object):
        room = _room(columns.get(name))
        if any(isinstance(value, str) and len(value) > room for value in frame[name]):
            shown[name] = partial(_cut, room=room)
    styled = frame.style.format("{:g}".format, frame.select_dtypes("float").columns.difference([*columns]), "")
    for name, form in shown.items():
        styled = styled.format(form, [name], "")
    st.dataframe(styled if shown and len(frame) else rows, column_config=columns or None, **options)


def _room(column: ColumnConfig | str | None) -> int:
    """For how many letters a column has room."""
    width = column.get("width") if isinstance(column, dict) else None
    pixels = width if isinstance(width, int) else WIDTHS.get(str(width), 0)
    return int(pixels / LETTER) or MOST_ROOM


def _cut(value: object, room: int) -> str:
    return one_line(str(value), room)


def literal(label: str) -> str:
    """The label of a button in a table: no list of buttons, and no sign.

    >>> literal("A title"), literal("[draft]") == "[draft]"
    ('A title', False)
    """
    return f"{WORD_JOINER}{label}" if label[:1] in "[:" else label


def percent(name: str) -> ColumnConfig:
    """The column of a figure in percent."""
    return st.column_config.NumberColumn(f"{name.capitalize()}, %", format="%.2f")


def select(
    rows: Sequence[JsonObject], columns: Columns, key: str, chosen: Callable[[list[int]], None], *, many: bool = False
) -> None:
    """A table whose rows can be ticked, `many` or one. `chosen` is called with their places when that changes."""

    def changed() -> None:
        ticked = [row for row in st.session_state[key]["selection"]["rows"] if row < len(rows)]
        if ticked or many:
            chosen(ticked)

    mode = "multi-row" if many else "single-row"
    show(rows, columns, key=key, on_select=changed, selection_mode=mode)


def download(label: str, file: str, write: Callable[[], str], *, place: Place = None, hint: str | None = None) -> None:
    """A button for a file, which is written when it is clicked: 20,000 rows take a while."""
    kind, icon = "application/json" if file.endswith(".json") else "text/csv", ":material/download:"
    (place or st).download_button(label, write, file, kind, f"download {file}", hint, "ignore", icon=icon)


def downloads(
    file: str, whole: object, rows: Sequence[JsonObject], columns: Sequence[str] = (), place: Place = None
) -> None:
    """Buttons for two files: the `whole` as JSON, and the `columns` of the rows, by default all, as CSV."""
    place = place or st.container(horizontal=True)
    download("JSON", f"{file}.json", lambda: json.dumps(whole, ensure_ascii=False, indent=1), place=place)
    download("CSV", f"{file}.csv", lambda: to_csv(rows, columns or list(rows[0])), place=place)


def to_csv(rows: Iterable[JsonObject], columns: Sequence[str]) -> str:
    """CSV with a heading; a cell that could be a formula, in the heading too, begins with an apostrophe."""
    text, lines = io.StringIO(), chain([columns], ([row[name] for name in columns] for row in rows))
    csv.writer(text).writerows(map(cell, line) for line in lines)
    return text.getvalue()
