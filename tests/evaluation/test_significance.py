"""The randomisation test: exact where it can be, calibrated where it draws, and careful with several comparisons."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from semsearch.evaluation import compare_searches, paired_difference, randomisation_test
from semsearch.evaluation.significance import EXACT, holm


def by_hand(differences: list[float]) -> float:
    """The share of all exchanges whose sum is at least as far from 0."""
    sums = [sum(sign * one for sign, one in zip(signs, differences, strict=True))
            for signs in product((-1, 1), repeat=len(differences))]  # fmt: skip
    return sum(abs(one) >= abs(sum(differences)) - 1e-12 for one in sums) / len(sums)


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_few_differences_are_counted_exchange_by_exchange(count: int) -> None:
    rng = np.random.default_rng(count)
    scores, others = rng.random((2, count)).round(2).tolist()
    differences = [one - other for one, other in zip(scores, others, strict=True)]
    assert randomisation_test(scores, others) == pytest.approx(by_hand(differences))
    assert randomisation_test(others, scores) == randomisation_test(scores, others)
    same = [0.5] * 3  # queries without a difference change nothing
    assert randomisation_test(scores + same, others + same) == randomisation_test(scores, others)


def test_many_differences_are_drawn_and_come_close_to_the_count() -> None:
    rng = np.random.default_rng(3)
    differences = (rng.random(EXACT + 1) - 0.3).tolist()
    signs = np.arange(2 ** len(differences))[:, None] >> np.arange(len(differences)) & 1
    right = float((np.abs((2 * signs - 1) @ differences) >= abs(sum(differences))).mean())
    found = randomisation_test(differences, [0.0] * len(differences))
    assert 0.005 < right < 0.5
    assert found == pytest.approx(right, abs=0.01)
    assert randomisation_test(differences, [0.0] * len(differences)) == found  # the same seed


def test_equal_searches_are_seldom_called_different_and_a_value_is_never_zero() -> None:
    rng = np.random.default_rng(0)
    draws = [randomisation_test(*rng.normal(size=(2, 12)).tolist()) for _ in range(300)]
    assert sum(p < 0.05 for p in draws) <= 0.09 * len(draws)
    assert sum(p < 0.5 for p in draws) >= 0.4 * len(draws)  # it is not merely careful
    assert 0 < randomisation_test([1.0] * 200, [0.0] * 200) < 0.001
    assert randomisation_test([], []) == randomisation_test([0.3], [0.3]) == 1.0


def test_scores_of_different_queries_are_refused() -> None:
    with pytest.raises(ValueError):
        randomisation_test([1.0], [1.0, 0.0])


def test_several_comparisons_are_corrected_together() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_verdict_tells_a_difference_from_chance_and_from_too_few_queries() -> None:
    good, poor, mixed = [1.0] * 10, [0.2] * 10, [0.3, 0.1] * 5
    found = {(one.first, one.second): one for one in compare_searches({"good": good, "poor": poor, "mixed": mixed})}
    assert found["good", "poor"].verdict == "better" and found["good", "poor"].difference.better == 10
    assert found["poor", "mixed"].verdict == "unclear"
    assert found["good", "poor"].p == pytest.approx(3 * paired_difference(good, poor).p)
    assert [one.verdict for one in compare_searches({"poor": poor, "good": good})] == ["worse"]
    assert [one.verdict for one in compare_searches({"a": [1.0] * 5, "b": [0.0] * 5})] == ["too few"]
    assert compare_searches({"alone": good}) == []
