"""Saved runs: all of one measure in a table, two of them compared, downloads, and deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from semsearch import SemsearchError
from semsearch.evaluation import delete_run
from semsearch.types import JsonObject

from ..shared import messages, runs, tables, widgets
from . import run_comparison
from .run_comparison import Row

MOST_MISSED = 5  # sentences that did not find their passage
CHOSEN = "runs to delete"


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
    form = {name: st.column_config.NumberColumn(format=run_comparison.form(name, measure)) for name in figures}
    tables.show(flat, {"time": st.column_config.TextColumn("time (UTC)"), **form})
    if measure == "without labels":
        _missed(next(iter(newest.values())))
    if len(rows) > 1:
        run_comparison.show(rows, measure)
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
        chosen = st.multiselect(
            "Runs", list(labels), format_func=labels.__getitem__, key=CHOSEN, placeholder="Choose runs"
        )
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
