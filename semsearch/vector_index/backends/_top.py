"""The k best of many: sorted, equal scores by id, padded with id -1 and score -inf."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from semsearch.utils.late_numpy import np
from semsearch.vector_index.backends._file import positions

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

BLOCK = 1 << 24  # scores at a time (64 MB of float32), so that memory does not grow with queries times vectors
SORTED = 128  # so few scores are sorted whole, of all queries at once: 504 over 2 vectors in 0.1 ms, not 8.5


def scan(ids: Ids, vectors: Vectors, queries: Vectors, k: int, allowed: Ids | None = None) -> tuple[Ids, Vectors]:
    """Compare vectors (n, d) of ascending ids (n,) with queries (q, d): the k best of each, (q, k) and (q, k)."""
    if allowed is not None:
        at = positions(ids, allowed)
        ids, vectors = ids[at], vectors[at]
    size = max(1, BLOCK // max(1, len(ids)))
    blocks = (best(ids, queries[at : at + size] @ vectors.T, k) for at in range(0, len(queries), size))
    return joined([nothing(0, k), *blocks])


def best(ids: Ids, scores: Vectors, k: int) -> tuple[Ids, Vectors]:
    """ids (n,) ascending and scores (q, n) -> the k best of each row, (q, k) and (q, k)."""
    queries, count = scores.shape
    top_ids, top_scores = nothing(queries, k)
    take = min(k, count)
    if take == 0:
        return top_ids, top_scores
    if count <= SORTED:
        order = np.argsort(-scores, axis=1, kind="stable")[:, :take]
        top_ids[:, :take], top_scores[:, :take] = ids[order], np.take_along_axis(scores, order, axis=1)
        return top_ids, top_scores
    for row, values in enumerate(scores):
        limit = np.partition(values, count - take)[count - take]
        candidates = np.flatnonzero(values >= limit)  # more than k where scores are equal: the lower ids win
        chosen = candidates[np.argsort(-values[candidates], kind="stable")[:take]]
        top_ids[row, :take], top_scores[row, :take] = ids[chosen], values[chosen]
    return top_ids, top_scores


def merge(parts: Sequence[tuple[Ids, Vectors]], k: int) -> tuple[Ids, Vectors]:
    """Several (ids (q, a), scores (q, a)), of any widths and orders -> the k best of each row."""
    ids = np.concatenate([part[0] for part in parts], axis=1)
    scores = np.concatenate([part[1] for part in parts], axis=1)
    order = np.lexsort((ids, -scores), axis=-1)[:, :k]
    top_ids, top_scores = nothing(len(ids), k)
    top_ids[:, : order.shape[1]] = np.take_along_axis(ids, order, axis=1)
    top_scores[:, : order.shape[1]] = np.take_along_axis(scores, order, axis=1)
    return top_ids, top_scores


def joined(parts: Iterable[tuple[Ids, Vectors]]) -> tuple[Ids, Vectors]:
    """Pairs of arrays, one below the other. At least one pair."""
    first, second = zip(*parts, strict=True)
    return np.concatenate(first), np.concatenate(second)


def no_vectors(dim: int) -> tuple[Ids, Vectors]:
    """No stored vectors: ids (0,), vectors (0, dim)."""
    return np.empty(0, dtype=np.int64), np.empty((0, dim), dtype=np.float32)


def nothing(queries: int, k: int) -> tuple[Ids, Vectors]:
    """No hits: ids (q, k) of -1, scores (q, k) of -inf."""
    return np.full((queries, k), -1, dtype=np.int64), np.full((queries, k), -np.inf, dtype=np.float32)
