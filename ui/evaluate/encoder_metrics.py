"""What the page Evaluate measures of encoders alone, without an index: STS tasks, and the space before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from semsearch import Encoder, Progress
from semsearch.evaluation import pair_geometry, sts_task, text_geometry

from ..shared import jobs
from ..shared.encoder_picker import short
from ..shared.runs import digest
from .metric_job import Run, part

TITLES = {"stsb": "STS-B", "sickr": "SICK-R"}  # as tables write them; the others in capitals
WHOLE = 7  # tasks of which papers print the average
CALLED = {"effective_rank": "effective rank", "length_bias": "length bias"}
FIGURES = ("uniformity", "anisotropy", "effective_rank", "hubness", "length_bias")
ALIKE = "> 4.0"  # CoT-BERT's threshold of alignment
Pairs = tuple[tuple[str, str], ...]


def of_tasks(name: str, tasks: Sequence[str], split: str, told: jobs.Told) -> Run:
    """Spearman in percent of each task, all its subsets joined, and their average: `semsearch sts --task`."""
    encoder = _loaded(name, told)
    found = {
        task: sts_task(task, encoder, split=split, progress=part(told, at, len(tasks))) for at, task in enumerate(tasks)
    }
    row: dict[str, Any] = {
        TITLES.get(task, task.upper()): _finite(round(one.spearman.all, 2)) for task, one in found.items()
    }
    if len(row) > 1 and None not in row.values():
        row["Avg." if len(row) == WHOLE else f"Avg. of {len(row)}"] = round(sum(row.values()) / len(row), 2)
    details = {
        task: {
            "spearman": {way: _finite(getattr(one.spearman, way)) for way in ("all", "mean", "wmean")},
            "pearson": {way: _finite(getattr(one.pearson, way)) for way in ("all", "mean", "wmean")},
            "subsets": {key: [_finite(each) for each in both] for key, both in one.subsets.items()},
            "pairs": one.pairs,
        }
        for task, one in found.items()
    }
    settings = {"split": split, "aggregate": "all", "unit": "Spearman, percent"}
    return run(encoder, name, "STS tasks", settings, row) | {"tasks": details}


def of_pairs(name: str, pairs: Pairs, gold: Sequence[float], source: str, told: jobs.Told) -> Run:
    """The space of the texts of pairs, and how near the pairs are that people found alike."""
    encoder = _loaded(name, told)
    found = pair_geometry(encoder, pairs, gold, progress=told)
    near, many = found.alignment[ALIKE]
    settings = {"source": source, "sha256": digest([*pairs, *gold]), "alike": f"gold {ALIKE}", "alike pairs": many}
    row = {"texts": found.vectors, "alignment": _finite(near), **_named(found.figures)}
    return run(encoder, name, "before and after", settings, row)


def of_texts(name: str, texts: Sequence[str], source: str, told: jobs.Told) -> Run:
    """The space of texts; without pairs there is no alignment."""
    encoder = _loaded(name, told)
    found = text_geometry(encoder, texts, progress=told)
    row = {"texts": found.vectors, **_named(found.figures)}
    return run(encoder, name, "before and after", {"source": source, "sha256": digest(texts)}, row)


def run(encoder: Encoder, asked: str, measure: str, settings: Mapping[str, Any], row: Mapping[str, Any]) -> Run:
    """A run of an encoder alone: one row."""
    return {
        "schema": 1, "measure": measure, "encoder": short(asked), "name": encoder.name,
        "fingerprint": encoder.fingerprint, "dim": encoder.dim, "device": encoder.info.get("device"),
        "time": datetime.now(UTC).isoformat(timespec="seconds"), "settings": dict(settings), "rows": [dict(row)],
    }  # fmt: skip


def _loaded(name: str, told: jobs.Told) -> Encoder:
    told(Progress(0, 1, "texts", "loading"))
    return Encoder.load(name)


def _named(figures: Mapping[str, float]) -> dict[str, float | None]:
    return {CALLED.get(name, name): _finite(figures[name]) for name in FIGURES}


def _finite(value: float) -> float | None:
    return value if value == value and abs(value) != float("inf") else None
