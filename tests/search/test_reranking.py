"""Reading the first hits again: both judgements fused, and never an answer lost to a reranker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.rerankers import Own
from hypothesis import given
from hypothesis import strategies as st

from semsearch import Document, Index, Query, Results
from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.search import reranking

TEXTS = {
    "a": "An engine ignites fuel. This engine is an engine.",
    "b": "A diesel engine ignites fuel by compression.",
    "c": "A petrol engine needs a spark.",
    "d": "The engine of a car.",
    "e": "Bread needs salt, and an engine for the mill.",
}
QUERY = "engine fuel"
Judge = Callable[[str], float]


def by_length(passage: str) -> float:
    """A judgement that has nothing to do with the first stage."""
    return len(passage) / 100


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.create(tmp_path_factory.mktemp("home") / "notes", encoder="hashing") as made:
        made.add(Document(name, text, {"n": at}) for at, (name, text) in enumerate(TEXTS.items()))
        yield made


def names(results: Results) -> list[str]:
    return [hit.document for hit in results]


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
@pytest.mark.parametrize("group", ["document", "passage"])
def test_weight_0_keeps_the_order_and_weight_1_replaces_it(index: Index, mode: Any, group: Any) -> None:
    plain = index.search(QUERY, mode=mode, group=group)
    kept = index.search(QUERY, mode=mode, group=group, rerank=Own(by_length), rerank_weight=0)
    assert names(kept) == names(plain)
    replaced = index.search(QUERY, mode=mode, group=group, rerank=Own(by_length), rerank_weight=1)
    assert names(replaced) == sorted(names(plain), key=lambda name: -len(TEXTS[name]))
    assert [hit.strength for hit in kept] == [hit.strength for hit in plain]
    for found in (kept, replaced):
        assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
        assert [hit.rerank for hit in found] == [by_length(hit.text) for hit in found]
        assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
        assert all(sum(hit.parts.values()) == pytest.approx(hit.score) for hit in found)


def test_hits_below_the_depth_follow_in_their_order(index: Index) -> None:
    plain, own = names(index.search(QUERY)), Own(by_length)
    found = index.search(QUERY, rerank=own, rerank_depth=2, rerank_weight=1)
    assert names(found) == [*sorted(plain[:2], key=lambda name: -len(TEXTS[name])), *plain[2:]]
    assert [hit.rerank is None for hit in found] == [False, False, True, True, True]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert [passage for _, passage in own.read] == [TEXTS[name] for name in plain[:2]]


def test_a_second_page_goes_on_where_the_first_ended(index: Index) -> None:
    own = Own(by_length)
    whole = names(index.search(QUERY, rerank=own))
    parts = [names(index.search(QUERY, k=2, offset=offset, rerank=own)) for offset in (0, 2, 4)]
    assert [name for part in parts for name in part] == whole


def test_filters_and_the_least_strength_hold_before_the_second_reading(index: Index) -> None:
    own = Own(by_length)
    found = index.search(QUERY, where="n >= 2", rerank=own)
    assert set(names(found)) == {"c", "d", "e"}
    assert len(own.read) == 3
    strong = index.search("diesel engine ignites fuel by compression", min_strength=0.5, rerank=own)
    assert all(hit.strength is not None and hit.strength >= 0.5 for hit in strong)


def test_the_plan_and_the_time_say_what_was_done(index: Index) -> None:
    found = index.search(QUERY, k=2, rerank=Own(by_length), rerank_weight=0.25)
    assert found.plan["rerank"] == {
        "reranker": "own", "fingerprint": "own-1", "pairs": 5, "depth": 30, "weight": 0.25
    }  # fmt: skip
    assert set(found.took_ms) == {"encode", "search", "rerank"}
    assert "rerank" not in index.search(QUERY).took_ms


def test_many_queries_are_each_read_again(index: Index) -> None:
    both = index.search([QUERY, "salt bread"], rerank=Own(by_length), rerank_weight=1)
    assert [hits[0].document for hits in both] == ["a", "a"]
    assert all("rerank" in each.took_ms for each in both)


def test_a_passage_is_read_with_its_title_and_its_heading(tmp_path: Path) -> None:
    own = Own(by_length)
    with Index.create(tmp_path / "notes", encoder="hashing") as made:
        made.add([Document("k", "Fill it with water.", title="Kettles")])
        made.search("kettle water", rerank=own)
    assert own.read == [("kettle water", "Kettles\n\nFill it with water.")]


def raising(error: Exception) -> Judge:
    def judge(passage: str) -> float:
        raise error

    return judge


FAILURES: dict[str, tuple[Judge, str]] = {
    "exception": (raising(RuntimeError("no\nmemory")), "RuntimeError: no memory"),
    "own error": (raising(SemsearchError("it is broken.")), "it is broken"),
    "memory": (raising(MemoryError()), "MemoryError"),
    "not a number": (lambda passage: nan if "spark" in passage else 0.5, "nan"),
    "too high": (lambda passage: 1.5, "1.5"),
    "no number": (lambda passage: "high", "ValueError"),  # type: ignore[arg-type,return-value]
}


@pytest.mark.parametrize("what", FAILURES)
def test_a_reranker_that_fails_costs_the_reranking_never_the_answer(index: Index, what: str) -> None:
    judge, reason = FAILURES[what]
    plain, found = index.search(QUERY), index.search(QUERY, rerank=Own(judge))
    assert found.hits == plain.hits
    (warning,) = [one for one in found.warnings if "reranker" in one]
    assert warning.startswith("the reranker own failed, so the hits stand in the order of the search")
    assert reason in warning
    assert "\n" not in warning


def test_too_few_scores_are_a_failure(index: Index) -> None:
    class Short(Own):
        def score(self, query: str, passages: Sequence[str], /) -> list[float]:
            return super().score(query, passages)[1:]

    found = index.search(QUERY, rerank=Short(by_length))
    assert names(found) == names(index.search(QUERY))
    assert "shape (4,) for 5 passages" in found.warnings[-1]


def test_no_hits_are_no_failure(index: Index) -> None:
    own = Own(by_length)
    found = index.search("zebra", mode="keyword", rerank=own)
    assert (len(found), own.read, found.plan["rerank"]["pairs"]) == (0, [], 0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rerank_depth": 0}, "rerank_depth must be a whole number"),
        ({"rerank_weight": 1.1}, "the weight of the reranker must be"),
        ({"rerank": ""}, "rerank takes a reranker"),
        ({"rerank": 3}, "rerank takes a reranker"),
        ({"text": "", "like": ("a",)}, "this query has none"),
        ({"text": " ", "more": (("fuel", 1.0),)}, "this query has none"),
    ],
)
def test_what_cannot_be_reranked_is_refused_with_the_remedy(index: Index, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        index.search(Query(**{"text": QUERY, "rerank": Own(by_length), **fields}))


def test_an_example_beside_a_text_leaves_the_text_to_the_reranker(index: Index) -> None:
    own = Own(by_length)
    index.search(Query(QUERY, like=("b",), rerank=own))
    assert {query for query, _ in own.read} == {QUERY}


def test_a_name_without_a_reranker_is_an_error_before_the_search(index: Index) -> None:
    with pytest.raises(NotFound, match="no reranker is called 'nothing'"):
        index.search(QUERY, rerank="nothing")


scores = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@given(scores, st.lists(st.floats(-5, 50), min_size=0, max_size=12), st.floats(0, 1))
def test_fused_scores_lie_between_both_and_those_not_read_stay_below(
    second: list[float], below: list[float], weight: float
) -> None:
    first = np.array(sorted([*np.linspace(1, 3, len(second)), *(one - 50 for one in below)], reverse=True))
    before, again = reranking.fused_parts(first, np.array(second), weight)
    assert before.shape == first.shape
    assert again.shape == (len(second),)
    fused = before[: len(second)] + again
    assert ((fused >= -1e-9) & (fused <= 1 + 1e-9)).all()
    assert (before[len(second) :] <= 1e-12).all()
    assert (np.diff(before) <= 1e-12).all()
    judged = again[np.argsort(second, kind="stable")]
    assert (np.diff(judged) >= -1e-12).all()
