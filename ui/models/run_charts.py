"""Loss and validation score over the steps, of one run or of several in one chart each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import streamlit as st

from semsearch.training import TrainingRun

from ..shared.charts import BLUE, ORANGE, Chart

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito's, of colour-blind readers
POINTS = 1_500  # of a line: more are no finer on a screen
FEW = 30  # points of a line that are drawn as such
HEIGHT, LEGEND = 260, 130  # pixels of a chart, and of the names under it
Curve = Sequence[tuple[int, float]]


def show(runs: Mapping[str, TrainingRun]) -> None:
    """The charts of these runs by their names, side by side; the words in place of one that has nothing to show yet."""
    left, right = st.columns(2)
    losses = {name: run.losses for name, run in runs.items() if run.losses}
    scores = {name: run.scores for name, run in runs.items() if run.scores}
    steps = max(1, *(run.step for run in runs.values()))
    if losses:
        left.altair_chart(_lines(losses, "Loss", "loss", steps, BLUE), key="loss chart")
    else:
        left.caption("The loss is here after the first step.")
    measures = list(dict.fromkeys(run.measure for run in runs.values() if run.measure))
    if scores:
        title = f"{' / '.join(measures) or 'Validation score'}, percent"
        right.altair_chart(_lines(scores, title, "score", steps, ORANGE), key="dev chart")
    elif measures:
        right.caption("There is no validation score yet.")
    else:
        right.caption("There is no validation data (--validation none): the last checkpoint is used.")


def _lines(curves: Mapping[str, Curve], title: str, name: str, steps: int, alone: str) -> Chart:
    """A line for each run; one run alone has this colour, and no legend."""
    rows = [
        {"run": run, "step": step, "value": value} for run, curve in curves.items() for step, value in thinned(curve)
    ]
    names, several = list(curves), len(curves) > 1
    scale = alt.Scale(
        domain=names, range=[PALETTE[at % len(PALETTE)] for at in range(len(names))] if several else [alone]
    )
    legend = alt.Legend(orient="bottom", title=None, labelLimit=220, columns=2) if several else None
    chart = alt.Chart(alt.Data(values=rows)).mark_line(point=max(map(len, curves.values())) <= FEW)
    line: Chart = chart.encode(
        x=alt.X("step:Q", title="step", scale=alt.Scale(domain=[0, steps], nice=False), axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False, padding=8), axis=alt.Axis(format=".3~g")),
        color=alt.Color("run:N", scale=scale, legend=legend, sort=None),
        tooltip=["run:N", alt.Tooltip("step:Q", format=","), alt.Tooltip("value:Q", title=name, format=".4f")],
    ).properties(title=alt.Title(title, anchor="start", fontSize=14), height=HEIGHT + LEGEND * several)
    return line


def thinned(curve: Curve) -> Curve:
    """At most POINTS of a curve, with its last one.

    >>> thinned([(1, 0.5)]), len(thinned([(step, 0.5) for step in range(10_000)])) <= POINTS + 1
    ([(1, 0.5)], True)
    """
    every = max(1, -(-len(curve) // POINTS))
    return [*curve[:-1:every], *curve[-1:]]
