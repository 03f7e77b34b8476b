"""Clusters of passages by k-means, and near-duplicates; deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Codes: TypeAlias = NDArray[np.int64]
ROUNDS = 30
PAIRS = 200
CELLS = 8_000_000  # cosines at a time


def clusters(vectors: Floats, k: int) -> Codes:
    """(n, d) unit rows -> (n,) the cluster of each, the largest is 0. Spherical k-means (Dhillon, Modha 2001).

    Starts are spread by k-means++ (Arthur, Vassilvitskii 2007), with a fixed seed. At most k clusters, none empty.
    """
    if not len(vectors):
        return np.empty(0, np.int64)
    centres, codes = _spread(vectors, k), np.full(len(vectors), -1, np.int64)
    for _ in range(ROUNDS):
        found = np.argmax(vectors @ centres.T, axis=1)
        if np.array_equal(found, codes):
            break
        codes = found
        for one in np.unique(codes):
            mean = vectors[codes == one].sum(axis=0)
            centres[one] = mean / (np.linalg.norm(mean) or 1)
    _, places, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    ranks = np.argsort(np.argsort(-sizes, kind="stable"))
    return ranks[places].astype(np.int64)


def _spread(vectors: Floats, k: int) -> Floats:
    random = np.random.default_rng(0)
    chosen = [int(random.integers(len(vectors)))]
    away = 1 - vectors @ vectors[chosen[0]]
    while len(chosen) < k:
        weight = np.clip(away, 0, None).astype(np.float64) ** 2
        if weight.sum() < 1e-9:  # all that is left equals a centre
            break
        chosen.append(int(random.choice(len(vectors), p=weight / weight.sum())))
        away = np.minimum(away, 1 - vectors @ vectors[chosen[-1]])
    return vectors[chosen].copy()


def near(vectors: Floats, owners: Sequence[str], least: float = 0.95) -> tuple[list[tuple[int, int, float]], bool]:
    """Pairs of rows of different owners with a cosine above `least`, the closest first; whether there are more.

    Blocks of rows against all that follow: the memory is that of one block.
    """
    _, owner = np.unique(np.array(owners, dtype=object), return_inverse=True)
    best: list[tuple[float, int, int]] = []
    more, block = False, max(1, CELLS // max(1, len(vectors)))
    for at in range(0, len(vectors), block):
        rest = vectors[at:]
        cosines = (rest[:block] @ rest.T).ravel()
        found = np.flatnonzero(cosines > least)
        first, second = np.divmod(found, len(rest))
        apart = (second > first) & (owner[first + at] != owner[second + at])
        found, first, second = found[apart], first[apart] + at, second[apart] + at
        closest = np.argsort(-cosines[found], kind="stable")[:PAIRS]
        more, found = more or len(found) > PAIRS, found[closest]
        best += zip((-cosines[found]).tolist(), first[closest].tolist(), second[closest].tolist(), strict=True)
        best.sort()
        more, best = more or len(best) > PAIRS, best[:PAIRS]
    return [(first, second, min(1.0, -minus)) for minus, first, second in best], more
