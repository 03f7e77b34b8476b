"""Agreement with human scores: Spearman and Pearson, and two charts per encoder. A point opens its pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial

import streamlit as st

from ..shared import charts, encoder_picker, tables
from ..shared.format import count
from ..shared.messages import plain
from ..shared.pairs import Pair
from . import score_groups
from .pair_scores import Scored

ACROSS = 2
DRAWN = 2_000  # points of one chart
MEASURES = ("spearman", "pearson")
CLICKED = "clicked"  # the encoder in whose chart the pair was chosen
Found = Mapping[str, Scored]


def show(pairs: Sequence[Pair], found: Found) -> None:
    """The correlations, and below them the scatter and the distribution of each encoder."""
    known = [at for at, pair in enumerate(pairs) if pair.gold is not None]
    st.subheader("Agreement with human scores")
    labels = encoder_picker.labels(found)
    rows = [{"encoder": labels[name], "spearman": one.spearman, "pearson": one.pearson} for name, one in found.items()]
    percent = {name: st.column_config.NumberColumn(f"{name.capitalize()}, %", format="%.2f") for name in MEASURES}
    tables.show(rows, percent)
    without = len(pairs) - len(known)
    rest = f"; {without:,} without one are left out here." if without else "."
    st.caption(f"{count(len(known), 'pair')} with a score{rest}")
    if any(row["spearman"] is None for row in rows):
        st.caption("A correlation needs two pairs or more, and scores and cosines that are not all the same.")
    if len(known) < 2:
        return
    shown = known[:: -(-len(known) // DRAWN)]
    if len(shown) < len(known):
        st.caption(f"The charts draw {len(shown):,} of these pairs, evenly chosen; boxes and figures use all.")
    for at, (name, one) in enumerate(found.items()):
        left, right = st.columns(ACROSS)
        key = f"scatter {at}"
        left.altair_chart(_scatter(name, one, pairs, shown), key=key, on_select=partial(_clicked, key, name))
        right.altair_chart(_by_gold(name, one, pairs, known, shown))
        _chosen(name, one, pairs)


def _scatter(name: str, one: Scored, pairs: Sequence[Pair], shown: Sequence[int]) -> charts.Chart:
    points = [
        {
            "number": at + 1,
            "first": pairs[at].first,
            "second": pairs[at].second,
            "gold": pairs[at].gold,
            "cosine": round(one.cosines[at], 4),
        }
        for at in shown
    ]
    both = zip(MEASURES, (one.spearman, one.pearson), strict=True)
    parts = [f"{measure.capitalize()} {value:.2f} %" for measure, value in both if value is not None]
    return charts.scatter(points, encoder_picker.short_name(name), "; ".join([*parts, "click a point to see its pair"]))


def _by_gold(name: str, one: Scored, pairs: Sequence[Pair], known: Sequence[int], shown: Sequence[int]) -> charts.Chart:
    cosines, gold = [one.cosines[at] for at in known], [pairs[at].gold or 0.0 for at in known]
    predictions = score_groups.scaled(cosines)
    where = dict(zip(known, predictions, strict=True))
    dots = [{"gold": pairs[at].gold, "stretched": round(where[at], 4)} for at in shown]
    subtitle = f"predictions by gold score: cosines of {min(cosines):.2f} … {max(cosines):.2f} scaled to 0 … 1"
    boxes = [asdict(box) for box in score_groups.boxes(gold, predictions)]
    return charts.by_gold(dots, boxes, encoder_picker.short_name(name), subtitle)


def _clicked(key: str, name: str) -> None:
    """A click on a point chooses its pair. A click beside the points changes nothing."""
    points = st.session_state[key]["selection"].get(charts.CHOSEN, [])
    if points:
        st.session_state["pair"] = int(points[0]["number"])
        st.session_state[CLICKED] = name


def _chosen(name: str, one: Scored, pairs: Sequence[Pair]) -> None:
    """The pair of the point that was clicked in this encoder's chart, in short; the end of the page has all of it."""
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
