"""Two rows of figures compared: their difference, which one is better, and the meaning of each figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from semsearch.types import JsonObject

from ..shared import messages, runs, tables
from ..shared.encoder_picker import short_name
from ..shared.messages import plain
from . import judged_results

MOST = 10  # queries that differ most
# Of a figure: 1 if higher is better, -1 if lower, 0 if closer to 0, None if neither; and its meaning.
MEANING: Mapping[str, tuple[int | None, str]] = {
    "nDCG@10": (1, "quality of the first ten hits and of their order; 1 is perfect"),
    "recall@100": (1, "share of the relevant documents among the first hundred"),
    "recall@10": (1, "share of what should be found that is among the first ten"),
    "recall@1": (1, "how often the first hit is right"),
    "MRR@10": (1, "1 over the rank of the first relevant hit, 0 beyond the tenth"),
    "judged@10": (None, "share of the first ten hits that were judged; the others count as not relevant"),
    "MAP@100": (1, "precision averaged over the ranks of the relevant documents"),
    "ms": (-1, "median milliseconds per query, encoding included"),
    "ms, 95 %": (-1, "95th-percentile latency in milliseconds"),
    "ms, exact": (-1, "median milliseconds of exact search"),
    "recall of exact": (1, "share of the hits of exact search that are found"),
    "recall, filtered": (1, "the same under a filter that leaves a tenth"),
    "alignment": (-1, "mean squared distance of pairs that people rated as similar; 0 is identical"),
    "uniformity": (-1, "how evenly texts fill the space; lower is more even"),
    "anisotropy": (-1, "mean cosine of two random texts; 0 is best, near 1 all point one way and cosines say little"),
    "effective rank": (1, "number of dimensions that are really used"),
    "hubness": (0, "above 1 a few texts are near everything"),
    "length bias": (0, "above 0 texts are near each other because they are equally long"),
}
COUNTS = ("queries", "texts", "vectors", "mode")


class Row(NamedTuple):
    """A row of figures of a run: of one mode, where it measured several."""

    name: str
    run: JsonObject
    figures: JsonObject

    @property
    def label(self) -> str:
        """Its name in a list."""
        parts = (self.run.get("index"), short_name(str(self.run.get("encoder"))), self.figures.get("mode"))
        return " · ".join([*(str(part) for part in parts if part), runs.finished_at(self.run)])


def form(name: str, measure: str) -> str:
    """The format of a figure.

    >>> form("ms", "queries"), form("nDCG@10", "queries"), form("STS-B", "STS tasks")
    ('%.2f', '%.4f', '%.2f')
    """
    return "%.2f" if name.startswith("ms") or measure == "STS tasks" or name == "effective rank" else "%.4f"


def show(rows: Sequence[Row], measure: str) -> None:
    """Choose two rows, and show their difference."""
    st.header("Compare two runs")
    labels = [f"{at} · {row.label}" for at, row in enumerate(rows, 1)]  # runs of one second have the same label
    one, other = (
        rows[place.selectbox(side, range(len(rows)), at, labels.__getitem__, f"{side} {measure} {len(rows)}")]
        for place, side, at in zip(st.columns(2), ("From", "To"), default_pair(rows), strict=True)
    )
    if one is other:
        messages.info("Choose two different rows.")
        return
    if settings := ", ".join(differing(one, other)):
        messages.warning(f"Their settings differ ({settings}), so the difference is not due to encoder or index alone.")
    differences = table(one, other, measure)
    if not differences:
        messages.info("These rows have no figure in common.")
        return
    right_aligned = {name: st.column_config.TextColumn(alignment="right") for name in ("from", "to", "difference")}
    tables.show(differences, right_aligned, width="content")
    names = [row["figure"] for row in differences if row["figure"] in MEANING]
    st.caption("\n".join(f"- **{plain(name)}**: {MEANING[name][1]}" for name in names))
    _queries(one, other)


def default_pair(rows: Sequence[Row]) -> tuple[int, int]:
    """The newest row, and before it the newest of another run with the same settings; else the first two."""
    newest = rows[0]
    for at, row in enumerate(rows):
        same = row.figures.get("mode") == newest.figures.get("mode") and not differing(row, newest)
        if row.name != newest.name and same:
            return at, 0
    return 1, 0


def differing(one: Row, other: Row) -> list[str]:
    """The settings that differ."""
    a, b = one.run["settings"], other.run["settings"]
    return ["other texts" if name == "sha256" else name for name in {**a, **b} if a.get(name) != b.get(name)]


def table(one: Row, other: Row, measure: str) -> list[JsonObject]:
    """A row for each figure that both have."""
    rows = []
    for name, before in one.figures.items():
        after = other.figures.get(name)
        if name in COUNTS or not isinstance(before, int | float) or not isinstance(after, int | float):
            continue
        written = form(name, measure)
        row = {"figure": name, "from": written % before, "to": written % after}
        row["difference"] = written.replace("%", "%+") % (after - before)
        rows.append(row | {"which is": verdict(name, before, after, measure)})
    return rows


def verdict(name: str, before: float, after: float, measure: str = "") -> str:
    """Whether `after` is better, in a word and a sign that needs no colour.

    >>> verdict("ms", 2, 1), verdict("nDCG@10", 0.5, 0.4), verdict("length bias", -0.5, 0.1), verdict("else", 1, 2)
    ('▲ better', '▼ worse', '▲ better', '')
    """
    way = 1 if measure == "STS tasks" else MEANING.get(name, (None, ""))[0]
    if way is None:
        return ""
    gain = abs(before) - abs(after) if way == 0 else way * (after - before)
    return "▲ better" if gain > 0 else "▼ worse" if gain < 0 else "the same"


def _queries(one: Row, other: Row) -> None:
    """The queries whose nDCG differs most, where both runs have it."""
    before, after = (_by_query(row) for row in (one, other))
    texts = {**other.run.get("queries", {}), **one.run.get("queries", {})}
    rows: list[JsonObject] = [
        {"query": texts.get(query, query), "from": value, "to": after[query], "difference": after[query] - value}
        for query, value in before.items()
        if after.get(query, value) != value
    ]
    if not rows:
        return
    judged_results.tell_difference(before, after)
    rows.sort(key=lambda row: -abs(row["difference"]))
    with st.expander(f"{len(rows):,} queries whose nDCG@10 differs"):
        four, signed = (st.column_config.NumberColumn(format=form) for form in ("%.4f", "%+.4f"))
        tables.show(rows[:MOST], {"from": four, "to": four, "difference": signed})
        if len(rows) > MOST:
            st.caption(f"The {MOST} that differ most.")


def _by_query(row: Row) -> Mapping[str, float]:
    """nDCG@10 of each query, in the mode of the row."""
    by_mode = row.run.get("per_query")
    figures = by_mode.get(row.figures.get("mode"), {}) if isinstance(by_mode, dict) else {}
    return {query: each["nDCG@10"] for query, each in figures.items()}
