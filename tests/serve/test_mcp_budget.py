"""Answers for assistants are as long as they may be, and no longer."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")
from hypothesis import given
from hypothesis import strategies as st

from semsearch.serve.mcp.budget import SHORTEST, cut, fitted, size
from semsearch.types import JsonObject

TEXTS = st.text(st.sampled_from('ab. \n"\\é日𝔘\x00!?'), max_size=400)
HITS = st.lists(
    st.fixed_dictionaries({"document": st.text(max_size=60), "text": TEXTS, "metadata": st.dictionaries(TEXTS, TEXTS)}),
    max_size=12,
)


@given(TEXTS, st.integers(0, 900))
def test_a_cut_text_is_a_beginning_that_fits(text: str, most: int) -> None:
    short = cut(text, most)
    assert text.startswith(short)
    assert size(short) - 2 <= most
    assert short or not text or most < 6


@given(HITS, st.integers(1500, 6000))
def test_an_answer_fits_and_says_what_it_leaves_out(hits: list[JsonObject], most: int) -> None:
    found = fitted({"index": "notes"}, "hits", hits, most, offset=20)
    assert size(found) <= most
    shown = found["hits"]
    for hit, whole in zip(shown, hits, strict=False):
        assert hit["document"] == whole["document"]
        assert hit.get("text_cut", False) == (hit["text"] != whole["text"])
        assert hit["metadata"] == whole["metadata"] or "metadata_left_out" in hit
    if len(shown) < len(hits):
        assert found["next_offset"] == 20 + max(len(shown), 1)
        assert found.get("left_out", []) == ([] if shown else [21])


def test_room_is_shared_by_the_long_texts() -> None:
    long = "Boilers are under the stairs. " * 500
    found = fitted({}, "hits", [{"text": long}, {"text": "Short."}, {"text": long}], 4000)["hits"]
    assert found[1] == {"text": "Short."}
    assert [hit["text_cut"] for hit in (found[0], found[2])] == [True, True]
    assert all(len(hit["text"]) > 1700 and hit["text"].endswith("stairs.") for hit in (found[0], found[2]))
    many = fitted({}, "hits", [{"text": long}] * 50, 4000)["hits"]
    assert 5 < len(many) < 50
    assert all(len(hit["text"]) >= SHORTEST / 2 for hit in many)


def test_an_item_that_alone_is_too_long_is_left_out_and_the_next_page_goes_on() -> None:
    found = fitted({}, "hits", [{"document": "d" * 9000, "text": "a"}, {"document": "b", "text": "c"}], 2000)
    assert found == {"hits": [], "left_out": [1], "next_offset": 1}
