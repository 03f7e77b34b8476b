"""Near-duplicates of the points of the map, with the functions of the Python API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import semsearch

Floats: TypeAlias = NDArray[np.float32]
Codes: TypeAlias = NDArray[np.int64]
PAIRS = 200


def near(vectors: Floats, owners: Sequence[str], least: float = 0.95) -> tuple[list[tuple[int, int, float]], bool]:
    """Pairs of rows of different owners with a cosine of `least` or more, the closest first; whether there are more."""
    pairs = semsearch.paraphrase_mining(vectors, threshold=least, max_pairs=PAIRS + 1, groups=owners)
    return [(pair.first, pair.second, pair.score) for pair in pairs[:PAIRS]], len(pairs) > PAIRS
