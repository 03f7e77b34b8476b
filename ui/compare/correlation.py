"""Agreement with human scores: Spearman and Pearson, and two charts per encoder. A point opens its pair.

One chart groups the predictions by gold score, as figure 3 of CoT-BERT does: semsearch.evaluation.papers.figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from semsearch.evaluation import SentencePair as Pair
from semsearch.evaluation import group_gold_scores, scale_cosines
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import charts, encoder_picker, tables
from ..shared.messages import plain
from .pair_scores import Scored

DRAWN = 2_000  # points of one chart
MEASURES = ("spearman", "pearson")
CLICKED = "clicked"  # the encoder in whose chart the pair was chosen


def show(pairs: Sequence[Pair], by_encoder: Mapping[str, Scored]) -> None:
    """The correlations, and below them the scatter and the distribution of each encoder."""
    rated = [at for at, pair in enumerate(pairs) if pair.gold is not None]
    st.subheader("Agreement with human scores")
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
        st.caption(f"The charts draw {len(shown):,} of these pairs, evenly chosen; boxes and figures use all.")
    for at, (name, one) in enumerate(by_encoder.items()):
        left, right = st.columns(2)
        key = f"scatter {at}"
        left.altair_chart(_scatter(name, one, pairs, shown), key=key, on_select=partial(_clicked, key, name))
        right.altair_chart(_by_gold(name, one, pairs, rated, shown))
        _chosen(name, one, pairs)


def _scatter(name: str, one: Scored, pairs: Sequence[Pair], shown: Sequence[int]) -> charts.Chart:
    points = [{"number": at + 1, **asdict(pairs[at]), "cosine": round(one.cosines[at], 4)} for at in shown]
    both = zip(MEASURES, (one.spearman, one.pearson), strict=True)
    parts = [f"{measure.capitalize()} {value:.2f} %" for measure, value in both if value is not None]
    lines = ["; ".join(parts), "click a point to see its pair"]  # one line would be cut beside the other chart
    return charts.scatter(points, encoder_picker.short_name(name), lines)


def _by_gold(name: str, one: Scored, pairs: Sequence[Pair], rated: Sequence[int], shown: Sequence[int]) -> charts.Chart:
    cosines, gold = [one.cosines[at] for at in rated], [pairs[at].gold or 0.0 for at in rated]
    predictions = scale_cosines(cosines)
    where = dict(zip(rated, predictions, strict=True))
    dots = [{"gold": pairs[at].gold, "stretched": round(where[at], 4)} for at in shown]
    lines = ["predictions by gold score", f"cosines {min(cosines):.2f} … {max(cosines):.2f} scaled to 0 … 1"]
    return charts.by_gold(dots, boxes(gold, predictions), encoder_picker.short_name(name), lines)


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


def boxes(scores: Sequence[float], predictions: Sequence[float]) -> list[JsonObject]:
    """A box for each group of scores, the lowest first: quartiles, and whiskers of 1.5 of their distance."""
    of, values = np.asarray(group_gold_scores(scores)), np.asarray(predictions, dtype=np.float64)
    return [{"at": float(at), **_box(values[of == at])} for at in np.unique(of)]


def _box(values: NDArray[np.float64]) -> JsonObject:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    reach = 1.5 * (high - low)
    inside = values[(values >= low - reach) & (values <= high + reach)]
    ends = {"least": float(inside.min()), "most": float(inside.max())}
    return {"count": len(values), "low": low, "middle": middle, "high": high, **ends}
