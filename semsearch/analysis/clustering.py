"""Clusters of vectors: communities of at least some size around a centre, or k clusters that cover all.

Deterministic, and in the memory of one block of cosines. Communities are those of `community_detection` in
sentence-transformers (Reimers and Gurevych): each vector with all that are close to it is a candidate; the largest is
first, and its members are taken from the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semsearch.analysis import closest_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

ROUNDS = 30  # of k-means


def communities(vectors: Vectors, threshold: float, least: int) -> list[list[int]]:
    """Rows of unit vectors (n, d) in clusters of at least `least` with a cosine of at least `threshold` to a centre.

    The largest first; in each the centre first and the others by their cosine with it. Not every row is in one. Two
    passes over all pairs, O(n² d).
    """
    counts = np.zeros(len(vectors), np.int64)
    for start, cosines in closest_pairs.blocks(vectors):
        close, end = cosines >= threshold, start + len(cosines)
        counts[start:end] += close.sum(axis=1)
        counts[end:] += close[:, len(cosines) :].sum(axis=0)
    centres = np.argsort(-counts, kind="stable")[: int((counts >= least).sum())]
    free, groups = np.ones(len(vectors), np.bool_), []
    while len(centres):
        columns = np.flatnonzero(free)
        size = max(1, closest_pairs.CELLS // max(1, len(columns)))
        for cosines in vectors[centres[:size]] @ vectors[columns].T:
            members = np.flatnonzero((cosines >= threshold) & free[columns])
            if len(members) >= least:
                nearest = columns[members[np.argsort(-cosines[members], kind="stable")]]
                groups.append(nearest.tolist())
                free[nearest] = False
        centres = centres[size:]
    return sorted(groups, key=len, reverse=True)


def k_means(vectors: Vectors, k: int) -> list[list[int]]:
    """Rows of unit vectors (n, d) in at most k clusters, none empty. Spherical k-means (Dhillon, Modha 2001).

    Starts are spread by k-means++ (Arthur, Vassilvitskii 2007), with a fixed seed. The largest cluster first; in each
    the rows by their cosine with its mean. O(n k d) for each of at most 30 rounds.
    """
    if not len(vectors):
        return []
    centres, codes = _spread(vectors, k), np.full(len(vectors), -1, np.int64)
    for _ in range(ROUNDS):
        assigned = np.argmax(vectors @ centres.T, axis=1)
        if np.array_equal(assigned, codes):
            break
        codes = assigned
        for one in np.unique(codes):
            mean = vectors[codes == one].sum(axis=0)
            centres[one] = mean / (np.linalg.norm(mean) or 1)
    clusters = [_by_cosine(vectors, np.flatnonzero(codes == one), centres[one]) for one in np.unique(codes)]
    return sorted(clusters, key=len, reverse=True)


def _by_cosine(vectors: Vectors, rows: NDArray[np.int64], centre: Vectors) -> list[int]:
    nearest: list[int] = rows[np.argsort(-(vectors[rows] @ centre), kind="stable")].tolist()
    return nearest


def _spread(vectors: Vectors, k: int) -> Vectors:
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
