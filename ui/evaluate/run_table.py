"""The runs that are kept: all of one kind in a table, two of them side by side, downloads, and what is removed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from semsearch import SemsearchError
from semsearch.evaluation import delete_run, list_runs

from ..shared import csv_export, jobs, runs
from . import metric_job, run_comparison
from .metric_job import Run
from .run_comparison import Row

SHOWN = 5  # sentences that did not find their passage
TALL = 400  # pixels of the table, at most
NOT_KEPT = "not kept"


def show(measure: str) -> None:
    """All runs of one measure, the newest first."""
    saved = {**list_runs(), **{f"{NOT_KEPT} {at}": run for at, run in enumerate(metric_job.lost())}}
    of_it = {name: run for name, run in reversed(saved.items()) if run.get("measure") == measure and runs.is_sound(run)}
    st.subheader("Runs")
    if not of_it:
        st.caption("None of this kind yet. A run is kept until you delete it.")
        return
    rows = [Row(name, run, figures) for name, run in of_it.items() for figures in run["rows"]]
    flat = table(rows)
    st.dataframe(flat, hide_index=True, placeholder="", height=min(TALL, 40 + 35 * len(flat)), column_config={
        "time": st.column_config.TextColumn("time (UTC)"),
        **{name: st.column_config.NumberColumn(format=run_comparison.form(name, measure))
           for row in flat for name, value in row.items() if isinstance(value, float)},
    })  # fmt: skip
    if measure == "without labels":
        _missed(next(iter(of_it.values())))
    if len(rows) > 1:
        run_comparison.show(rows, measure)
    _downloads(of_it, flat, measure)
    _deleted(of_it)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """A row each, all with the same columns; what a run did not measure is left empty, what none did is left out."""
    names = dict.fromkeys(name for row in rows for name in row.figures)
    indexes = any(row.of.get("index") for row in rows)
    found = []
    for row in rows:
        known = {"time": runs.finished_at(row.of)} | ({"index": row.of.get("index")} if indexes else {})
        known |= {"encoder": row.of.get("encoder")} | {name: row.figures.get(name) for name in names}
        found.append(known | {"how": runs.describe_settings(row.of)})
    return found


def _missed(newest: Run) -> None:
    missed = newest.get("missed", {}).get("hybrid", [])
    if missed:
        with st.expander(f"{len(missed)} sentences that the newest run did not find among ten (hybrid)"):
            for text in missed[:SHOWN]:
                st.text(text)


def _downloads(saved: Mapping[str, Run], flat: Sequence[Mapping[str, Any]], measure: str) -> None:
    said = json.dumps({"schema": 1, "runs": list(saved.values())}, ensure_ascii=False, indent=1)
    name = f"runs-{measure.replace(' ', '-')}"
    row = st.container(horizontal=True, vertical_alignment="center")
    row.download_button("JSON", said, f"{name}.json", "application/json", icon=":material/download:")
    row.download_button("CSV", csv_export.table(flat, list(flat[0])), f"{name}.csv", "text/csv",
                        icon=":material/download:")  # fmt: skip


def _deleted(saved: Mapping[str, Run]) -> None:
    """Which runs are to go; they are gone only by a second click."""
    labels = {name: Row(name, run, {}).label for name, run in saved.items() if not name.startswith(NOT_KEPT)}
    with st.expander("Delete runs"):
        chosen = st.multiselect("Which", list(labels), format_func=lambda name: labels.get(name, ""),
                                key="runs to delete", placeholder="Choose runs")  # fmt: skip
        st.button(f"Delete {len(chosen)}" if chosen else "Delete", icon=":material/delete:", disabled=not chosen,
                  on_click=_remove, args=(tuple(chosen),), help="Their files are removed for good.")  # fmt: skip


def _remove(names: Sequence[str]) -> None:
    st.session_state["runs to delete"] = []
    for name in names:
        try:
            delete_run(name)
        except SemsearchError:  # somebody else was faster
            continue
        except OSError as error:
            jobs.refuse(f"A run could not be deleted: {error.strerror or error}.")
