"""The background of an encoder: its cosines of unrelated texts, to which strengths are relative.

For an encoder without one it is measured on first use, and cached by fingerprint.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.utils import calibration, user_cache

if TYPE_CHECKING:
    from semsearch.types import Vectors

FILE = Path(__file__).parents[1] / "models" / "assets" / "unrelated.txt"


def texts() -> list[str]:
    """Sentences of everyday life, each on another subject."""
    return FILE.read_text(encoding="utf-8").splitlines()


def background(fingerprint: str, encode: Callable[[Sequence[str]], Vectors]) -> tuple[float, ...]:
    """Ascending quantiles of the cosines of unrelated texts, for the encoder with this fingerprint."""
    name = f"backgrounds/{fingerprint}.json"
    with suppress(ValueError, TypeError):  # broken: measure again
        known = json.loads(user_cache.read(name) or b"[]")
        if len(known) == calibration.QUANTILES:
            return tuple(map(float, known))
    vectors = encode(texts())
    measured = calibration.null_distribution(vectors, np.arange(1, len(vectors) + 1))
    found = tuple(round(quantile, 5) for quantile in measured)
    user_cache.write(name, json.dumps(found).encode())
    return found
