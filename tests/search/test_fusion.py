from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.search import fusion

rankings = st.lists(st.lists(st.integers(1, 30), unique=True, max_size=12), min_size=1, max_size=4)


def ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_reciprocal_rank_gives_the_figures_of_the_paper() -> None:
    found, scores, _ = fusion.reciprocal_rank([ids(1, 2, 3), ids(3, 4)])
    assert found.tolist() == [3, 1, 2, 4]
    assert scores.tolist() == pytest.approx([1 / 63 + 1 / 61, 1 / 61, 1 / 62, 1 / 62])


@given(rankings)
def test_reciprocal_rank_equals_a_sum_over_a_dictionary(lists: list[list[int]]) -> None:
    expected: dict[int, float] = {}
    for ranking in lists:
        for rank, passage in enumerate(ranking, 1):
            expected[passage] = expected.get(passage, 0.0) + 1 / (60 + rank)
    found, scores, _ = fusion.reciprocal_rank([ids(*ranking) for ranking in lists])
    assert dict(zip(found.tolist(), scores.tolist(), strict=True)) == pytest.approx(expected)
    assert (np.diff(scores) <= 0).all()


def test_a_weight_of_zero_silences_a_ranking() -> None:
    found, scores, _ = fusion.reciprocal_rank([ids(1, 2), ids(2)], weights=[1, 0])
    assert found.tolist() == [1, 2]
    assert scores.tolist() == pytest.approx([1 / 61, 1 / 62])


@pytest.mark.parametrize("fuse", ["rank", "score"])
def test_being_first_by_words_alone_does_not_win(fuse: str) -> None:
    cosine = (ids(7, 8), np.array([0.8, 0.3]))
    bm25 = (ids(2, 8), np.array([30.0, 1.0]))
    if fuse == "rank":
        found, *_ = fusion.reciprocal_rank([cosine[0], bm25[0]])
        assert found.tolist().index(7) < found.tolist().index(2)
    else:
        found, *_ = fusion.linear(cosine, bm25, alpha=0.5)
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
    assert fusion.reciprocal_rank([ids(), ids()])[0].tolist() == []


def test_equal_scores_share_the_top() -> None:
    found, scores, _ = fusion.linear((ids(3, 1), np.array([0.4, 0.4])), (ids(), np.zeros(0)), 1.0)
    assert found.tolist() == [3, 1] and scores.tolist() == [1, 1]


def test_a_weight_for_each_passage_scales_what_its_rank_gives() -> None:
    found, scores, _ = fusion.reciprocal_rank(
        [ids(1, 2), ids(2, 3)], weights=[np.array([1.0, 0.5]), np.array([0.1, 1.0])]
    )
    assert found.tolist() == [1, 3, 2]
    assert scores.tolist() == pytest.approx([1 / 61, 1 / 62, 0.5 / 62 + 0.1 / 61])


def test_standing_in_both_rankings_does_not_beat_evidence() -> None:
    cosine = (ids(7, 8), np.array([0.44, 0.2]))  # 8 is far from the query …
    bm25 = (ids(8), np.array([4.0]))  # … and has one of its three words
    assert fusion.reciprocal_rank([cosine[0], bm25[0]])[0].tolist() == [8, 7]
    assert fusion.evidence(cosine, bm25, np.array([0.3]))[0].tolist() == [7, 8]
    assert fusion.evidence(cosine, bm25, np.array([1.0]))[0].tolist() == [8, 7]


def test_evidence_of_nothing_is_nothing() -> None:
    nothing = (ids(), np.zeros(0))
    assert fusion.evidence(nothing, nothing, np.zeros(0))[0].tolist() == []
    assert fusion.evidence((ids(3), np.array([-0.1])), nothing, np.zeros(0))[0].tolist() == [3]


@given(rankings)
def test_the_parts_of_a_score_are_its_sum_and_each_is_of_its_ranking(lists: list[list[int]]) -> None:
    found, scores, parts = fusion.reciprocal_rank([ids(*ranking) for ranking in lists])
    assert parts.sum(axis=0) == pytest.approx(scores)
    for ranking, row in zip(lists, parts, strict=True):
        assert {int(i) for i, part in zip(found, row, strict=True) if part} == set(ranking)
