"""A chart with buttons that save it: the picture that the browser has drawn as PNG and SVG, its figures as CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import streamlit as st

from semsearch.types import JsonObject

from ..shared import charts, tables
from ..shared.charts import CHOSEN, Cells, Chart
from ..shared.messages import Place

_BROWSER = Path(__file__).parent / "browser"
_buttons = st.components.v2.component(
    "semsearch chart files",
    css=(_BROWSER / "export.css").read_text(encoding="utf-8"),
    js=(_BROWSER / "export.js").read_text(encoding="utf-8"),
    isolate_styles=False,  # it reads the chart, which is part of the document
)


def show(
    chart: Chart,
    key: str,
    name: str,
    rows: Sequence[JsonObject],
    *,
    place: Place = None,
    clicked: Callable[[JsonObject], None] | None = None,
) -> None:
    """Draw the chart; files of it are called `name`, and have the rows as figures.

    `clicked` is called with what the chart selects by a click; a click beside it changes nothing.
    """
    with (place or st).container(key=key):
        if clicked is None:
            charts.draw(chart)
        else:
            charts.draw(chart, key=f"{key} chart", on_select=partial(_clicked, f"{key} chart", clicked))
        data = {"target": key, "name": _file_name(name), "csv": tables.to_csv(rows, list(rows[0]))}
        _buttons(data=json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"), key=f"{key} files")


def _clicked(key: str, clicked: Callable[[JsonObject], None]) -> None:
    for each in st.session_state[key]["selection"].get(CHOSEN, [])[:1]:
        clicked(each)


def matrix_rows(cells: Cells, texts: Sequence[str]) -> list[JsonObject]:
    """The cells of a matrix (n, n) as rows of a file: a column for each text, under its number and its words.

    >>> matrix_rows([[1.0, 0.25], [0.25, 1.0]], ["a", "b"])[0]
    {'sentence': '1 a', '1 a': 1.0, '2 b': 0.25}
    """
    names = [f"{number} {text}" for number, text in enumerate(texts, 1)]
    return [{"sentence": name, **dict(zip(names, line, strict=True))} for name, line in zip(names, cells, strict=True)]


def _file_name(name: str) -> str:
    """A name of letters and digits that every system takes.

    >>> _file_name("cosines of bert#cot-bert")
    'cosines-of-bert-cot-bert'
    """
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:80] or "chart"
