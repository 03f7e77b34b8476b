"""How often passages have a term, out of PostgreSQL's ts_rank: to read the positions takes thirty times as long.

For one term whose positions all weigh 1, ts_rank is the sum of 1/i² for i = 1 … n, divided by its limit π²/6, in single
precision (calc_rank_or in src/backend/utils/adt/tsrank.c, the same since PostgreSQL 8.3). So n follows from it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

WEIGHTS = "'{1,1,1,1}'"
MOST = 256  # positions that a tsvector has of one term
LIMIT = 1.64493406685  # as PostgreSQL writes π²/6
TOLERANCE = 1e-6  # the ranks of 255 and 256 occurrences are 9e-6 apart


def counts(ranks: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """(n,) ranks -> (n,) occurrences; None where a rank is none that this formula gives."""
    ladder = _ranks()
    at = np.searchsorted((ladder[1:] + ladder[:-1]) / 2, ranks)
    return at + 1 if np.abs(ladder[at] - ranks).max(initial=0.0) < TOLERANCE else None


@cache
def _ranks() -> NDArray[np.float64]:
    """The ranks of 1 … MOST occurrences, rounded as PostgreSQL rounds."""
    one = np.float32(1)
    sums = np.cumsum(one / np.arange(1, MOST + 1, dtype=np.float32) ** 2, dtype=np.float32)
    return ((one + sums - one).astype(np.float64) / LIMIT).astype(np.float32).astype(np.float64)
