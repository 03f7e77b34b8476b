"""Measurements of an encoder without an index: STS tasks, and the geometry of its space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from semsearch import Encoder, Progress
from semsearch.evaluation import EmbeddingGeometry, pair_geometry, sts_task, text_geometry
from semsearch.types import JsonObject

from ..shared import runs
from ..shared.encoder_picker import short_name
from ..shared.work import jobs

TITLES = {"stsb": "STS-B", "sickr": "SICK-R"}  # as tables write them; the others in capitals
DETAILS = ("spearman", "pearson", "subsets", "pairs")  # of a task, saved with the run
WHOLE = 7  # tasks of which papers print the average
ALIKE = "> 4.0"  # gold scores of the pairs in alignment (CoT-BERT)
Pairs = Sequence[tuple[str, str]]


def of_tasks(name: str, tasks: Sequence[str], split: str, report: jobs.Report) -> JsonObject:
    """Spearman in percent on each task, over all its subsets, and their average, as in `semsearch sts --task`."""
    encoder = _load(name, report)
    results = [
        sts_task(task, encoder, split=split, progress=jobs.part(report, at, len(tasks)))
        for at, task in enumerate(tasks)
    ]
    row = {TITLES.get(one.task, one.task.upper()): round(one.spearman.all, 2) for one in results}
    if len(row) > 1:
        row["Avg." if len(row) == WHOLE else f"Avg. of {len(row)}"] = round(sum(row.values()) / len(row), 2)
    tasks_found = {one.task: {name: asdict(one)[name] for name in DETAILS} for one in results}
    settings = {"split": split, "aggregate": "all", "unit": "Spearman, percent"}
    return _run(encoder, name, "STS tasks", settings, row, tasks=tasks_found)


def of_pairs(name: str, pairs: Pairs, gold: Sequence[float], source: str, report: jobs.Report) -> JsonObject:
    """The geometry of the texts of pairs, and the alignment of pairs that people rated as similar."""
    encoder = _load(name, report)
    geometry = pair_geometry(encoder, pairs, gold, progress=report)
    near, many = geometry.alignment[ALIKE]
    settings = {"source": source, "sha256": runs.digest([*pairs, *gold]), "alike": f"gold {ALIKE}", "alike pairs": many}
    row = {"texts": geometry.vectors, "alignment": near, **figures(geometry)}
    return _run(encoder, name, "before and after", settings, row)


def of_texts(name: str, texts: Sequence[str], source: str, report: jobs.Report) -> JsonObject:
    """The geometry of texts; without pairs there is no alignment."""
    encoder = _load(name, report)
    geometry = text_geometry(encoder, texts, progress=report)
    settings = {"source": source, "sha256": runs.digest(texts)}
    return _run(encoder, name, "before and after", settings, {"texts": geometry.vectors, **figures(geometry)})


def figures(geometry: EmbeddingGeometry) -> JsonObject:
    """The figures of a geometry under the names of the table."""
    return {name.replace("_", " "): value for name, value in geometry.figures.items() if name != "anisotropy_with_self"}


def _run(
    encoder: Encoder, name: str, measure: str, settings: JsonObject, row: JsonObject, **more: object
) -> JsonObject:
    """A run of an encoder alone: one row."""
    about = {"name": encoder.name, "fingerprint": encoder.fingerprint, "dim": encoder.dim}
    device = encoder.info.get("device")
    return runs.new(measure, short_name(name), settings, [row], **about, device=device, **more)


def _load(name: str, report: jobs.Report) -> Encoder:
    report(Progress(0, 1, "texts", "loading"))
    return Encoder.load(name)
