"""Charts of cosines. Texts are values and labels in them, never names of fields or formats.

Colours: viridis for similarity, blue against orange for differences; both suit colour-blind readers,
light and dark pages. They are fixed: a cosine has the same colour in every chart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt
import streamlit as st

from semsearch.types import JsonObject

from .messages import Place, one_line

Chart = alt.Chart | alt.LayerChart | alt.FacetChart
Cells = Sequence[Sequence[float]]

BLUE, ORANGE, GREY = "#3b82c4", "#e08214", "#8a94a0"
# Viridis (van der Walt and Smith 2015) at 0, 0.1 … 1; black from -0.2 down: negative cosines are few and small.
COSINES = (-0.2, *(tenth / 10 for tenth in range(11)))
VIRIDIS = ("#000000", "#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c", "#22a884", "#44bf70", "#7ad151",
           "#bddf26", "#fde725")  # fmt: skip
WHITE_ON = 0.55  # below this cosine white can be read better than black
MOST_APART = 0.5  # a difference of this and more has the full colour
FRAME = 84  # pixels of title and axis in a chart's height
LEGEND, SCALE = 60, 110  # its height, and the length of its colours: two charts stand beside each other
FIGURES = 12  # sentences up to which the cells of a map have room for numbers
LABEL = 26  # characters of a sentence at an axis
CHOSEN = "chosen"
ROOMY = alt.Axis(minExtent=42)  # or a fitted chart is clipped where a label grows


def draw(chart: Chart, place: Place = None, **options: Any) -> None:
    """Draw it, with its room kept from the beginning; `options` are those of st.altair_chart."""
    (place or st).altair_chart(chart, height=chart.height, **options)


def heat(cells: Cells, texts: Sequence[str], title: str) -> Chart:
    """Cosines (n, n) of texts, with numbers where cells have room for them."""
    colour = alt.Scale(domain=list(COSINES), range=list(VIRIDIS), clamp=True, interpolate="lab")
    legend = alt.Legend(title=None, orient="bottom", values=[0, 0.5, 1], format=".1f", gradientLength=SCALE)
    by = alt.Color("cosine:Q", scale=colour, legend=legend)
    return _grid(cells, texts, title, by, lambda value: value < WHITE_ON)


def apart(cells: Cells, texts: Sequence[str], title: str) -> Chart:
    """Differences of cosines (n, n): 0 in the middle of the colours, MOST_APART and what is beyond at their ends."""
    colour = alt.Scale(scheme="blueorange", domain=[-MOST_APART, MOST_APART], domainMid=0, clamp=True)
    legend = alt.Legend(
        title=None, orient="bottom", format="+.1f", values=[-MOST_APART, 0, MOST_APART], gradientLength=SCALE
    )
    full = lambda value: abs(value) > 0.75 * MOST_APART  # noqa: E731
    return _grid(cells, texts, title, alt.Color("cosine:Q", scale=colour, legend=legend), full, sign="+")


def _grid(
    cells: Cells, texts: Sequence[str], title: str, colour: alt.Color, is_dark: Callable[[float], bool], sign: str = ""
) -> Chart:
    rows = [
        {
            "row": numbered(y, texts[y]),
            "column": str(x + 1),
            "first": texts[y],
            "second": texts[x],
            "cosine": round(value, 4),
            "text": f"{value:{sign}.2f}" if abs(value) >= 0.005 else "0.00",
            "dark": is_dark(value),
            "x": y + 1,  # the numbers of its sentences, as the URL has them
            "y": x + 1,
        }
        for y, line in enumerate(cells)
        for x, value in enumerate(line)
    ]
    many, figures = len(texts), len(texts) <= FIGURES
    number = alt.Tooltip("cosine:Q", title="difference" if sign else "cosine", format=f"{sign}.3f")
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("column:O", sort=None, title=None, axis=alt.Axis(labelAngle=0, orient="top", labelOverlap=not figures)),
        y=alt.Y("row:O", sort=None, title=None, axis=alt.Axis(labelLimit=120, labelOverlap=False)),
        tooltip=[alt.Tooltip("first:N", title="row"), alt.Tooltip("second:N", title="column"), number],
    )
    chosen = alt.selection_point(name=CHOSEN, fields=["x", "y"], empty=False, toggle=False)
    edge = alt.when(chosen).then(alt.value(3)).otherwise(alt.value(0))
    squares = base.mark_rect(cursor="pointer", stroke=ORANGE).encode(color=colour, strokeWidth=edge)
    squares = squares.properties(name="cells").add_params(chosen)  # else each drawing has a name of its own
    if not figures:
        return _titled(squares, FRAME + LEGEND + 20 * many, title, ["point at a cell for its sentences and its number"])
    ink = alt.when(alt.datum.dark).then(alt.value("white")).otherwise(alt.value("black"))
    values = base.mark_text(cursor="pointer", fontSize=13 if many <= 8 else 9).encode(text="text:N", color=ink)
    return _titled(squares + values, FRAME + LEGEND + 40 * many, title)


def scatter(rows: Sequence[JsonObject], title: str, subtitle: Sequence[str]) -> Chart:
    """The cosine of every pair above its gold score. Rows have number, first, second, gold and cosine.

    The point that is clicked is CHOSEN, by its number.
    """
    chosen = alt.selection_point(name=CHOSEN, fields=["number"], empty=False, toggle=False, nearest=False)
    points = alt.Chart(alt.Data(values=list(rows))).mark_circle(size=42, cursor="pointer").add_params(chosen)
    cosine = alt.Tooltip("cosine:Q", format=".3f")
    drawn = points.encode(
        color=alt.when(chosen).then(alt.value(ORANGE)).otherwise(alt.value(BLUE)),
        opacity=alt.when(chosen).then(alt.value(1)).otherwise(alt.value(0.45)),
        size=alt.when(chosen).then(alt.value(140)).otherwise(alt.value(42)),
        x=alt.X("gold:Q", title="gold score", axis=alt.Axis(tickCount=6), scale=alt.Scale(zero=False, padding=8)),
        y=alt.Y("cosine:Q", title="cosine", axis=ROOMY, scale=alt.Scale(zero=False, padding=8)),
        tooltip=[alt.Tooltip("number:Q", title="pair"), "first:N", "second:N", "gold:Q", cosine],
    )
    return _titled(drawn, 320, title, subtitle)


def tokens(parts: Sequence[Any]) -> Chart:
    """The share of every token as a bar; content words in orange, the others in blue."""
    kinds = {True: "content word", False: "other"}
    rows: list[JsonObject] = [
        {
            "token": numbered(at, part.token),
            "share": 100 * part.share,
            "cosine": part.cosine,
            "kind": kinds[part.core],
            "text": f"{100 * part.share:.1f} %",
        }
        for at, part in enumerate(parts)
    ]
    top = 1.2 * max((row["share"] for row in rows), default=0) or 1.0  # room for the figure after the bar
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("token:N", sort=None, title=None, axis=alt.Axis(labelLimit=160, labelOverlap=False)),
        x=alt.X("share:Q", title="share of all cosines, %", scale=alt.Scale(domain=[0, top], nice=False)),
        tooltip=["token:N", alt.Tooltip("cosine:Q", format=".3f"), alt.Tooltip("text:N", title="share")],
    )
    scale = alt.Scale(domain=list(kinds.values()), range=[ORANGE, BLUE])
    colour = alt.Color("kind:N", title=None, legend=alt.Legend(orient="bottom"), scale=scale)
    bars = base.mark_bar().encode(color=colour)
    values = base.mark_text(align="left", dx=4, color=GREY).encode(text="text:N")
    chart: Chart = (bars + values).properties(height=FRAME + 26 * len(rows))
    return chart


def numbered(at: int, text: str) -> str:
    """A label that no two texts share, short enough for an axis.

    >>> numbered(0, "A diesel engine ignites fuel by compression.")
    '1  A diesel engine ignites …'
    """
    return f"{at + 1}  {one_line(text, LABEL)}"


def _titled(chart: Chart, height: int, title: str, subtitle: Sequence[str] = ()) -> Chart:
    heading = alt.Title(
        title, subtitle=[line for line in subtitle if line], subtitleColor=GREY, anchor="start", fontSize=14
    )
    titled: Chart = chart.properties(title=heading, height=height)
    return titled
