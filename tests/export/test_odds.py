"""Temperature and offset are found again from pairs that were drawn with them."""

from __future__ import annotations

import numpy as np
import pytest

from semsearch.errors import UsageError
from semsearch.export.rerankers import fit_odds
from semsearch.models.rerankers.manifest import Calibration


@pytest.mark.parametrize(("temperature", "offset"), [(1.0, 0.0), (2.5, -4.0), (0.2, 30.0)])
def test_what_the_labels_were_drawn_with_is_found_again(temperature: float, offset: float) -> None:
    rng = np.random.default_rng(5)
    logits = offset + temperature * rng.normal(0, 3, 20_000)
    chances = Calibration(temperature, offset).scores(logits)
    found = fit_odds(logits, rng.random(len(logits)) < chances)
    assert found == (pytest.approx(temperature, rel=0.05), pytest.approx(offset, abs=0.15 * temperature))
    assert np.abs(Calibration(*found).scores(logits) - chances).max() < 0.03


def test_the_mean_chance_is_the_share_that_is_right() -> None:
    logits = np.array([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0] * 50)
    right = np.array([False, False, True, False, True, True] * 50)
    assert Calibration(*fit_odds(logits, right)).scores(logits).mean() == pytest.approx(right.mean(), abs=0.01)


def test_classes_that_do_not_overlap_give_finite_numbers() -> None:
    temperature, offset = fit_odds(np.array([-1.0, -2.0, 3.0, 4.0]), np.array([False, False, True, True]))
    assert 0 < temperature < 10
    assert -1 < offset < 3


@pytest.mark.parametrize(
    ("logits", "right", "message"),
    [([1.0, 2.0], [True, True], "both kinds"), ([1.0, 2.0, 3.0, 4.0], [True, True, False, False], "less often right")],
)
def test_what_cannot_be_calibrated_is_refused(logits: list[float], right: list[bool], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fit_odds(np.array(logits), np.array(right))
