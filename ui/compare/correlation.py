"""Agreement with human scores: Spearman and Pearson, and a chart per encoder. A point opens its pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial

import streamlit as st

from semsearch.evaluation import SentencePair as Pair
from semsearch.utils.quantities import count

from ..shared import charts, encoder_picker, tables
from ..shared.messages import plain
from .pair_scores import Scored

DRAWN = 2_000  # points of one chart
MEASURES = ("spearman", "pearson")
CLICKED = "clicked"  # the encoder in whose chart the pair was chosen


def show(pairs: Sequence[Pair], by_encoder: Mapping[str, Scored]) -> None:
    """The correlations, and below them the scatter of each encoder, two in a row."""
    rated = [at for at, pair in enumerate(pairs) if pair.gold is not None]
    st.header("Agreement with human scores")
    labels = encoder_picker.labels(by_encoder)
    rows = [
        {"encoder": labels[name], "spearman": one.spearman, "pearson": one.pearson} for name, one in by_encoder.items()
    ]
    tables.show(rows, {name: tables.percent(name) for name in MEASURES})
    without = len(pairs) - len(rated)
    rest = f"; {without:,} without one are left out here." if without else "."
    st.caption(f"{count(len(rated), 'pair')} with a score{rest}")
    if any(row["spearman"] is None for row in rows):
        st.caption("A correlation needs two pairs or more, and scores and cosines that are not all the same.")
    if len(rated) < 2:
        return
    shown = rated[:: -(-len(rated) // DRAWN)]
    if len(shown) < len(rated):
        st.caption(f"The charts draw {len(shown):,} of these pairs, evenly chosen; the figures use all.")
    places = st.columns(2)
    for at, (name, one) in enumerate(by_encoder.items()):
        with places[at % 2]:
            key = f"scatter {at}"
            charts.draw(_scatter(name, one, pairs, shown), key=key, on_select=partial(_clicked, key, name))
            _chosen(name, one, pairs)


def _scatter(name: str, one: Scored, pairs: Sequence[Pair], shown: Sequence[int]) -> charts.Chart:
    points = [{"number": at + 1, **asdict(pairs[at]), "cosine": round(one.cosines[at], 4)} for at in shown]
    both = zip(MEASURES, (one.spearman, one.pearson), strict=True)
    parts = [f"{measure.capitalize()} {value:.2f} %" for measure, value in both if value is not None]
    lines = ["; ".join(parts), "click a point to see its pair"]  # one line would be cut beside the other chart
    return charts.scatter(points, encoder_picker.short_name(name), lines)


def _clicked(key: str, name: str) -> None:
    """A click on a point chooses its pair. A click beside the points changes nothing."""
    points = st.session_state[key]["selection"].get(charts.CHOSEN, [])
    if points:
        st.session_state["pair"] = int(points[0]["number"])
        st.session_state[CLICKED] = name


def _chosen(name: str, one: Scored, pairs: Sequence[Pair]) -> None:
    """A summary of the pair whose point was clicked in this encoder's chart; its details end the page."""
    number = int(st.session_state.get("pair") or 0)
    if st.session_state.get(CLICKED) != name or not 0 < number <= len(pairs):
        return
    pair, cosine, off = pairs[number - 1], one.cosines[number - 1], one.off[number - 1]
    parts = [f"gold score {pair.gold:g}" if pair.gold is not None else "", f"cosine {cosine:.3f}"]
    parts.append("" if off is None else f"ranked {abs(off):.0f} % of all ranks {'higher' if off > 0 else 'lower'}")
    with st.container(border=True):
        st.markdown(f"**Pair {number}** · {plain(' · '.join(part for part in parts if part))}")
        st.markdown(f"1 {plain(pair.first)}  \n2 {plain(pair.second)}")
        st.markdown("[Details](#one-pair)")
