"""What a cosine means in this index: 0 … 1, with 0.5 where one in a thousand unrelated pairs would still get.

A cosine of 0.4 is a strong match for one encoder and noise for another, so it is read against a background: the
cosines of random pairs of passages from different documents.

    knee     = 2 median - q(0.001)                        kept within q(0.9) … q(0.999)
    cosine <= knee:   strength = P(cosine) / P(knee) / 2               P, q: percentile, quantile of the background
    cosine >  knee:   strength = 1 - (d / d(knee))^3 / 2               d = 1 - cosine, the distance

Random pairs of one collection are not all unrelated: those that share a subject make the upper tail long, the more so
the narrower the collection is. The lower tail has none of them, and unrelated pairs are as likely to be far above the
median as below; so the knee mirrors it. Above the knee a percentile would read 1.000 for every good match, so the
distance that is left to an exact copy (cosine 1, strength 1) goes on. The parts meet at 0.5; the whole never falls.

Measured with all-MiniLM-L6-v2 on 900 passages each of SciFact, Cranfield and CACM; a query is rejected when its best
strength is below 0.5. Queries of the other two collections and of everyday life: 95 to 100 % rejected. Own queries: 8,
20 and 8 % (some of them have no good answer). A knee at q(0.999) rejected 49, 72 and 83 % of the own queries. On 34
single sentences of everyday life 84 to 94 % of the foreign queries were rejected: a hint to a person, not a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids, Vectors

STEPS = 1000  # quantiles are kept for p = 0, 0.001 … 1
PAIRS = 20_000  # q(0.001) then rests on 20 pairs
POWER = 3  # leaves 0.5 about as steeply as unrelated pairs thin out there; 0.71 reads 0.95 where the knee is 0.37
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
    curve = _curve(tuple(background))
    share = np.interp(given, *curve.rising) / curve.share
    left_over = np.clip((1 - given) / max(1 - curve.knee, 1e-6), 0, 1)
    return np.asarray(np.where(given > curve.knee, 1 - left_over**POWER / 2, np.clip(share, 0, 1) / 2))


def threshold(background: Sequence[float], passages: int = STEPS) -> float:
    """The strength that the best of `passages` unrelated passages passes in one search of two: below it, no good match.

    The more passages, the higher chance gets: the best of n stays under c with probability P(cosine < c)^n, which is
    one half at p = 0.5^(1/n). Up to a thousand passages that is the knee; from there on the tail is that of a normal
    distribution through the 1st and the 0.1st percentile, mirrored. Checked with real texts at 900 passages only.
    """
    return _threshold(tuple(background), passages)


@dataclass(frozen=True, slots=True)
class _Curve:
    """A background as `of` needs it: where it bends, what share of pairs lies below that, (cosines, shares)."""

    knee: float
    share: float
    rising: tuple[NDArray[np.float64], NDArray[np.float64]]


@lru_cache(maxsize=16)  # the background of an index changes when it has grown by a fifth; it is read for every query
def _curve(background: tuple[float, ...]) -> _Curve:
    quantiles = np.asarray(background, dtype=np.float64)
    knee, rising = _knee(quantiles), _rising(quantiles)
    return _Curve(knee, max(float(np.interp(knee, *rising)), 1e-6), rising)


@lru_cache(maxsize=16)
def _threshold(background: tuple[float, ...], passages: int) -> float:
    quantiles = np.asarray(background, dtype=np.float64)
    one_in_thousand = _NORMAL.inv_cdf(0.999)
    spread = (_quantile(quantiles, 0.01) - _quantile(quantiles, 0.001)) / (one_in_thousand - _NORMAL.inv_cdf(0.99))
    beyond = max(0.0, _NORMAL.inv_cdf(0.5 ** (1 / max(2, passages))) - one_in_thousand) if passages > STEPS else 0.0
    reached = min(1.0, _knee(quantiles) + spread * beyond)
    return float(of(np.array([reached]), background)[0])


def _knee(quantiles: NDArray[np.float64]) -> float:
    """The cosine that one in a thousand unrelated pairs still gets."""
    mirrored = 2 * _quantile(quantiles, 0.5) - _quantile(quantiles, 0.001)
    return float(np.clip(mirrored, _quantile(quantiles, 0.9), _quantile(quantiles, 0.999)))


def _quantile(quantiles: NDArray[np.float64], p: float) -> float:
    return float(np.interp(p, np.linspace(0, 1, len(quantiles)), quantiles))


def _rising(quantiles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct cosines and the highest percentile of each: np.interp wants its x to rise."""
    last = np.flatnonzero(np.append(np.diff(quantiles) > 0, True))
    return quantiles[last], last / max(1, len(quantiles) - 1)


def _pairs(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of both sides of random pairs of n rows; all pairs where they are few."""
    if n * (n - 1) // 2 <= PAIRS:
        return np.triu_indices(n, k=1)
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, PAIRS)
    return left, (left + rng.integers(1, n, PAIRS)) % n  # never with itself
