"""Long texts in short columns of Milvus."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.errors import Corrupt
from semsearch.stores.milvus.packing import LONGEST, pack, parts_of, unpack


def noise(length: int) -> str:
    return "".join(random.Random(length).choices("abcdefghijklmnopqrstuvwxyzäß日", k=length))


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_a_short_text_comes_back(text: str) -> None:
    value, parts = pack(text, "owner")
    assert (unpack(value, parts), parts) == (text, {})


@pytest.mark.parametrize(
    "text", ["x" * 100_000, noise(70_000), noise(300_000)], ids=["compressed", "compressed", "parts"]
)
def test_a_long_text_comes_back_from_columns_that_are_short(text: str) -> None:
    value, parts = pack(text, "owner")
    assert unpack(value, parts) == text
    assert all(len(one.encode()) < 65_535 for one in (value, *parts.values()))
    assert sorted(parts_of([value])) == sorted(parts)


def test_the_same_text_of_two_owners_has_parts_of_its_own() -> None:
    text = noise(300_000)
    first, second = pack(text, "a"), pack(text, "b")
    assert pack(text, "a") == first
    assert len(first[1]) > 1 and not first[1].keys() & second[1].keys()


def test_a_missing_or_damaged_part_is_told() -> None:
    value, parts = pack(noise(300_000), "owner")
    key = min(parts)
    for damaged in ({k: v for k, v in parts.items() if k != key}, parts | {key: "?" * LONGEST}):
        with pytest.raises(Corrupt, match="Verify the index"):
            unpack(value, damaged)
    for odd in ("", "Z not base64", "X"):
        with pytest.raises(Corrupt):
            unpack(odd, {})
