"""Cosines grouped by gold score, as in figure 3 of CoT-BERT.

Source: Zhang et al. 2023, https://arxiv.org/abs/2309.11143: cosines are scaled to 0 … 1. On the scale of STS, 0 … 5, a
group collects the scores nearest to a whole number; any other scale is divided into six even groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

WHOLE = range(6)  # STS: 0 … 5
STEPS = len(WHOLE) - 1


def scale_cosines(cosines: Sequence[float]) -> list[float]:
    """Cosines as 0 (the lowest) … 1 (the highest); 0 where all are the same.

    >>> scale_cosines([0.5, 0.75, 1.0])
    [0.0, 0.5, 1.0]
    """
    low, high = min(cosines), max(cosines)
    return [(cosine - low) / (high - low) if high > low else 0.0 for cosine in cosines]


def group_gold_scores(scores: Sequence[float]) -> list[float]:
    """The centre of the group of each score.

    >>> group_gold_scores([0.2, 2.5, 4.8]), group_gold_scores([0, 0.1, 0.95, 1])
    ([0.0, 3.0, 5.0], [0.0, 0.2, 1.0, 1.0])
    """
    low, high = min(scores), max(scores)
    if low >= WHOLE[0] and high <= WHOLE[-1] and high - low > 1:
        return [float(math.floor(score + 0.5)) for score in scores]
    step = (high - low) / STEPS or 1.0
    return [round(low + step * math.floor((score - low) / step + 0.5), 9) for score in scores]
