"""The runs that are kept: all of one kind in a table, two of them side by side, downloads, and what is removed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from semsearch import SemsearchError, kept_runs, remove_run

from ..evaluate import compare_runs
from . import csv_export, jobs, run_job
from .encoder_picker import short
from .run_job import Run

SHOWN = 5  # sentences that did not find their passage
TALL = 400  # pixels of the table, at most
NOT_KEPT = "not kept"
QUIET = ("sha256", "k", "unit", "aggregate")  # of the settings: nobody chose them


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
        return " · ".join([*(str(part) for part in parts if part), time(self.of)])


def show(measure: str) -> None:
    """All runs of one measure, the newest first."""
    runs = {**kept_runs(), **{f"{NOT_KEPT} {at}": run for at, run in enumerate(run_job.lost())}}
    of_it = {name: run for name, run in reversed(runs.items()) if run.get("measure") == measure and sound(run)}
    st.subheader("Runs")
    if not of_it:
        st.caption("None of this kind yet. A run is kept until you delete it.")
        return
    rows = [Row(name, run, figures) for name, run in of_it.items() for figures in run["rows"]]
    flat = table(rows)
    st.dataframe(flat, hide_index=True, placeholder="", height=min(TALL, 40 + 35 * len(flat)), column_config={
        "time": st.column_config.TextColumn("time (UTC)"),
        **{name: st.column_config.NumberColumn(format=compare_runs.form(name, measure))
           for row in flat for name, value in row.items() if isinstance(value, float)},
    })  # fmt: skip
    if measure == "without labels":
        _missed(next(iter(of_it.values())))
    if len(rows) > 1:
        compare_runs.show(rows, measure)
    _downloads(of_it, flat, measure)
    _deleted(of_it)


def sound(run: Run) -> bool:
    """Whether it is as these pages write it: a file may be anybody's."""
    rows, how = run.get("rows"), run.get("settings")
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows) and isinstance(how, dict)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """A row each, all with the same columns; what a run did not measure is left empty, what none did is left out."""
    names = dict.fromkeys(name for row in rows for name in row.figures)
    indexes = any(row.of.get("index") for row in rows)
    found = []
    for row in rows:
        known = {"time": time(row.of)} | ({"index": row.of.get("index")} if indexes else {})
        known |= {"encoder": row.of.get("encoder")} | {name: row.figures.get(name) for name in names}
        found.append(known | {"how": settings(row.of)})
    return found


def settings(run: Run) -> str:
    """How it was measured, in a few words."""
    told = [f"{name} {value}" for name, value in run["settings"].items() if name not in QUIET]
    many = f"{run['documents']:,} documents" if isinstance(run.get("documents"), int) else ""
    return ", ".join([*told, *([many] if many else [])])


def time(run: Run) -> str:
    """When it ended, without the zone, which is UTC."""
    return str(run.get("time", ""))[:19].replace("T", " ")


def _missed(newest: Run) -> None:
    missed = newest.get("missed", {}).get("hybrid", [])
    if missed:
        with st.expander(f"{len(missed)} sentences that the newest run did not find among ten (hybrid)"):
            for text in missed[:SHOWN]:
                st.text(text)


def _downloads(runs: Mapping[str, Run], flat: Sequence[Mapping[str, Any]], measure: str) -> None:
    said = json.dumps({"schema": 1, "runs": list(runs.values())}, ensure_ascii=False, indent=1)
    name = f"runs-{measure.replace(' ', '-')}"
    row = st.container(horizontal=True, vertical_alignment="center")
    row.download_button("JSON", said, f"{name}.json", "application/json", icon=":material/download:")
    row.download_button("CSV", csv_export.table(flat, list(flat[0])), f"{name}.csv", "text/csv",
                        icon=":material/download:")  # fmt: skip


def _deleted(runs: Mapping[str, Run]) -> None:
    """Which runs are to go; they are gone only by a second click."""
    labels = {name: Row(name, run, {}).label for name, run in runs.items() if not name.startswith(NOT_KEPT)}
    with st.expander("Delete runs"):
        chosen = st.multiselect("Which", list(labels), format_func=lambda name: labels.get(name, ""),
                                key="runs to delete", placeholder="Choose runs")  # fmt: skip
        st.button(f"Delete {len(chosen)}" if chosen else "Delete", icon=":material/delete:", disabled=not chosen,
                  on_click=_remove, args=(tuple(chosen),), help="Their files are removed for good.")  # fmt: skip


def _remove(names: Sequence[str]) -> None:
    st.session_state["runs to delete"] = []
    for name in names:
        try:
            remove_run(name)
        except SemsearchError:  # somebody else was faster
            continue
        except OSError as error:
            jobs.refuse(f"A run could not be deleted: {error.strerror or error}.")
