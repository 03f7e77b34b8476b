"""Several runs side by side: how far each is, its best score, and the settings in which they differ."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from semsearch.training import TrainingRun, compare_settings
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import tables

SETTING = "setting"


def show(runs: Mapping[str, TrainingRun], states: Mapping[str, str]) -> None:
    """A table of the runs, and one of their settings."""
    tables.show(results(runs, states), {"run": tables.MEDIUM, "measure": tables.MEDIUM})
    compared = compare_settings(list(runs.values()))
    differ = [each for each in compared if each.differs]
    st.caption(f"{count(len(differ), 'setting')} in which they differ" if differ else "Their settings are the same.")
    every = st.toggle("All settings", key="train.all", disabled=len(differ) == len(compared))
    rows: list[JsonObject] = [
        {SETTING: each.name, **dict(zip(runs, each.values, strict=True))} for each in (compared if every else differ)
    ]
    if rows:
        tables.show(rows, {SETTING: tables.NAME})
        tables.downloads("runs", {"runs": results(runs, states), "settings": rows}, rows)


def results(runs: Mapping[str, TrainingRun], states: Mapping[str, str]) -> list[JsonObject]:
    """A row for each run, the best score first; those without a score last."""
    rows: list[JsonObject] = []
    for name, run in runs.items():
        step, score = run.best or (None, None)
        loss = run.losses[-1][1] if run.losses else None
        rows.append(
            {
                "run": name,
                "state": states[name],
                "best score": None if score is None else round(score, 2),
                "at step": step,
                "step": run.step,
                "of": run.steps,
                "loss": None if loss is None else round(loss, 4),
                "seconds": round(run.moment.seconds) or None,
                "measure": run.measure,
            }
        )
    return sorted(rows, key=lambda row: (row["best score"] is None, -(row["best score"] or 0.0)))
