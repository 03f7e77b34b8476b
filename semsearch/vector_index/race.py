"""A race of the vector indexes on stored vectors: time to build, size, recall and speed, one after the other.

Each is built as for a search: candidates come from it, and the stored vectors order them. The queries are stored
vectors, each without itself.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.utils import plugins
from semsearch.vector_index import backends, planner
from semsearch.vector_index.backends import _top

if TYPE_CHECKING:
    from semsearch.types import Chunks, Ids, VectorIndex, Vectors

    Stored = Callable[[Ids], Iterator[tuple[Ids, Vectors]]]

WHOLE = ("exact", "flat")  # these have every vector in memory, as float32
FILTER = 0.05  # of all vectors pass the filter that is measured


@dataclass(frozen=True)
class BackendFigures:
    """A vector index: recall of the k nearest in 0 … 1, median ms of a query, and the same with a filter of 5 %.

    `problem`: why it was not measured.
    """

    backend: str
    spec: str = ""
    build_s: float = 0.0
    bytes_per_vector: float = 0.0
    recall: float = 0.0
    query_ms: float = 0.0
    filtered_recall: float = 0.0
    filtered_ms: float = 0.0
    problem: str = ""


@dataclass(frozen=True)
class Trial:
    """What is raced over: `chunks` of `count` vectors of width `dim`, and queries (q, d), the passages `own` (q,).

    `stored` reads vectors by id.
    """

    dim: int
    count: int
    chunks: Chunks
    stored: Stored
    own: Ids
    queries: Vectors
    k: int

    def nearest(self, query: Vectors, ids: Ids) -> tuple[Ids, Vectors]:
        """The k + 1 best of `ids` by their stored vectors, best first, and their cosines."""
        near_ids, rows = _top.joined([_top.no_vectors(self.dim), *self.stored(ids)])
        cosines = rows @ query
        best = np.argsort(-cosines, kind="stable")[: self.k + 1]
        return near_ids[best], cosines[best]


def race(trial: Trial, report: Callable[[str], None]) -> list[BackendFigures]:
    """Every vector index of this installation, in the order of their names."""
    everything = np.concatenate([ids for ids, _ in trial.chunks()])
    passing = everything[np.random.default_rng(1).random(len(everything)) < FILTER]
    passing.flags.writeable = False  # as in a search: what a backend derives from it is kept for the next query
    right = [_exact(trial, allowed) for allowed in (None, passing)]
    figures = []
    for name in plugins.names(backends):
        report(f"building {name}")
        figures.append(_measured(trial, name, passing, right))
    return figures


def fastest(figures: Sequence[BackendFigures], recall: float) -> str | None:
    """The one with the lowest time of a query among those that reach `recall`, with the filter too; None for none."""
    able = [row for row in figures if not row.problem and min(row.recall, row.filtered_recall) >= recall]
    return min(able, key=lambda row: row.query_ms).backend if able else None


def _measured(trial: Trial, name: str, passing: Ids, right: Sequence[Sequence[float]]) -> BackendFigures:
    whole, memory = trial.count * (4 * trial.dim + 8), planner.allowed_memory()
    if name in WHOLE and memory is not None and whole > memory:
        return BackendFigures(name, problem=f"it needs {whole / 1e9:.1f} GB of the {memory / 1e9:.1f} GB allowed")
    began = time.perf_counter()
    built: VectorIndex = plugins.load(backends, name).Backend.build(trial.dim, trial.chunks, count=trial.count)
    took = time.perf_counter() - began
    plain, filtered = (
        _asked(trial, built, allowed, least) for allowed, least in zip((None, passing), right, strict=True)
    )
    return BackendFigures(name, built.spec, round(took, 2), round(_size(built) / trial.count, 1), *plain, *filtered)


def _size(built: VectorIndex) -> int:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index"
        built.save(file)
        return file.stat().st_size


def _asked(trial: Trial, built: VectorIndex, allowed: Ids | None, least: Sequence[float]) -> tuple[float, float]:
    """Recall, and the median of a query in ms, one at a time. least: the k-th right cosine of each query."""
    built.search(trial.queries[:1], trial.k, allowed)
    hits, expected, took = 0, 0, []
    for own, query, worst in zip(trial.own.tolist(), trial.queries, least, strict=True):
        began = time.perf_counter()
        candidates = built.search(query[None], built.candidates(trial.k + 1), allowed)[0][0]
        ids, cosines = trial.nearest(query, candidates[candidates >= 0])
        took.append((time.perf_counter() - began) * 1000)
        others = min(trial.k, (trial.count if allowed is None else len(allowed)) - (allowed is None or own in allowed))
        hits += min(others, int((cosines[ids != own] >= worst - 1e-6).sum()))
        expected += others
    return round(hits / expected, 4) if expected else 1.0, round(float(np.median(took or [0.0])), 3)


def _exact(trial: Trial, allowed: Ids | None) -> list[float]:
    """The k-th best cosine of each query among the others, by comparing every vector."""
    nearest = _top.nothing(len(trial.queries), trial.k + 1)
    for ids, rows in trial.chunks() if allowed is None else trial.stored(allowed):
        nearest = _top.merge([nearest, _top.best(ids, trial.queries @ rows.T, trial.k + 1)], trial.k + 1)
    others = [
        cosines[(ids != own) & (ids >= 0)][: trial.k] for own, ids, cosines in zip(trial.own, *nearest, strict=True)
    ]
    return [float(each[-1]) if len(each) else 1.0 for each in others]
