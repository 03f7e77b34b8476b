"""Settings of several runs side by side: which of them differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from semsearch.training.runs import TrainingRun

IGNORED = ("versions", "threads", "micro", "fingerprint", "serves", "rows_sha256")  # of no interest to a person
PARTS = {"recipe": "", "options": "", "base.name": "base", "examples.source": "data", "examples.count": "examples"}


@dataclass(frozen=True, slots=True)
class RunDifference:
    """One setting in each of several runs, None where a run has none, and whether the runs differ in it."""

    name: str
    values: tuple[str | None, ...]
    differs: bool


def compare_settings(runs: Sequence[TrainingRun]) -> list[RunDifference]:
    """The settings of the runs side by side: those in which they differ first, each by its name.

    >>> from pathlib import Path
    >>> one, other = (TrainingRun(Path("x"), "done", {"seed": seed, "recipe": {"batch": 8}}, ()) for seed in (0, 1))
    >>> [(each.name, each.values, each.differs) for each in compare_settings([one, other])]
    [('seed', ('0', '1'), True), ('batch', ('8', '8'), False)]
    """
    flat = [dict(_flat(run.settings)) for run in runs]
    names = dict.fromkeys(name for each in flat for name in each)
    found = [
        RunDifference(name, values := tuple(each.get(name) for each in flat), len(set(values)) > 1) for name in names
    ]
    return sorted(found, key=lambda each: (not each.differs, each.name))


def _flat(settings: Mapping[str, Any], within: str = "") -> list[tuple[str, str]]:
    """Names and values in words; of parts that are settings themselves, those of each."""
    found: list[tuple[str, str]] = []
    for key, value in settings.items():
        if key in IGNORED:
            continue
        name = PARTS.get(f"{within}{key}", f"{within}{key}")
        if isinstance(value, Mapping):
            found += _flat(value, f"{name}." if name else "")
        else:
            found.append((name, _written(value)))
    return found


def _written(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(_written, value)) if isinstance(value, list) else str(value)
