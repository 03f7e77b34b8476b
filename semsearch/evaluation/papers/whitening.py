"""Whitening: a linear map after which the vectors vary equally in every direction.

Source: Su et al. 2021, BERT-whitening, https://arxiv.org/abs/2103.15316: with mean mu and covariance (n - 1) of the
vectors and its singular values U S U', y = (x - mu) U S^(-1/2), or only its first k components. No epsilon is added to
S, so more texts than dimensions are needed.

The output of a layer norm lies in a plane: one direction never varies, and its component would be rounding divided by
rounding. Directions that do not vary are left out. (The paper averages two layers, so that all directions vary.)

`power` is not the paper's: S^(-power/2) whitens in part, and 1 is the paper. Below 1 every direction is used, since
none is amplified without bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import UsageError

NO_VARIANCE = 1e-10  # of the largest variance: 20 times the spread from float32 rounding in a network


@dataclass(frozen=True, slots=True)
class WhiteningMap:
    """Vectors (n, d) -> (vectors - mean) @ kernel, (n, k). `varying`: the number of directions in which they varied."""

    mean: NDArray[np.float64]
    kernel: NDArray[np.float64]
    varying: int

    def __call__(self, vectors: NDArray[np.floating]) -> NDArray[np.float64]:
        return np.asarray((vectors - self.mean) @ self.kernel)


class Moments:
    """Mean and covariance of vectors that arrive in parts, in (d, d) memory however many texts there are."""

    def __init__(self) -> None:
        self.count = 0
        self.mean: NDArray[np.float64] = np.zeros(0)
        self._scatter: NDArray[np.float64] = np.zeros((0, 0))  # the sum of (x - mean)(x - mean)'

    def add(self, vectors: NDArray[np.floating]) -> None:
        """Add (n, d) vectors by Chan et al. 1983, which takes no difference of large sums."""
        if not len(vectors):
            return
        part = np.asarray(vectors, dtype=np.float64)
        mean, total = part.mean(axis=0), self.count + len(part)
        centred = part - mean
        if not self.count:
            self.mean, self._scatter = np.zeros_like(mean), np.zeros((len(mean), len(mean)))
        shift = mean - self.mean
        self._scatter += centred.T @ centred + np.outer(shift, shift) * (self.count * len(part) / total)
        self.mean = self.mean + shift * (len(part) / total)
        self.count = total

    @property
    def covariance(self) -> NDArray[np.float64]:
        """(d, d), divided by n - 1."""
        return self._scatter / (self.count - 1)


def fit(parts: Iterable[NDArray[np.floating]], dim: int | None = None, power: float = 1.0) -> WhiteningMap:
    """The whitening of vectors that arrive in parts (n, d), to `dim` components.

    Raises UsageError if there are no more vectors than dimensions, if they vary in fewer than `dim`, and for a `power`
    that is not above 0 and at most 1.
    """
    if not 0 < power <= 1:
        raise UsageError(f"the power of whitening must be above 0 and at most 1, not {power}.")
    moments = Moments()
    for part in parts:
        moments.add(part)
    width = len(moments.mean)
    if moments.count <= max(width, 1):
        problem = f"whitening vectors of {width} dimensions needs more than {width} texts, not {moments.count}."
        raise UsageError(problem, "Use more texts: some thousands are better than a few hundred.")
    directions, variances, _ = np.linalg.svd(moments.covariance)
    varying = int((variances > NO_VARIANCE * variances[0]).sum())
    if not varying or (dim or 0) > varying:
        effect = f", so {dim} components are too many" if dim else ""
        fix = f"Choose {varying} or fewer, or use other texts." if varying else "Use texts that differ."
        raise UsageError(f"the vectors of these texts vary in {varying} of {width} directions{effect}.", fix)
    components = dim or (varying if power == 1 else width)
    spread = np.maximum(variances[:components], NO_VARIANCE * variances[0])
    return WhiteningMap(moments.mean, directions[:, :components] / spread ** (power / 2), varying)
