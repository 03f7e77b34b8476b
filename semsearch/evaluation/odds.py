"""Logistic regression on one number: the temperature and the offset that make a chance of a model's logit.

Source: Platt 1999, "Probabilistic Outputs for Support Vector Machines", with his targets, which keep the fit finite
where the classes do not overlap; Newton's method as in Lin, Lin, Weng 2007.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import UsageError

STEPS = 100
DONE = 1e-10
RIDGE = 1e-12


def fit_odds(logits: NDArray[np.floating], yes: NDArray[np.bool_]) -> tuple[float, float]:
    """(temperature, offset) for sigmoid((logit - offset) / temperature), the chance that a pair is one of `yes`.

    logits (n,) and yes (n,). Raises UsageError where one of the classes is missing, or a higher logit says less.
    """
    scores, wanted = np.asarray(logits, dtype=np.float64), np.asarray(yes, dtype=bool)
    positive, negative = int(wanted.sum()), int((~wanted).sum())
    if not positive or not negative:
        raise UsageError(f"a calibration needs pairs of both kinds, and there are {positive} and {negative}.")
    target = np.where(wanted, (positive + 1) / (positive + 2), 1 / (negative + 2))
    centre, scale = float(scores.mean()), float(scores.std()) or 1.0
    features = np.stack([(scores - centre) / scale, np.ones_like(scores)], axis=1)
    weights = np.array([0.0, np.log((positive + 1) / (negative + 1))])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-features @ weights))
        gradient = features.T @ (chance - target)
        curvature = (features * (chance * (1 - chance))[:, None]).T @ features + RIDGE * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if float(np.abs(step).max()) < DONE:
            break
    slope, intercept = float(weights[0]) / scale, float(weights[1])
    if slope <= 0:
        raise UsageError("pairs with a higher logit are less often right: this model cannot be calibrated.")
    return 1 / slope, centre - intercept / slope
