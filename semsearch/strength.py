"""What a cosine means in this index: 0 … 1, with 0.5 where one in a thousand unrelated pairs still gets.

A cosine of 0.4 is a strong match for one encoder and noise for another, so it is read against a background: the
cosines of random pairs of passages from different documents.

    cosine <= q(0.999):   strength = percentile / 2                     how many unrelated pairs lie below, halved
    cosine >  q(0.999):   strength = 1 - (d / d(0.999))^3 / 2           d = 1 - cosine, the distance

The lower half is the plain percentile. A percentile alone would read 1.000 for every good match, since no background
of a few thousand pairs says anything about 0.7 against 0.9; there the distance that is left to an exact copy (cosine 1,
strength 1) goes on. Both halves meet at 0.5, and the whole never falls. The power 3 makes the curve leave 0.5 steeply,
about as fast as unrelated pairs thin out there.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids, Vectors

STEPS = 1000  # quantiles are kept for p = 0, 0.001 … 1
KNEE = 0.999  # the highest percentile that 20,000 pairs still measure well: 20 lie above it
POWER = 3
PAIRS = 20_000
NO_GOOD_MATCH = 0.5  # what the best of a thousand unrelated passages reaches: below it a hit is no better than chance
_NORMAL = NormalDist()


def background(vectors: Vectors, documents: Ids, seed: int = 0) -> tuple[float, ...]:
    """1001 ascending quantiles of the cosine of random pairs of different documents.

    vectors (n, d) are unit rows and documents (n,) names the document of each. At most 20,000 pairs, fewer where n
    passages make fewer; the same input and seed give the same pairs. Empty where there are not two documents.
    """
    owners = np.asarray(documents)
    left, right = _pairs(len(vectors), seed)
    apart = owners[left] != owners[right]
    if not apart.any():
        return ()
    cosines = np.einsum("nd,nd->n", vectors[left[apart]], vectors[right[apart]]).astype(np.float64)
    return tuple(np.quantile(cosines, np.linspace(0, 1, STEPS + 1)).tolist())


def of(cosines: NDArray[np.floating], background: Sequence[float]) -> NDArray[np.float64]:
    """Strength of each cosine, (n,) -> (n,) in 0 … 1: never falling with the cosine, 1 for a copy of the query."""
    given = np.asarray(cosines, dtype=np.float64)
    quantiles = np.asarray(background, dtype=np.float64)
    knee = _quantile(quantiles, KNEE)
    percentile = np.interp(given, *_rising(quantiles)) / KNEE
    left_over = np.clip((1 - given) / max(1 - knee, 1e-6), 0, 1)
    return np.asarray(np.where(given > knee, 1 - left_over**POWER / 2, np.clip(percentile, 0, 1) / 2))


def threshold(background: Sequence[float], passages: int = STEPS) -> float:
    """The strength that the best of `passages` unrelated passages passes in one search of two: below it, no good match.

    The more passages, the higher chance alone gets: the best of n stays under c with probability P(cosine < c)^n,
    which is one half at p = 0.5^(1/n). Beyond the measured background the upper tail goes on like that of a normal
    distribution through its 99th and 99.9th percentile. Never under NO_GOOD_MATCH.
    """
    quantiles = np.asarray(background, dtype=np.float64)
    p = 0.5 ** (1 / max(1, passages))
    reached = _quantile(quantiles, p) if p <= KNEE else _tail(quantiles, p)
    return max(NO_GOOD_MATCH, float(of(np.array([reached]), background)[0]))


def _tail(quantiles: NDArray[np.float64], p: float) -> float:
    near, far = _quantile(quantiles, 0.99), _quantile(quantiles, KNEE)
    near_z, far_z, z = (_NORMAL.inv_cdf(share) for share in (0.99, KNEE, min(p, 1 - 1e-12)))
    return min(1.0, far + (far - near) * (z - far_z) / (far_z - near_z))


def _quantile(quantiles: NDArray[np.float64], p: float) -> float:
    return float(np.interp(p, np.linspace(0, 1, len(quantiles)), quantiles))


def _rising(quantiles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct cosines and the highest percentile of each: np.interp wants its x to rise."""
    cosines, last = np.unique(quantiles[::-1], return_index=True)
    return cosines, 1 - last / max(1, len(quantiles) - 1)


def _pairs(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of both sides of random pairs of n rows; all pairs where they are few."""
    if n * (n - 1) // 2 <= PAIRS:
        return np.triu_indices(n, k=1)
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, PAIRS)
    return left, (left + rng.integers(1, n, PAIRS)) % n  # never with itself
