"""Promises of strength: calibrated, monotonic, untouched by questions that the index answers, stable while it grows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.utils import strength
from semsearch.utils.quantities import rounded_down

COSINES = st.lists(st.floats(-1, 1), min_size=2, max_size=30)


def best_hits(n: int = 164, passages: int = 1000, seed: int = 0) -> list[np.ndarray]:
    """For each length of question, n maxima of so many cosines of unrelated texts."""
    rng = np.random.default_rng(seed)
    return [rng.normal(0.05, 0.08, (n, passages)).max(axis=1) for _ in strength.LENGTHS]


@pytest.mark.parametrize("words", [1, 2, 5, 8, 40])
def test_one_in_ten_unanswerable_questions_has_a_likely_hit_and_one_in_a_hundred_a_strong_one(words: int) -> None:
    questions = best_hits(n=2000)
    for best in questions:
        best[: len(best) // 5] = 0.8  # the index happens to answer a fifth
    null = strength.null_distribution(questions, 1000)
    (fresh, *_) = best_hits(n=4000, seed=1)
    found = null.strengths(fresh, words=words, passages=1000)
    assert np.mean(found >= strength.LIKELY) == pytest.approx(0.1, abs=0.04)
    assert np.mean(found >= strength.STRONG) < 0.03


@given(COSINES)
def test_strength_rises_with_the_cosine_within_0_and_1(cosines: list[float]) -> None:
    null = strength.null_distribution(best_hits(), 1000)
    found = null.strengths(np.sort(np.array(cosines)), words=4, passages=1000)
    assert ((found >= 0) & (found <= 1)).all() and (np.diff(found) >= 0).all()
    assert null.strengths(np.array([1.0]), words=4, passages=1000)[0] > strength.STRONG


def test_questions_that_the_index_answers_change_nothing_much() -> None:
    clean = best_hits()
    answered = [np.where(np.arange(len(part)) % 3 == 0, 0.8, part) for part in clean]
    cosine = np.array([np.quantile(clean[1], 0.97)])
    for best in (clean, answered):
        null = strength.null_distribution(best, 1000)
        assert null.strengths(cosine, words=8, passages=1000)[0] > 0.8


def test_an_index_that_has_doubled_since_is_judged_as_one_that_was_measured_anew() -> None:
    before = strength.null_distribution(best_hits(passages=1000), 1000)
    after = strength.null_distribution(best_hits(passages=2000), 2000)
    cosines = np.linspace(0.2, 0.6, 20)
    values = [null.strengths(cosines, words=8, passages=2000) for null in (before, after)]
    assert values[0] == pytest.approx(values[1], abs=0.12)


def test_an_index_whose_best_hits_are_all_alike_has_strengths() -> None:
    null = strength.null_distribution([np.zeros(10)] * 3, 1)
    lower, alike, higher = null.strengths(np.array([-0.1, 0.0, 0.5]), words=3, passages=1)
    assert lower < alike < strength.LIKELY < strength.STRONG < higher


@given(st.floats(0, 1))
def test_a_strength_on_screen_never_contradicts_its_word(value: float) -> None:
    for digits in (2, 4):
        shown = rounded_down(value, digits)
        assert shown <= value + 1e-9
        assert strength.match(shown) == strength.match(value) or value < shown + 2e-9


def test_a_hit_without_a_cosine_is_weak() -> None:
    assert strength.match(None) == "weak"
