"""Loss and validation score of a run over its steps."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import streamlit as st

from semsearch.training import TrainingRun

from ..shared.charts import BLUE, ORANGE, Chart

POINTS = 1_500  # of a line: more are no finer on a screen
FEW = 30  # points of a line that are drawn as such
HEIGHT = 260  # pixels
Curve = Sequence[tuple[int, float]]


def show(run: TrainingRun) -> None:
    """The charts side by side; the words in place of one that has nothing to show yet."""
    left, right = st.columns(2)
    steps = max(1, run.step)
    if run.losses:
        left.altair_chart(_line(run.losses, "Loss", "loss", steps, BLUE), key="loss chart")
    else:
        left.caption("The loss is here after the first step.")
    if run.scores:
        title = f"{run.measure or 'Validation score'}, percent"
        right.altair_chart(_line(run.scores, title, "score", steps, ORANGE), key="dev chart")
    elif run.measure:
        right.caption("There is no validation score yet.")
    else:
        right.caption("There is no validation data (--validation none): the last checkpoint is used.")


def _line(curve: Curve, title: str, name: str, steps: int, colour: str) -> Chart:
    rows = [{"step": step, "value": value} for step, value in thinned(curve)]
    points = alt.OverlayMarkDef(color=colour) if len(curve) <= FEW else False
    chart = alt.Chart(alt.Data(values=rows)).mark_line(color=colour, point=points)
    line: Chart = chart.encode(
        x=alt.X("step:Q", title="step", scale=alt.Scale(domain=[0, steps], nice=False), axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False, padding=8), axis=alt.Axis(format=".3~g")),
        tooltip=[alt.Tooltip("step:Q", format=","), alt.Tooltip("value:Q", title=name, format=".4f")],
    ).properties(title=alt.Title(title, anchor="start", fontSize=14), height=HEIGHT)
    return line


def thinned(curve: Curve) -> Curve:
    """At most POINTS of a curve, with its last one.

    >>> thinned([(1, 0.5)]), len(thinned([(step, 0.5) for step in range(10_000)])) <= POINTS + 1
    ([(1, 0.5)], True)
    """
    every = max(1, -(-len(curve) // POINTS))
    return [*curve[:-1:every], *curve[-1:]]
