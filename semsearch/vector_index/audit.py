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


def audit(searcher: VectorSearcher, *, sample: int = 200, k: int = 10) -> JsonObject:
    """Recall and speed of dense search against exact search. Call it inside a snapshot of the store.

    `sample` stored vectors are queries, each without itself; once among all, once among a random tenth. recall in
    0 … 1; ms: median of a query, one at a time. plan: that of the search.
    """
    ids, queries, tenth = _sample(searcher.source, sample)
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


def _sample(source: VectorSource, sample: int) -> tuple[Ids, Vectors, Ids]:
    """ids (m,) and vectors (m, d) of up to `sample` stored vectors, and the ids of a tenth of all, at random."""
    everything = np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in source.vectors())])
    random = np.random.default_rng(0)
    tenth = everything[random.random(len(everything)) < 0.1]
    chosen = np.sort(random.choice(everything, min(sample, len(everything)), replace=False))
    rows = _top.joined([_top.no_vectors(source.dim), *source.vectors(ids=chosen)])[1]
    return chosen, rows, tenth


def _timed(search: Callable[[Vectors], Found], queries: Vectors) -> tuple[Found, float]:
    """Search one query at a time: all hits, and the median in ms."""
    found, took = [], []
    for query in queries:
        began = time.perf_counter()
        found.append(search(query[None]))
        took.append((time.perf_counter() - began) * 1000)
    return _top.joined(found or [_top.nothing(0, 1)]), round(float(np.median(took or [0.0])), 3)


def _recall(own: Ids, found: Found, right: Found, k: int) -> float:
    """Share of the right k that was found. A hit counts if it reaches the k-th right cosine: texts may be equal."""
    hits = wanted = 0
    for id_, ids, scores, right_ids, right_scores in zip(own, *found, *right, strict=True):
        others = right_scores[(right_ids != id_) & (right_ids >= 0)][:k]
        wanted += len(others)
        if len(others):
            hits += min(len(others), int((scores[ids != id_] >= others[-1] - 1e-6).sum()))
    return round(hits / wanted, 4) if wanted else 1.0
