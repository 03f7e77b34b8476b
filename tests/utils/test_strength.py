"""Promises of strength: calibrated, monotonic, untouched by questions that the index answers, stable while it grows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.utils import strength
from semsearch.utils.quantities import rounded_down
from semsearch.utils.strength import NullDistribution

COSINES = st.lists(st.floats(-1, 1), min_size=2, max_size=30)


TOKENS = np.array([[4, 12]])


def cosines_of(questions: int = 300, passages: int = 1000, seed: int = 0) -> np.ndarray:
    """The cosines (questions, 2, hits) of the best hits by meaning among so many unrelated texts."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(0.05, 0.08, (2 * questions, passages)).astype(np.float32)
    return np.sort(drawn, axis=1)[:, -3:].reshape(questions, 2, 3)


def measured(cosines: np.ndarray, passages: int = 1000, language: str = "en", by: float = 0.0) -> NullDistribution:
    """As an index is measured; `by`: how much higher its questions in this language reach."""
    return NullDistribution((strength.null(language, TOKENS, cosines + by, np.zeros_like(cosines)),), passages)


def strengths(null: NullDistribution, cosines: np.ndarray, passages: int = 1000, tokens: int = 8) -> np.ndarray:
    return null.strengths(cosines, np.zeros_like(cosines), tokens=tokens, passages=passages)


@pytest.mark.parametrize("tokens", [1, 4, 8, 60])
def test_one_in_ten_unanswerable_questions_has_a_likely_hit_and_one_in_a_hundred_a_strong_one(tokens: int) -> None:
    questions = cosines_of(2000)
    questions[: len(questions) // 5] = 0.8  # the index happens to answer a fifth
    fresh = cosines_of(2000, seed=1)[..., -1].ravel()
    reached = strengths(measured(questions), fresh, tokens=tokens)
    assert np.mean(reached >= strength.LIKELY) == pytest.approx(0.1, abs=0.04)
    assert np.mean(reached >= strength.STRONG) < 0.03


@given(COSINES, COSINES)
def test_strength_rises_with_the_cosine_and_with_the_words_within_0_and_1(
    first: list[float], words: list[float]
) -> None:
    null = measured(cosines_of(50))
    cosines, coverage = np.sort(np.array(first)), np.sort(np.abs(words))
    for values in (
        strengths(null, cosines),
        null.strengths(np.full(len(coverage), 0.3), coverage, tokens=8, passages=1000),
    ):
        assert ((values >= 0) & (values <= 1)).all() and (np.diff(values) >= 0).all()
    assert strengths(null, np.array([1.0]))[0] > strength.STRONG


def test_questions_that_the_index_answers_change_nothing_much() -> None:
    clean, answered = cosines_of(), cosines_of()
    answered[::3] = 0.8
    cosine = np.array([np.quantile(clean[..., -1], 0.97)])
    for cosines in (clean, answered):
        assert strengths(measured(cosines), cosine)[0] > 0.8


def test_a_collection_near_to_all_subjects_of_one_group_spreads_nothing() -> None:
    near = cosines_of()
    near[::2] += 0.1  # a collection on daily life
    even, apart = (measured(cosines).nulls[0].cosine for cosines in (cosines_of(), near))
    assert apart[-1] == pytest.approx(even[-1], rel=0.02)
    assert np.subtract(apart[:2], even[:2]) == pytest.approx([0.05, 0.05], abs=0.005)


def test_words_that_unanswerable_questions_share_with_passages_too_are_no_evidence() -> None:
    cosines = cosines_of()
    usual = NullDistribution((strength.null("en", TOKENS, cosines, np.full_like(cosines, 0.5)),), 1000)
    rare = measured(cosines)
    values = [each.strengths(np.array([0.3]), np.array([0.5]), tokens=8, passages=1000)[0] for each in (usual, rare)]
    assert values[0] < strength.LIKELY < values[1]


def test_an_index_that_has_doubled_since_is_judged_as_one_that_was_measured_anew() -> None:
    before, after = measured(cosines_of(passages=1000), 1000), measured(cosines_of(passages=2000), 2000)
    cosines = np.linspace(0.2, 0.6, 20)
    assert strengths(before, cosines, 2000) == pytest.approx(strengths(after, cosines, 2000), abs=0.12)


def test_a_dozen_notes_are_judged_as_sixty_passages() -> None:
    few, sixty = (measured(cosines_of(3000, passages), passages) for passages in (12, 60))
    cosines = np.linspace(0.1, 0.5, 20)
    assert strengths(few, cosines, 12) == pytest.approx(strengths(sixty, cosines, 60), abs=0.15)


def test_each_language_has_a_measure_of_its_own_and_in_doubt_the_most_cautious_counts() -> None:
    english, german = measured(cosines_of()), measured(cosines_of(), language="de", by=0.2)
    both = english.joined(german)
    cosine, words = np.array([0.5]), np.zeros(1)
    apart = [both.strengths(cosine, words, tokens=8, passages=1000, languages=(each,)) for each in ("en", "de")]
    assert both.languages == ("en", "de") and apart[0] > strength.STRONG > apart[1]
    for doubt in ((), ("en", "de")):
        assert both.strengths(cosine, words, tokens=8, passages=1000, languages=doubt) == apart[1]


def test_what_a_store_has_recorded_is_what_was_measured() -> None:
    null = measured(cosines_of()).joined(measured(cosines_of(seed=2), language="zh"))
    assert NullDistribution.recorded(null.numbers, null.passages) == null


@pytest.mark.parametrize("numbers", [(), (0.1,) * 303, (0.1,) * 8])
def test_what_another_version_has_recorded_is_measured_anew(numbers: tuple[float, ...]) -> None:
    assert NullDistribution.recorded(numbers, 10) is None


def test_what_was_measured_in_chinese_while_any_passage_covered_a_query_is_measured_anew() -> None:
    null = measured(cosines_of()).joined(measured(cosines_of(seed=2), language="zh"))
    older = list(null.numbers)
    older[strength.ROW] = float(int.from_bytes(b"zh"))
    recorded = NullDistribution.recorded(older, null.passages)
    assert recorded is not None and recorded.languages == ("en",)


def test_an_index_whose_best_hits_are_all_alike_has_strengths() -> None:
    null = measured(np.zeros((10, 2, 1)), 1)
    lower, alike, higher = strengths(null, np.array([-0.1, 0.0, 0.5]), 1)
    assert lower < alike < strength.LIKELY < strength.STRONG < higher


@given(st.floats(0, 1))
def test_a_strength_on_screen_never_contradicts_its_word(value: float) -> None:
    for digits in (2, 4):
        shown = rounded_down(value, digits)
        assert shown <= value + 1e-9
        assert strength.match(shown) == strength.match(value) or value < shown + 2e-9


def test_a_hit_without_a_cosine_is_weak() -> None:
    assert strength.match(None) == "weak"
