"""Saved runs: all of one measure in a table, two of them compared, downloads, and deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from semsearch import SemsearchError
from semsearch.evaluation import delete_run, list_runs
from semsearch.types import JsonObject

from ..shared import messages, runs, tables, widgets
from . import metric_job, run_comparison
from .run_comparison import Row

MOST_MISSED = 5  # sentences that did not find their passage
UNSAVED = "unsaved"


def show(measure: str) -> None:
    """All runs of one measure, the newest first."""
    unsaved = {f"{UNSAVED} {at}": run for at, run in enumerate(metric_job.unsaved())}
    every = reversed([*list_runs().items(), *unsaved.items()])
    found = {name: run for name, run in every if run.get("measure") == measure and runs.is_sound(run)}
    st.subheader("Runs")
    if not found:
        st.caption("There is no run of this kind yet. Runs are saved until you delete them.")
        return
    rows = [Row(name, run, figures) for name, run in found.items() for figures in run["rows"]]
    flat = table(rows)
    figures = {name for row in flat for name, value in row.items() if isinstance(value, float)}
    form = {name: st.column_config.NumberColumn(format=run_comparison.form(name, measure)) for name in figures}
    columns = {"time": st.column_config.TextColumn("time (UTC)"), **form}
    height = min(400, 40 + 35 * len(flat))
    st.dataframe(flat, hide_index=True, placeholder="", height=height, column_config=columns)
    if measure == "without labels":
        _missed(next(iter(found.values())))
    if len(rows) > 1:
        run_comparison.show(rows, measure)
    _downloads(found, flat, measure)
    _delete(found)


def table(rows: Sequence[Row]) -> list[JsonObject]:
    """The rows with the same columns; what a run did not measure is empty, what none did is left out."""
    names = dict.fromkeys(name for row in rows for name in row.figures)
    indexes = any(row.of.get("index") for row in rows)
    found = []
    for row in rows:
        place = {"index": row.of.get("index")} if indexes else {}
        figures = {name: row.figures.get(name) for name in names}
        about = {"time": runs.finished_at(row.of), **place, "encoder": row.of.get("encoder")}
        found.append({**about, **figures, "how": runs.describe_settings(row.of)})
    return found


def _missed(newest: JsonObject) -> None:
    missed = newest.get("missed", {}).get("hybrid", [])
    if missed:
        with st.expander(f"{len(missed)} sentences that the newest run did not find among ten hits (hybrid)"):
            for text in missed[:MOST_MISSED]:
                st.text(text)


def _downloads(found: Mapping[str, JsonObject], flat: Sequence[JsonObject], measure: str) -> None:
    name, row = f"runs-{measure.replace(' ', '-')}", widgets.row()
    write = lambda: tables.to_json({"schema": 1, "runs": list(found.values())})  # noqa: E731
    tables.download("JSON", f"{name}.json", write, place=row)
    tables.download("CSV", f"{name}.csv", lambda: tables.to_csv(flat, list(flat[0])), place=row)


def _delete(found: Mapping[str, JsonObject]) -> None:
    """Runs are chosen, and deleted by a second click."""
    labels = {name: Row(name, run, {}).label for name, run in found.items() if not name.startswith(UNSAVED)}
    with st.expander("Delete runs"):
        key = "runs to delete"
        chosen = st.multiselect(
            "Runs", list(labels), format_func=labels.__getitem__, key=key, placeholder="Choose runs"
        )
        label, hint = f"Delete {len(chosen)}" if chosen else "Delete", "Their files are deleted for good."
        widgets.button(label, "delete", _remove, (chosen,), hint=hint, off=not chosen)


def _remove(names: Sequence[str]) -> None:
    st.session_state["runs to delete"] = []
    for name in names:
        try:
            delete_run(name)
        except SemsearchError:  # another session was faster
            continue
        except OSError as error:
            messages.refuse(f"A run could not be deleted: {error.strerror or error}.")
