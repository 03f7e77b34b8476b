"""Tolerances that follow from the arithmetic: a CPU may add up in another order, and no CPU calculates exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

EPSILON = float(np.finfo(np.float32).eps)  # 1.2e-7: what one operation in float32 may be off, relative to its result
ROUNDING = 256 * EPSILON  # 3e-5: a network of a few layers, run in two ways
UNIT = 16 * EPSILON  # 2e-6: the length of a unit vector, or a cosine of two, of some hundred entries


def error(found: Any, wanted: Any) -> float:
    """The largest difference of an entry of two arrays (..., d), relative to the longest row of `wanted`."""
    found, wanted = (each.detach().numpy() if hasattr(each, "detach") else each for each in (found, wanted))
    longest = np.linalg.norm(np.atleast_2d(wanted), axis=-1).max(initial=0)
    return float(np.abs(found - wanted).max(initial=0) / (longest or 1))
