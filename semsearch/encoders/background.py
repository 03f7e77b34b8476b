"""What an encoder makes of texts that have nothing to do with each other: the background that strength is read against.

Measured once for an encoder that brings none, when somebody asks, and kept by its fingerprint.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.utils import calibration, user_cache

if TYPE_CHECKING:
    from semsearch.types import Vectors

FILE = Path(__file__).parents[1] / "models" / "assets" / "unrelated.txt"
DIGITS = 5


def texts() -> list[str]:
    """Sentences of everyday life, no two of one subject."""
    return FILE.read_text(encoding="utf-8").splitlines()


def background(fingerprint: str, encode: Callable[[Sequence[str]], Vectors]) -> tuple[float, ...]:
    """Ascending quantiles of the cosines of unrelated texts, under the encoder of this fingerprint."""
    name = f"backgrounds/{fingerprint}.json"
    try:
        known = json.loads(user_cache.read(name) or b"[]")
        if len(known) == calibration.QUANTILES:
            return tuple(map(float, known))
    except (ValueError, TypeError):  # broken: it is measured anew
        pass
    vectors = encode(texts())
    measured = calibration.null_distribution(vectors, np.arange(1, len(vectors) + 1))
    found = tuple(round(quantile, DIGITS) for quantile in measured)
    user_cache.write(name, json.dumps(found).encode())
    return found
