"""QueryCache: a text that was asked before is not encoded again, and its vector is the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from semsearch.encoders.hashing import HashingEncoder
from semsearch.encoders.query_cache import QueryCache
from semsearch.types import Role, TruncationStats


class Recording(HashingEncoder):
    """The hashing encoder with a record of its calls; it reads ten characters of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, ...]] = []
        self.stats = TruncationStats()

    @property
    def truncation(self) -> TruncationStats:
        return self.stats

    def encode(self, texts: Sequence[str], /, *, role: Role = "passage") -> Any:
        self.calls.append(tuple(texts))
        self.stats.tokens += sum(max(0, len(text) - 10) for text in texts)
        return super().encode(texts, role=role)


def test_a_cached_query_is_not_encoded_again_and_has_the_same_vector() -> None:
    encoder = Recording()
    cache = QueryCache(encoder, 8)
    first, again = cache.encode_queries(["salt", "soup", "salt"]), cache.encode_queries(["soup", "salt"])
    assert (first.encoded, again.encoded, encoder.calls) == (2, 0, [("salt", "soup")])
    assert np.array_equal(first.vectors[[1, 0]], again.vectors) and first.vectors.shape == (3, 256)


def test_only_the_last_queries_are_kept_and_size_0_keeps_none() -> None:
    encoder = Recording()
    cache = QueryCache(encoder, 1)
    for text in ("salt", "soup", "soup", "salt"):
        cache.encode_queries([text])
    assert encoder.calls == [("salt",), ("soup",), ("salt",)]
    assert [QueryCache(encoder).encode_queries(["salt"]).encoded for _ in range(2)] == [1, 1]


def test_prefetched_queries_take_one_call_whatever_the_size_of_the_cache() -> None:
    encoder = Recording()
    texts = ["salt", "soup", "bread", "salt"]
    many = QueryCache(encoder).prefetch(texts)
    assert [many.encode_queries([text]).encoded for text in texts] == [0, 0, 0, 0]
    assert encoder.calls == [("salt", "soup", "bread")]
    assert np.array_equal(many.encode(texts, role="query"), HashingEncoder().encode(texts))


def test_truncated_tokens_are_counted_for_each_text_each_time() -> None:
    cache = QueryCache(Recording(), 8)
    texts = ["short", "twelve chars", "fourteen chars"]
    assert cache.encode_queries(texts).truncated_tokens == 2 + 4
    assert [cache.encode_queries([text]).truncated_tokens for text in texts] == [0, 2, 4]
    assert cache.encode_queries(texts).encoded == 0


def test_passages_go_straight_to_the_encoder_and_no_text_gives_no_row() -> None:
    encoder = Recording()
    cache = QueryCache(encoder, 8)
    for _ in range(2):
        cache.encode(["salt"], role="passage")
    assert encoder.calls == [("salt",), ("salt",)] and cache.encode_queries([]).vectors.shape == (0, 256)
