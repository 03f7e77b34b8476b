"""Measurements of an encoder without an index: STS tasks, and the geometry of its space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from semsearch import Encoder, Progress
from semsearch.evaluation import pair_geometry, sts_task, text_geometry
from semsearch.types import JsonObject

from ..shared import jobs, runs
from ..shared.encoder_picker import short_name
from .metric_job import part

TITLES = {"stsb": "STS-B", "sickr": "SICK-R"}  # as tables write them; the others in capitals
WHOLE = 7  # tasks of which papers print the average
LABELS = {"effective_rank": "effective rank", "length_bias": "length bias"}
FIGURES = ("uniformity", "anisotropy", "effective_rank", "hubness", "length_bias")
ALIKE = "> 4.0"  # gold scores of the pairs in alignment (CoT-BERT)
Pairs = tuple[tuple[str, str], ...]


def of_tasks(name: str, tasks: Sequence[str], split: str, report: jobs.Report) -> JsonObject:
    """Spearman in percent on each task, over all its subsets, and their average, as in `semsearch sts --task`."""
    encoder = _load(name, report)
    found = {
        task: sts_task(task, encoder, split=split, progress=part(report, at, len(tasks)))
        for at, task in enumerate(tasks)
    }
    row: JsonObject = {
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
    return _run(encoder, name, "STS tasks", settings, row) | {"tasks": details}


def of_pairs(name: str, pairs: Pairs, gold: Sequence[float], source: str, report: jobs.Report) -> JsonObject:
    """The geometry of the texts of pairs, and the alignment of pairs that people found alike."""
    encoder = _load(name, report)
    found = pair_geometry(encoder, pairs, gold, progress=report)
    near, many = found.alignment[ALIKE]
    settings = {"source": source, "sha256": runs.digest([*pairs, *gold]), "alike": f"gold {ALIKE}", "alike pairs": many}
    row = {"texts": found.vectors, "alignment": _finite(near), **_named(found.figures)}
    return _run(encoder, name, "before and after", settings, row)


def of_texts(name: str, texts: Sequence[str], source: str, report: jobs.Report) -> JsonObject:
    """The geometry of texts; without pairs there is no alignment."""
    encoder = _load(name, report)
    found = text_geometry(encoder, texts, progress=report)
    row = {"texts": found.vectors, **_named(found.figures)}
    return _run(encoder, name, "before and after", {"source": source, "sha256": runs.digest(texts)}, row)


def _run(encoder: Encoder, name: str, measure: str, settings: JsonObject, row: JsonObject) -> JsonObject:
    """A run of an encoder alone: one row."""
    about = {"name": encoder.name, "fingerprint": encoder.fingerprint, "dim": encoder.dim}
    device = encoder.info.get("device")
    return runs.new(measure, short_name(name), settings, [row], **about, device=device)


def _load(name: str, report: jobs.Report) -> Encoder:
    report(Progress(0, 1, "texts", "loading"))
    return Encoder.load(name)


def _named(figures: Mapping[str, float]) -> dict[str, float | None]:
    return {LABELS.get(name, name): _finite(figures[name]) for name in FIGURES}


def _finite(value: float) -> float | None:
    return value if value == value and abs(value) != float("inf") else None
