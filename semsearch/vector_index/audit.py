"""Audit of a vector index: how much of the exact answer it finds, and how fast, on the index's own vectors."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from semsearch.types import JsonObject
from semsearch.vector_index.backends import _top
from semsearch.vector_index.searcher import VectorSearcher, VectorSource

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

    Found = tuple[Ids, Vectors]

EXACT_TIMED = 3  # queries whose exact search is timed; each reads every vector


def audit(searcher: VectorSearcher, *, sample: int = 200, k: int = 10, seed: int = 0) -> JsonObject:
    """Recall and speed of dense search against exact search. Call it inside a snapshot of the store.

    `sample` stored vectors are queries, each without itself; once among all, once among a random tenth. recall in
    0 … 1; ms: median of a query, one at a time. plan: how they were found.
    """
    ids, queries, tenth = _sample(searcher.source, sample, seed)
    _, _, plan, warnings = searcher.search(queries[:1], k + 1)  # opens the cache, outside the timing
    right, right_tenth = (searcher.exact(queries, k + 1, among) for among in (None, tenth))
    found, ms = _timed(lambda query: searcher.search(query, k + 1)[:2], queries)
    _, ms_exact = _timed(lambda query: searcher.search(query, k + 1, exact=True)[:2], queries[:EXACT_TIMED])
    found_tenth = searcher.approximate(queries, k + 1, tenth)[:2]
    return {
        "queries": len(ids),
        "k": k,
        "recall": _recall(ids, found, right, k),
        "recall_filtered": _recall(ids, found_tenth, right_tenth, k),
        "ms": ms,
        "ms_exact": ms_exact,
        "plan": {**plan, "warnings": list(warnings)},
    }


def _sample(source: VectorSource, sample: int, seed: int) -> tuple[Ids, Vectors, Ids]:
    """ids (m,) and vectors (m, d) of up to `sample` stored vectors, and the ids of a tenth of all, at random."""
    everything = np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in source.vectors())])
    random = np.random.default_rng(seed)
    tenth = everything[random.random(len(everything)) < 0.1]
    chosen = np.sort(random.choice(everything, min(sample, len(everything)), replace=False))
    rows = [np.empty((0, source.dim), np.float32), *(part for _, part in source.vectors(ids=chosen))]
    return chosen, np.concatenate(rows), tenth


def _timed(search: Callable[[Vectors], Found], queries: Vectors) -> tuple[Found, float]:
    """Search one query at a time: everything found, and the median in ms."""
    parts, took = [_top.nothing(0, 1)], [0.0] if not len(queries) else []
    for query in queries:
        began = time.perf_counter()
        parts.append(search(query[None]))
        took.append((time.perf_counter() - began) * 1000)
    found = parts[1:] or parts
    joined = np.concatenate([ids for ids, _ in found]), np.concatenate([scores for _, scores in found])
    return joined, round(float(np.median(took)), 3)


def _recall(own: Ids, found: Found, right: Found, k: int) -> float:
    """Share of the right k that was found. A hit counts that reaches the k-th right cosine: equal texts are equal."""
    hits = wanted = 0
    for id_, ids, scores, right_ids, right_scores in zip(own, *found, *right, strict=True):
        others = right_scores[(right_ids != id_) & (right_ids >= 0)][:k]
        wanted += len(others)
        if len(others):
            hits += min(len(others), int((scores[ids != id_] >= others[-1] - 1e-6).sum()))
    return round(hits / wanted, 4) if wanted else 1.0
