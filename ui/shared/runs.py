"""Runs of an evaluation: saved, listed and described, with a digest of their texts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import streamlit as st

from semsearch.evaluation import list_runs, save_run
from semsearch.types import JsonObject

HIDDEN = ("sha256", "k", "unit", "aggregate")  # settings that are no choice of the user
UNSAVED = "unsaved"  # in the names of runs that could not be saved


def new(measure: str, encoder: object, settings: JsonObject, rows: Sequence[JsonObject], **about: object) -> JsonObject:
    """A run that has just ended, to be saved. NaN and the infinities, which JSON has not, become None."""
    time = datetime.now(UTC).isoformat(timespec="seconds")
    run = {"schema": 1, "measure": measure, "encoder": encoder, **about, "time": time}
    return {name: _finite(value) for name, value in (run | {"settings": settings, "rows": rows}).items()}


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def save(run: JsonObject) -> str:
    """Save a run. Returns why it could not be saved, else ""; it is then listed until the server ends."""
    try:
        save_run(run)
    except OSError as error:
        _unsaved().append(run)
        return f"the run is shown, but could not be saved: {error.strerror or error}."
    return ""


@st.cache_resource(show_spinner=False)
def _unsaved() -> list[JsonObject]:
    return []


def newest_first(measure: str) -> dict[str, JsonObject]:
    """The runs of a measure by name, without files of another shape than these pages write."""
    every = list_runs() | {f"{UNSAVED} {at}": run for at, run in enumerate(_unsaved())}
    return {name: run for name, run in reversed(every.items()) if run.get("measure") == measure and _is_sound(run)}


def _is_sound(run: JsonObject) -> bool:
    rows, settings = run.get("rows"), run.get("settings")
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows) and isinstance(settings, dict)


def describe_settings(run: JsonObject) -> str:
    """The settings of a run in a few words."""
    parts = [f"{name} {value}" for name, value in run["settings"].items() if name not in HIDDEN]
    documents = run.get("documents")
    return ", ".join([*parts, *([f"{documents:,} documents"] if isinstance(documents, int) else [])])


def finished_at(run: JsonObject) -> str:
    """The time of its end in UTC, without the zone."""
    return str(run.get("time", ""))[:19].replace("T", " ")


def digest(parts: Sequence[object]) -> str:
    """16 hexadecimal digits of SHA-256 over texts and numbers."""
    return hashlib.sha256(repr(list(parts)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
