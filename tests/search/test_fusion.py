from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.search import fusion


def ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_being_first_by_words_alone_does_not_win() -> None:
    found, *_ = fusion.linear((ids(7, 8), np.array([0.8, 0.3])), (ids(2, 8), np.array([30.0, 1.0])))
    assert found.tolist()[0] == 7


def test_linear_fusion_scales_each_channel_and_floors_what_it_missed() -> None:
    found, scores, _ = fusion.linear(
        (ids(1, 2, 3), np.array([0.9, 0.7, 0.5])), (ids(2, 9), np.array([8.0, 2.0])), alpha=0.6
    )
    assert found.tolist() == [2, 1, 9, 3]
    assert scores.tolist() == pytest.approx([0.6 * 0.5 + 0.4, 0.6, 0.4 * 0.25, 0.0])


@pytest.mark.parametrize(("alpha", "order"), [(1.0, [1, 2]), (0.0, [2, 1])])
def test_alpha_goes_from_words_to_meaning(alpha: float, order: list[int]) -> None:
    found, *_ = fusion.linear((ids(1, 2), np.array([0.9, 0.1])), (ids(2, 1), np.array([5.0, 1.0])), alpha)
    assert found.tolist() == order


def test_an_empty_channel_leaves_the_other_as_it_is() -> None:
    nothing = (ids(), np.zeros(0))
    assert fusion.linear((ids(4, 5), np.array([0.2, 0.1])), nothing, 0.5)[0].tolist() == [4, 5]
    assert fusion.linear(nothing, (ids(4, 5), np.array([2.0, 1.0])), 0.5)[0].tolist() == [4, 5]
    assert fusion.linear(nothing, nothing, 0.5)[0].tolist() == []


def test_equal_scores_share_the_top() -> None:
    found, scores, _ = fusion.linear((ids(3, 1), np.array([0.4, 0.4])), (ids(), np.zeros(0)), 1.0)
    assert found.tolist() == [3, 1] and scores.tolist() == [1, 1]


def test_words_that_cover_little_of_the_query_do_not_beat_meaning() -> None:
    cosine = (ids(7, 9, 8), np.array([0.44, 0.3, 0.2]))  # 8 is far from the query …
    bm25 = (ids(8, 9), np.array([4.0, 1.0]))  # … and has one of its three words
    assert fusion.linear(cosine, bm25, 0.5, covered=0.3)[0].tolist() == [7, 9, 8]
    assert fusion.linear(cosine, bm25, 0.4, covered=1.0)[0].tolist() == [8, 7, 9]


rankings = st.dictionaries(st.integers(1, 30), st.floats(0, 1), max_size=12)


def channel(scores: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
    order = sorted(scores, key=lambda one: (-scores[one], one))
    return ids(*order), np.array([scores[one] for one in order], dtype=np.float64)


@given(rankings, rankings, st.floats(0, 1), st.floats(0, 1))
def test_all_passages_are_ordered_by_a_sum_of_parts(
    cosine: dict[int, float], bm25: dict[int, float], alpha: float, covered: float
) -> None:
    fused = fusion.linear(channel(cosine), channel(bm25), alpha, covered)
    assert set(fused.ids.tolist()) == cosine.keys() | bm25.keys()
    assert fused.parts.sum(axis=0) == pytest.approx(fused.scores)
    assert (np.diff(fused.scores) <= 0).all() and (fused.scores >= 0).all()


def test_a_document_with_several_good_passages_is_above_one_with_one() -> None:
    parts = np.array([[0.4, 0.39, 0.3, 0.5], [0.4, 0.39, 0.3, 0.0]])
    fused = fusion.Fused(ids(1, 2, 3, 4), parts.sum(axis=0), parts)
    found = fusion.by_document(fused, {1: 10, 2: 20, 3: 20, 4: 30})
    assert found.ids.tolist() == [2, 1, 3, 4]
    assert found.scores.tolist() == pytest.approx([0.78 + fusion.FURTHER * 0.6, 0.8, 0.6, 0.5])
    assert found.parts.sum(axis=0) == pytest.approx(found.scores)


@given(rankings, st.integers(1, 5))
def test_passages_that_add_up_never_lower_a_score_nor_lose_one(cosine: dict[int, float], documents: int) -> None:
    fused = fusion.linear(channel(cosine), channel({}))
    found = fusion.by_document(fused, {one: one % documents for one in cosine})
    before = dict(zip(fused.ids.tolist(), fused.scores.tolist(), strict=True))
    after = dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
    assert before.keys() == after.keys()
    assert all(after[one] >= before[one] - 1e-12 for one in before)
    assert (np.diff(found.scores) <= 0).all()
