"""Similarity of two texts in 0 … 1, from their cosine: one in a thousand unrelated pairs reaches 0.5 or more.

A cosine of 0.4 is a strong match for one encoder and noise for another. So that of two texts is compared with the
encoder's background: the cosines of random pairs of unrelated texts. For an encoder without one it is measured on first
use, and cached by fingerprint. The strength of a hit is another, see `semsearch.utils.strength`.

    knee     = 2 median - q(0.001)                        clipped to q(0.9) … q(0.999)
    cosine <= knee:   strength = P(cosine) / P(knee) / 2        P, q: percentile, quantile of the background
    cosine >  knee:   strength = 1 - (d / d(knee))^3 / 2        d = 1 - cosine, the distance

Random pairs of one collection are not all unrelated: those on the same subject make the upper tail long, the more so
the narrower the collection is. The lower tail has none of them, and unrelated pairs are as often far above the median
as far below it; so the knee mirrors the lower tail. Above the knee, where the percentile of every good match is about
1, the distance to an exact copy (cosine 1, strength 1) decides. Both parts are 0.5 at the knee, and neither decreases.

Measured with all-MiniLM-L6-v2 on 900 passages each of SciFact, Cranfield and CACM; a query is rejected when its best
strength is below 0.5. Queries of the other two collections and of everyday life: 95 to 100 % rejected. Own queries: 8,
20 and 8 % (some of them have no good answer). A knee at q(0.999) rejected 49, 72 and 83 % of the own queries. On 34
single sentences of everyday life 84 to 94 % of the foreign queries were rejected: a hint to a person, not a verdict.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.utils import user_cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

UNRELATED = Path(__file__).parents[1] / "models" / "assets" / "unrelated.txt"
QUANTILES = 1001  # for p = 0, 0.001 … 1
PAIRS = 20_000  # so that 20 pairs determine q(0.001)
POWER = 3  # as steep at 0.5 as unrelated pairs thin out; a cosine of 0.71 gives 0.95 where the knee is 0.37


def unrelated_texts() -> list[str]:
    """Sentences of everyday life, each on another subject."""
    return UNRELATED.read_text(encoding="utf-8").splitlines()


def background(fingerprint: str, encode: Callable[[Sequence[str]], Vectors]) -> tuple[float, ...]:
    """Ascending quantiles of the cosines of unrelated texts, for the encoder with this fingerprint."""
    name = f"backgrounds/{fingerprint}.json"
    with suppress(ValueError, TypeError):  # broken: measure again
        cached = json.loads(user_cache.read(name) or b"[]")
        if len(cached) == QUANTILES:
            return tuple(map(float, cached))
    measured = cosine_quantiles(encode(unrelated_texts()))
    user_cache.write(name, json.dumps(measured).encode())
    return measured


def cosine_quantiles(vectors: Vectors, seed: int = 0) -> tuple[float, ...]:
    """1001 ascending quantiles of the cosines of random pairs of n texts, from their unit rows (n, d).

    At most 20,000 pairs; the same input and seed give the same pairs. () for fewer than two texts.
    """
    if len(vectors) < 2:
        return ()
    left, right = _pairs(len(vectors), seed)
    cosines = np.einsum("nd,nd->n", vectors[left], vectors[right]).astype(np.float64)
    return tuple(round(each, 5) for each in np.quantile(cosines, np.linspace(0, 1, QUANTILES)).tolist())


def calibrate(cosines: NDArray[np.floating], background: Sequence[float]) -> NDArray[np.float64]:
    """The strength of each cosine, (n,) -> (n,) in 0 … 1: increasing with the cosine, 1 for a copy of the query."""
    cosines = np.asarray(cosines, dtype=np.float64)
    curve = _curve(tuple(background))
    below = np.clip(np.interp(cosines, *curve.rising) / curve.share, 0, 1)
    distance = np.clip((1 - cosines) / max(1 - curve.knee, 1e-6), 0, 1)
    return np.asarray(np.where(cosines > curve.knee, 1 - distance**POWER / 2, below / 2))


@dataclass(frozen=True, slots=True)
class _Curve:
    """A background as `calibrate` needs it: the knee, the share of pairs below it, and (cosines, shares)."""

    knee: float
    share: float
    rising: tuple[NDArray[np.float64], NDArray[np.float64]]


@lru_cache(maxsize=16)  # needed for every query, and changed only when an index has grown by a fifth
def _curve(background: tuple[float, ...]) -> _Curve:
    quantiles = np.asarray(background, dtype=np.float64)
    knee, rising = _knee(quantiles), _rising(quantiles)
    return _Curve(knee, max(float(np.interp(knee, *rising)), 1e-6), rising)


def _knee(quantiles: NDArray[np.float64]) -> float:
    """The cosine that one in a thousand unrelated pairs reaches."""
    mirrored = 2 * _quantile(quantiles, 0.5) - _quantile(quantiles, 0.001)
    return float(np.clip(mirrored, _quantile(quantiles, 0.9), _quantile(quantiles, 0.999)))


def _quantile(quantiles: NDArray[np.float64], p: float) -> float:
    return float(np.interp(p, np.linspace(0, 1, len(quantiles)), quantiles))


def _rising(quantiles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distinct cosines and the highest percentile of each: np.interp needs increasing x."""
    last = np.flatnonzero(np.append(np.diff(quantiles) > 0, True))
    return quantiles[last], last / max(1, len(quantiles) - 1)


def _pairs(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The indices (m,), (m,) of random pairs of n rows; of all pairs where there are at most 20,000."""
    if n * (n - 1) // 2 <= PAIRS:
        return np.triu_indices(n, k=1)
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, PAIRS)
    return left, (left + rng.integers(1, n, PAIRS)) % n  # never a row with itself
