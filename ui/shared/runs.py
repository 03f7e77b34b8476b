"""Saved runs of an evaluation: making and describing them; digests that distinguish sets of texts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

from semsearch.types import JsonObject

UNNAMED = ("sha256", "k", "unit", "aggregate")  # settings that are no choice of the user


def new(measure: str, encoder: object, settings: JsonObject, rows: Sequence[JsonObject], **about: object) -> JsonObject:
    """A run that has just ended, to be saved."""
    time = datetime.now(UTC).isoformat(timespec="seconds")
    run = {"schema": 1, "measure": measure, "encoder": encoder, **about, "time": time}
    return run | {"settings": settings, "rows": list(rows)}


def is_sound(run: JsonObject) -> bool:
    """Whether it has the shape that these pages write: the file may come from elsewhere."""
    rows, settings = run.get("rows"), run.get("settings")
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows) and isinstance(settings, dict)


def describe_settings(run: JsonObject) -> str:
    """The settings of a run in a few words."""
    parts = [f"{name} {value}" for name, value in run["settings"].items() if name not in UNNAMED]
    documents = run.get("documents")
    return ", ".join([*parts, *([f"{documents:,} documents"] if isinstance(documents, int) else [])])


def finished_at(run: JsonObject) -> str:
    """The time of its end in UTC, without the zone."""
    return str(run.get("time", ""))[:19].replace("T", " ")


def digest(parts: Sequence[object]) -> str:
    """16 hexadecimal digits of SHA-256 over texts and numbers."""
    return hashlib.sha256(repr(list(parts)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
