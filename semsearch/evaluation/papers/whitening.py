"""Whitening: a linear map under which no direction of the vectors varies more than another.

Source: Su et al. 2021, BERT-whitening, https://arxiv.org/abs/2103.15316: with mean mu and covariance (n - 1) of the
vectors and its singular values U S U', y = (x - mu) U S^(-1/2), of which the first k numbers may be kept. No epsilon is
added to S, so there have to be more texts than dimensions.

What comes out of a layer norm lies in a plane: one direction never varies, and its number would be rounding divided by
rounding. Directions that do not vary are left out. (The paper averages two layers, which fills them.)

`power` is not the paper's: S^(-power/2) evens the directions out in part, and 1 is the paper. Below 1 every direction
stays, since none is blown up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

STILL = 1e-10  # of the largest variance: 20 times the spread that a network's float32 rounding gave


@dataclass(frozen=True, slots=True)
class Whitening:
    """Vectors (n, d) -> (vectors - mean) @ kernel, (n, k); mean (d,) and kernel (d, k) in float64.

    `varying`: in how many directions the vectors varied.
    """

    mean: NDArray[np.float64]
    kernel: NDArray[np.float64]
    varying: int

    def __call__(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray((vectors - self.mean) @ self.kernel)


class Moments:
    """Mean and covariance of vectors that come in parts: memory holds (d, d) numbers, however many texts there are."""

    def __init__(self) -> None:
        self.count = 0
        self.mean: NDArray[np.float64] = np.zeros(0)
        self._spread: NDArray[np.float64] = np.zeros((0, 0))  # the sum of (x - mean)(x - mean)'

    def add(self, vectors: NDArray[Any]) -> None:
        """Some more: (n, d). Chan et al. 1983: no difference of large sums is taken."""
        if not len(vectors):
            return
        part = np.asarray(vectors, dtype=np.float64)
        middle, both = part.mean(axis=0), self.count + len(part)
        centred = part - middle
        if not self.count:
            self.mean, self._spread = np.zeros_like(middle), np.zeros((len(middle), len(middle)))
        apart = middle - self.mean
        self._spread += centred.T @ centred + np.outer(apart, apart) * (self.count * len(part) / both)
        self.mean = self.mean + apart * (len(part) / both)
        self.count = both

    @property
    def covariance(self) -> NDArray[np.float64]:
        """(d, d), divided by n - 1."""
        return self._spread / (self.count - 1)


def fit(vectors: Iterable[NDArray[Any]] | Moments, dim: int | None = None, power: float = 1.0) -> Whitening:
    """The whitening of vectors that come in parts (n, d), or of their moments; of what it gives, the first `dim`.

    Raises UsageError where there are no more vectors than dimensions, where they vary in fewer than `dim`, or for a
    `power` that is not above 0 and at most 1.
    """
    if not 0 < power <= 1:
        raise UsageError(f"vectors cannot be whitened to the power {power}.", "It has to be above 0, and at most 1.")
    moments = vectors if isinstance(vectors, Moments) else _moments(vectors)
    width = len(moments.mean)
    if moments.count <= max(width, 1):
        raise UsageError(
            f"whitening a vector of {width} numbers needs more than {width} texts, and {moments.count} were given.",
            "Give more texts: some thousands are better than a few hundred.",
        )
    directions, variances, _ = np.linalg.svd(moments.covariance)
    varying = int((variances > STILL * variances[0]).sum())
    if not varying or (dim or 0) > varying:
        wanted = f", and {dim} were to be kept" if dim else ""
        raise UsageError(
            f"the vectors of these texts vary in {varying} of {width} directions{wanted}.",
            f"Keep {varying} or fewer, or give other texts." if varying else "Give texts that differ.",
        )
    kept = dim or (varying if power == 1 else width)
    spread = np.maximum(variances[:kept], STILL * variances[0])
    return Whitening(moments.mean, directions[:, :kept] / spread ** (power / 2), varying)


def _moments(parts: Iterable[NDArray[Any]]) -> Moments:
    moments = Moments()
    for part in parts:
        moments.add(part)
    return moments
