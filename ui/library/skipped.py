"""Files and records that were skipped, with the reason, and what was left out of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from semsearch import Index
from semsearch.types import JsonObject
from semsearch.utils.quantities import count, letters_by_kind

from ..shared import pool, tables, widgets

MOST = 1_000  # rows in the browser at a time


def show(index: Index) -> None:
    """A table with filters by words and reasons, if anything was skipped; and one of what was left out."""
    if rows := _rows(pool.state(index), index):
        _skipped(rows)
    if rows := _left_out(pool.state(index), index):
        label = f"Left out of {count(len(rows), 'file')}: navigation, scripts …"
        with st.expander(label, icon=":material/content_cut:"):
            st.caption(f"{min(len(rows), MOST):,} of {len(rows):,}")
            tables.show(rows[:MOST], {"left out": tables.WIDE})
            columns = ["what", "letters", "left out"]
            tables.download(f"CSV ({len(rows):,})", "left_out.csv", lambda: tables.to_csv(rows, columns))


def _skipped(rows: Sequence[JsonObject]) -> None:
    with st.expander(f"{count(len(rows), 'skipped file')}: reasons", icon=":material/block:"):
        kinds = [kind for kind, _ in Counter(reason_kind(row["why"]) for row in rows).most_common(50)]
        left, right = st.columns(2)
        words = left.text_input("Skipped: words of path or reason", key="skipped.words", placeholder="e.g. pdf")
        why = widgets.several("Skipped: reasons", kinds, "skipped.why", place=right, placeholder="any")
        matching = [row for row in rows if not why or reason_kind(row["why"]) in why]
        for word in words.casefold().split():
            matching = [row for row in matching if word in f"{row['what']} {row['why']}".casefold()]
        shown = f", the first {MOST:,} shown" if len(matching) > MOST else ""
        st.caption(f"{len(matching):,} of {len(rows):,}{shown}")
        tables.show(matching[:MOST], {"why": tables.WIDE})
        tables.download(f"CSV ({len(matching):,})", "skipped.csv", lambda: tables.to_csv(matching, ["what", "why"]))


@st.cache_resource(max_entries=16, show_spinner=False)  # shared and only read
def _rows(state: tuple[str, int, int], _index: Index) -> Sequence[JsonObject]:
    return [{"what": each.path, "why": each.reason} for each in _index.analysis.skipped()]


@st.cache_resource(max_entries=16, show_spinner=False)  # shared and only read
def _left_out(state: tuple[str, int, int], _index: Index) -> Sequence[JsonObject]:
    """Files, those of which most was left out first."""
    rows = [
        {"what": file, "letters": sum(kinds.values()), "left out": letters_by_kind(kinds)}
        for file, kinds in _index.analysis.left_out().items()
    ]
    return sorted(rows, key=lambda row: -int(row["letters"]))


def reason_kind(reason: str) -> str:
    """A reason without the figures, names and brackets that differ from file to file.

    >>> reason_kind("not a readable PDF: Failed to load document"), reason_kind("12.1 MB is over the limit of 10 MB")
    ('not a readable PDF', 'over the limit')
    """
    return "over the limit" if "over the limit" in reason else reason.split(":")[0].split(" (")[0].split(" '")[0]
