"""The chart of the map. A text of a person is a value in it, and never a field's name, a format or an expression.

Groups differ in colour (Okabe and Ito's, which hold for colour-blind readers) and, beyond six of them, in shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from .clusters import Floats
from .space_points import NOTHING, OTHERS, Colours, Points

PALETTE = ("#E69F00", "#56B4E9", "#009E73", "#D55E00", "#CC79A7", "#0072B2")
SHAPES = ("circle", "square", "triangle-up")
GREY = "#8a94a0"
SHOWN = 160  # letters of a text under the pointer
LABEL = 28  # and of a group's name
MOVING = "[pointerdown[event.altKey], window:pointerup] > window:pointermove!"
DRAWING = "[pointerdown[!event.altKey], window:pointerup] > window:pointermove!"


def chart(given: Points, placed: Floats, colours: Colours) -> Any:
    """Points (n, 2) that tell what they are, and can be chosen by a click or a box."""
    point = alt.selection_point(name="point", fields=["id"], on="click", empty=False)
    box = alt.selection_interval(name="box", on=DRAWING, empty=False)
    view = alt.selection_interval(name="view", bind="scales", translate=MOVING, zoom="wheel![event.altKey]")
    size = 70 if len(given) <= 500 else 34 if len(given) <= 5_000 else 16
    what = "value" if colours.codes is None else "group"
    drawn = alt.Chart(rows(given, placed, colours)).mark_point(
        filled=True, strokeWidth=0.4, stroke=GREY, invalid="show"
    )
    return (
        drawn.encode(
            x=alt.X("x:Q", axis=None, scale=alt.Scale(zero=False, padding=12)),
            y=alt.Y("y:Q", axis=None, scale=alt.Scale(zero=False, padding=12)),
            size=alt.condition(point | box, alt.value(3 * size), alt.value(size)),
            opacity=alt.condition(point | box, alt.value(1.0), alt.value(0.75)),
            tooltip=[
                alt.Tooltip("path:N"),
                alt.Tooltip("told:N", title=what),
                alt.Tooltip("text:N"),
            ],
            **_painted(colours),
        )
        .add_params(point, box, view)
        .properties(height=560)
        .configure_scale(invalid={"color": {"value": GREY}})  # a point without the number
    )


def rows(given: Points, placed: Floats, colours: Colours) -> pd.DataFrame:
    """The data of the chart."""
    sample = given.sample
    told: dict[str, Any] = {"x": placed[:, 0], "y": placed[:, 1], "id": sample.ids, "path": list(sample.documents)}
    told["text"] = [" ".join(text.split())[:SHOWN] for text in sample.texts]
    if colours.codes is None:
        told["number"] = list(colours.numbers)
        told["told"] = [NOTHING if np.isnan(one) else f"{one:g}" for one in colours.numbers]
    else:
        labels = [*_labels(colours), OTHERS]  # -1 is the last
        told["told"] = [labels[code] for code in colours.codes.tolist()]
    return pd.DataFrame(told)


def _painted(colours: Colours) -> dict[str, Any]:
    title = short(colours.title)
    if colours.codes is None:
        whole = all(np.isnan(one) or one == int(one) for one in colours.numbers)
        legend = alt.Legend(orient="bottom", direction="horizontal", type="symbol", format="d" if whole else "~g",
                            symbolStrokeWidth=0)  # fmt: skip
        colour = alt.Color("number:Q", title=title, scale=alt.Scale(scheme="viridis"), legend=legend)
        return {"color": colour}
    names = _labels(colours)
    paint = [PALETTE[at % len(PALETTE)] for at in range(len(names))]
    shape = [SHAPES[at // len(PALETTE) % len(SHAPES)] for at in range(len(names))]
    if (colours.codes < 0).any():
        names, paint, shape = [*names, OTHERS], [*paint, GREY], [*shape, "diamond"]
    return {
        "color": alt.Color("told:N", title=title, scale=alt.Scale(domain=names, range=paint), legend=_legend()),
        "shape": alt.Shape("told:N", title=title, scale=alt.Scale(domain=names, range=shape), legend=_legend()),
    }


def _legend() -> alt.Legend:
    return alt.Legend(orient="bottom", columns=3, labelLimit=200, direction="horizontal", symbolStrokeWidth=0)


def _labels(colours: Colours) -> list[str]:
    """The names short enough for the legend, and still no two alike."""
    made: list[str] = []
    for at, name in enumerate(colours.names):
        label = short(name)
        made.append(label if label not in made and label != OTHERS else f"{label} ({at + 1})")
    return made


def short(text: str) -> str:
    """
    >>> short("a\\nvery long name of a folder")
    'a very long name of a folder'
    """
    line = " ".join(text.split())
    return line if len(line) <= LABEL else f"{line[: LABEL - 1]}…"


def chosen(given: Points, placed: Floats, selection: Mapping[str, Any]) -> list[int]:
    """The rows that a click or a box has chosen, in the order of the index."""
    ids = {int(one["id"]) for one in selection.get("point") or [] if "id" in one}
    here = np.isin(given.sample.ids, list(ids))
    box = selection.get("box") or {}
    if "x" in box and "y" in box:
        (left, right), (low, high) = sorted(box["x"]), sorted(box["y"])
        x, y = placed[:, 0], placed[:, 1]
        here |= (x >= left) & (x <= right) & (y >= low) & (y <= high)
    return [int(row) for row in np.flatnonzero(here)]
