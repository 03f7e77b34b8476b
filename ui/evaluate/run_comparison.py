"""Two rows of figures side by side: their difference, which way is better, and what each figure means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from ..shared import pool, runs
from ..shared.encoder_picker import short
from .metric_job import Run

MOST = 10  # queries that differ most
MEANS = {  # a figure: which way is better (0: nearer to 0), and what it says
    "nDCG@10": (1, "how good the first ten are, the best first: 1 is perfect"),
    "recall@100": (1, "how much of what is relevant is among the first hundred"),
    "recall@10": (1, "how much is found among the first ten"),
    "recall@1": (1, "how often the first hit is right"),
    "MRR@10": (1, "1 over the rank of the first relevant one, 0 behind the tenth"),
    "MAP@100": (1, "precision, averaged over the ranks of what is relevant"),
    "ms": (-1, "milliseconds of the middle query, encoding included"),
    "ms, 95 %": (-1, "milliseconds that 95 queries of a hundred stay under"),
    "ms, exact": (-1, "milliseconds of exact search"),
    "recall of exact": (1, "how much of what exact search finds is found"),
    "recall, filtered": (1, "the same where a filter leaves a tenth"),
    "alignment": (-1, "how far apart pairs are that people find alike, as a mean squared distance: 0 is together"),
    "uniformity": (-1, "how evenly texts fill the space: lower is more evenly"),
    "anisotropy": (-1, "the mean cosine of any two texts: 0 is best, near 1 all lie one way and cosines say little"),
    "effective rank": (1, "how many directions the space really uses"),
    "hubness": (0, "above 1 a few texts are near everything"),
    "length bias": (0, "above 0 texts are near each other because they are equally long"),
}
COUNTS = ("queries", "texts", "vectors", "mode")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of figures of a run: of one mode, where it measured several."""

    run: str
    of: Run
    figures: Mapping[str, Any]

    @property
    def label(self) -> str:
        """What it is called in a list."""
        parts = (self.of.get("index"), short(str(self.of.get("encoder"))), self.figures.get("mode"))
        return " · ".join([*(str(part) for part in parts if part), runs.finished_at(self.of)])


def form(name: str, measure: str) -> str:
    """How a figure is written.

    >>> form("ms", "queries"), form("nDCG@10", "queries"), form("STS-B", "STS tasks")
    ('%.2f', '%.4f', '%.2f')
    """
    return "%.2f" if name.startswith("ms") or measure == "STS tasks" or name == "effective rank" else "%.4f"


def show(rows: Sequence[Row], measure: str) -> None:
    """Which two, and what lies between them."""
    st.subheader("Two side by side")
    left, right = st.columns(2)
    first, second = usual(rows)
    labels = [f"{at} · {row.label}" for at, row in enumerate(rows, 1)]  # runs of one second are called the same
    numbers = range(len(rows))
    a = left.selectbox("From", numbers, first, format_func=labels.__getitem__, key=f"of {measure} {len(rows)}")
    b = right.selectbox("To", numbers, second, format_func=labels.__getitem__, key=f"to {measure} {len(rows)}")
    one, other = rows[a], rows[b]
    if one is other:
        st.info("Choose two.", icon=":material/info:")
        return
    unlike = differing(one, other)
    if unlike:
        st.warning(pool.plain(f"They were not measured alike ({', '.join(unlike)}): the difference is not the "
                              "encoder's or the index's alone."), icon=":material/warning:")  # fmt: skip
    found = table(one, other, measure)
    if not found:
        st.info("They have no figure in common.", icon=":material/info:")
        return
    right_aligned = {name: st.column_config.TextColumn(alignment="right") for name in ("from", "to", "difference")}
    st.dataframe(found, hide_index=True, column_config=right_aligned, width="content")
    told = [f"- **{pool.plain(row['figure'])}**: {MEANS[row['figure']][1]}" for row in found if row["figure"] in MEANS]
    if told:
        st.caption("\n".join(told))
    _queries(one, other)


def usual(rows: Sequence[Row]) -> tuple[int, int]:
    """The newest row, and before it the newest of another run that measured the same way; else the first two."""
    newest = rows[0]
    for at, row in enumerate(rows):
        same = row.figures.get("mode") == newest.figures.get("mode") and not differing(row, newest)
        if row.run != newest.run and same:
            return at, 0
    return 1, 0


def differing(one: Row, other: Row) -> list[str]:
    """What was not the same when the two were measured."""
    both = (one.of["settings"], other.of["settings"])
    names = [name for name in dict.fromkeys([*both[0], *both[1]]) if both[0].get(name) != both[1].get(name)]
    return ["other texts" if name == "sha256" else name for name in names]


def table(one: Row, other: Row, measure: str) -> list[dict[str, str]]:
    """A row for each figure that both have."""
    found = []
    for name, before in one.figures.items():
        after = other.figures.get(name)
        if name in COUNTS or not isinstance(before, int | float) or not isinstance(after, int | float):
            continue
        written = form(name, measure)
        apart = after - before
        found.append({
            "figure": name, "from": written % before, "to": written % after,
            "difference": written.replace("%", "%+") % apart, "which is": reading(name, before, after, measure),
        })  # fmt: skip
    return found


def reading(name: str, before: float, after: float, measure: str = "") -> str:
    """Whether `after` is better, in a word and a sign that needs no colour.

    >>> reading("ms", 2, 1), reading("nDCG@10", 0.5, 0.4), reading("length bias", -0.5, 0.1), reading("else", 1, 2)
    ('▲ better', '▼ worse', '▲ better', '')
    """
    way = 1 if measure == "STS tasks" else MEANS.get(name, (None, ""))[0]
    if way is None:
        return ""
    gain = abs(before) - abs(after) if way == 0 else way * (after - before)
    return "▲ better" if gain > 0 else "▼ worse" if gain < 0 else "the same"


def _queries(one: Row, other: Row) -> None:
    """The queries whose nDCG differs most, where both know it."""
    both = [row.of.get("per_query", {}).get(row.figures.get("mode"), {}) for row in (one, other)]
    texts: dict[str, Any] = {**other.of.get("queries", {}), **one.of.get("queries", {})}
    found = [
        {"query": texts.get(query, query), "from": both[0][query]["nDCG@10"], "to": both[1][query]["nDCG@10"]}
        for query in both[0]
        if query in both[1]
    ]
    found = [row | {"difference": row["to"] - row["from"]} for row in found if row["to"] != row["from"]]
    if not found:
        return
    found.sort(key=lambda row: -abs(row["difference"]))
    with st.expander(f"{len(found):,} queries whose nDCG@10 differs"):
        columns = {name: st.column_config.NumberColumn(format="%+.4f" if name == "difference" else "%.4f")
                   for name in ("from", "to", "difference")}  # fmt: skip
        st.dataframe(found[:MOST], hide_index=True, column_config=columns)
        if len(found) > MOST:
            st.caption(f"The {MOST} that differ most.")
