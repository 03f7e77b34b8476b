"""Which passages a search by words over Milvus has to read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.stores import bm25
from semsearch.stores.milvus.keywords import candidates
from semsearch.stores.milvus.keywords.candidates import Candidates, Having


@given(
    st.lists(
        st.tuples(st.integers(1, 60), st.lists(st.integers(0, 4), min_size=3, max_size=3)), min_size=1, max_size=300
    ),
    st.integers(1, 40),
    st.sampled_from([1, 7, 100]),
)
def test_no_passage_that_is_left_unread_belongs_to_the_best(
    passages: list[tuple[int, list[int]]], k: int, first: int
) -> None:
    lengths = {number: max(size, sum(counts)) for number, (size, counts) in enumerate(passages)}
    mean = float(np.mean(list(lengths.values())))
    weights = [2.5, 1.0, 0.1]
    exact = dict.fromkeys(lengths, 0.0)
    having = []
    for at, weight in enumerate(weights):
        ids = np.array([number for number, (_, counts) in enumerate(passages) if counts[at]], dtype=np.int64)
        counted = np.array([passages[number][1][at] for number in ids.tolist()], dtype=np.int64)
        sizes = np.array([lengths[number] for number in ids.tolist()], dtype=np.int64)
        for number, score in zip(ids.tolist(), bm25.scores(weight, counted, sizes, mean).tolist(), strict=True):
            exact[number] += score
        having.append(Having(weight, ids, once=True))
    found = Candidates(lengths, having, mean)
    assert all(found.least <= np.array([exact[one] for one in found.ids.tolist()]) + 1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "FIRST", first)
        patch.setattr(candidates, "PIECE", first)
        scores: dict[int, float] = {}
        for ids, most in found.reading(k, len(lengths)):
            kth = sorted(scores.values())[-k] if len(scores) >= k else 0.0
            if not len(wanted := ids[most >= kth]):
                break
            scores |= {one: exact[one] for one in wanted.tolist()}
    assert sorted(scores.values(), reverse=True)[:k] == sorted(exact.values(), reverse=True)[:k]
