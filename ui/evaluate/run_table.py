"""Saved runs: all of one measure in a table, with the meaning of each figure, downloads, and deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from semsearch import SemsearchError
from semsearch.evaluation import delete_run
from semsearch.types import JsonObject

from ..shared import messages, runs, tables, widgets
from ..shared.encoder_picker import short_name

MOST_MISSED = 5  # sentences that did not find their passage
CHOSEN = "runs to delete"
MEANING = {
    "nDCG@10": "quality of the first ten hits and of their order; 1 is perfect",
    "recall@100": "share of the relevant documents among the first hundred",
    "recall@10": "share of what should be found that is among the first ten",
    "recall@1": "how often the first hit is right",
    "MRR@10": "1 over the rank of the first relevant hit, 0 beyond the tenth",
    "judged@10": "share of the first ten hits that were judged; the others count as not relevant",
    "MAP@100": "precision averaged over the ranks of the relevant documents",
    "ms": "median milliseconds per query, encoding included",
    "ms, 95 %": "95th-percentile latency in milliseconds",
}


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


def show(measure: str) -> None:
    """All runs of one measure, the newest first."""
    newest = runs.newest_first(measure)
    st.header("Runs")
    if not newest:
        st.caption("There is no run of this kind yet. Runs are saved until you delete them.")
        return
    rows = [Row(name, run, figures) for name, run in newest.items() for figures in run["rows"]]
    flat = table(rows)
    figures = {name for row in flat for name, value in row.items() if isinstance(value, float)}
    form = {name: _column(name, measure) for name in figures}
    tables.show(flat, {"time": st.column_config.TextColumn("time (UTC)"), **form})
    if measure == "without labels":
        _missed(next(iter(newest.values())))
    tables.downloads(f"runs-{measure.replace(' ', '-')}", {"schema": 1, "runs": list(newest.values())}, flat)
    _delete(newest)


def table(rows: Sequence[Row]) -> list[JsonObject]:
    """The rows with the same columns; figures that a run lacks are empty."""
    names = dict.fromkeys(name for row in rows for name in row.figures)
    indexes = ["index"] if any(row.run.get("index") for row in rows) else []
    return [
        {"time": runs.finished_at(row.run)}
        | {name: row.run.get(name) for name in (*indexes, "encoder")}
        | {name: row.figures.get(name) for name in names}
        | {"how": runs.describe_settings(row.run)}
        for row in rows
    ]


def _column(name: str, measure: str) -> ColumnConfig:
    digits = 2 if name.startswith("ms") or measure == "STS tasks" else 4
    return st.column_config.NumberColumn(format=f"%.{digits}f", help=MEANING.get(name))


def _missed(newest: JsonObject) -> None:
    missed = newest.get("missed", {}).get("hybrid", [])
    if missed:
        with st.expander(f"{len(missed)} sentences that the newest run did not find among ten hits (hybrid)"):
            for text in missed[:MOST_MISSED]:
                st.text(text)


def _delete(saved: Mapping[str, JsonObject]) -> None:
    """Runs are chosen, and deleted by a second click."""
    labels = {name: Row(name, run, {}).label for name, run in saved.items() if not name.startswith(runs.UNSAVED)}
    with st.expander("Delete runs"):
        named = labels.__getitem__
        chosen = st.multiselect("Runs", list(labels), format_func=named, key=CHOSEN, placeholder="Choose runs")
        label, hint = f"Delete {len(chosen)}" if chosen else "Delete", "Their files are deleted for good."
        widgets.button(label, "delete", _remove, (chosen,), hint=hint, off=not chosen)


def _remove(names: Sequence[str]) -> None:
    st.session_state[CHOSEN] = []
    for name in names:
        try:
            delete_run(name)
        except SemsearchError:  # another session was faster
            continue
        except OSError as error:
            messages.refuse(f"A run could not be deleted: {error.strerror or error}.")
