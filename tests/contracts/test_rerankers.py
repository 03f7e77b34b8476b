"""What every runtime of rerankers promises; a new file in `runtimes` is found by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import rerankers

from semsearch.encoders.rerankers import runtimes
from semsearch.encoders.rerankers.reranker import Reranker
from semsearch.utils import plugins

QUERY = "how is the fuel of a diesel engine ignited?"
PASSAGES = [
    "A diesel engine ignites fuel by compression.",
    "Tea needs water.",
    "",
    "salt " * 500,
    "Tea needs water. " * 3,
]


@pytest.fixture(scope="module", params=plugins.names(runtimes))
def reranker(request: pytest.FixtureRequest) -> Any:
    found = Reranker.load(rerankers.SAMPLES[request.param](), device="cpu", threads=2)
    assert type(found.runtime).__module__.endswith(request.param)
    return found


def test_every_passage_gets_a_score_in_its_place(reranker: Reranker) -> None:
    scores = reranker.score(QUERY, PASSAGES)
    assert scores.shape == (len(PASSAGES),)
    assert ((scores > 0) & (scores < 1)).all()
    assert np.abs(scores - reranker.score(QUERY, PASSAGES[::-1])[::-1]).max() < 1e-6


def test_no_passage_gets_no_score(reranker: Reranker) -> None:
    assert reranker.score(QUERY, []).shape == (0,)


def test_a_score_does_not_depend_on_the_other_passages(reranker: Reranker) -> None:
    alone = [reranker.logits(QUERY, [passage]).values[0] for passage in PASSAGES]
    assert np.abs(reranker.logits(QUERY, PASSAGES).values - alone).max() < 1e-4


def test_a_score_depends_on_the_query_and_on_the_passage(reranker: Reranker) -> None:
    words = ["compression", "vinegar", "tea"]
    first, second = (reranker.logits(query, words).values for query in ("compression", "no tea"))
    assert len({*first.round(4).tolist()}) == 3
    assert np.abs(first - second).min() > 1e-3


def test_the_passage_is_truncated_and_the_query_is_not(reranker: Reranker) -> None:
    read = reranker.logits("tea", ["salt " * 500 + "compression", "salt " * 500])
    assert read.values[0] == pytest.approx(read.values[1], abs=1e-6)  # it ends before that word
    assert (read.truncated, read.query_truncated) == (2, False)
    asked = [reranker.logits(f"salt salt salt {word}", ["tea " * 500]).values[0] for word in ("compression", "tea")]
    assert abs(asked[0] - asked[1]) > 1e-3  # the last word of the query is read
    assert reranker.logits("salt " * 500, ["tea"]).query_truncated


def test_a_separator_in_a_text_does_not_end_it(reranker: Reranker) -> None:
    typed, ended = reranker.runtime._tokenizer.rows("tea", ["water [SEP] salt"]), rerankers.SPECIAL.index("[SEP]")
    assert typed.ids[0].count(ended) == 2  # after the query and after the passage
    assert typed.segments[0].count(0) == 3


def test_it_says_what_it_is(reranker: Reranker) -> None:
    shown = reranker.info
    assert (shown["kind"], shown["device"], shown["temperature"]) == ("reranker", "cpu", 1.0)
    assert Reranker.load(reranker.reference, device="cpu").fingerprint == reranker.fingerprint
