"""Texts of concurrent requests are encoded together, in fair parts, and only while somebody waits for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from semsearch.encoders.base import BaseEncoder
from semsearch.encoders.hashing import HashingEncoder
from semsearch.serve.batching import CPU_TOKENS, BatchedEncoder, Batcher, Closed, Encoded
from semsearch.types import Role, TruncationStats

TEXT = 4 * CPU_TOKENS // 8  # letters of a text that is an eighth of a batch


class Held(BaseEncoder):
    """An encoder that waits to be told before each batch, and notes it."""

    def __init__(self) -> None:
        self.inner = HashingEncoder()
        self.name, self.fingerprint, self.dim = "held", "held", self.inner.dim
        self.begun, self.go = threading.Semaphore(0), threading.Semaphore(0)
        self.batches: list[list[str]] = []

    def encode(self, texts: Sequence[str], /, *, role: Role) -> np.ndarray:
        self.batches.append([text[:1] for text in texts])
        self.begun.release()
        assert self.go.acquire(timeout=60)
        if "!" in texts:
            raise ValueError("a text that it cannot read")
        return self.inner.encode(texts, role=role)


@pytest.fixture
def held() -> Iterator[tuple[Held, Batcher]]:
    encoder = Held()
    batcher = Batcher(encoder, lambda *_: None)
    first = batcher.submit(["0"], "query")  # while this one is encoded, the others come
    assert encoder.begun.acquire(timeout=60)
    yield encoder, batcher
    for _ in range(50):
        encoder.go.release()
    assert first.result(60).vectors.shape == (1, encoder.dim)
    batcher.close()


def test_what_comes_during_one_batch_is_the_next_one(held: tuple[Held, Batcher]) -> None:
    encoder, batcher = held
    waiting = [batcher.submit([letter, letter], "query") for letter in "abc"]
    for _ in range(2):
        encoder.go.release()
    for letter, job in zip("abc", waiting, strict=True):
        assert np.array_equal(job.result(60).vectors, encoder.inner.encode([letter, letter]))
    assert encoder.batches == [["0"], ["a", "a", "b", "b", "c", "c"]]


def test_roles_are_kept_apart(held: tuple[Held, Batcher]) -> None:
    encoder, batcher = held
    waiting = [batcher.submit([letter], role) for letter, role in (("a", "query"), ("b", "passage"), ("c", "query"))]
    for _ in range(3):
        encoder.go.release()
    for job in waiting:
        job.result(60)
    assert encoder.batches == [["0"], ["a", "c"], ["b"]]


def test_a_long_request_leaves_room_for_short_ones(held: tuple[Held, Batcher]) -> None:
    encoder, batcher = held
    long = batcher.submit(["l" * TEXT] * 20, "query")
    short = [batcher.submit([letter], "query") for letter in "ab"]
    for _ in range(2):
        encoder.go.release()
    for job in short:
        job.result(60)
    assert not long.done()
    for _ in range(10):
        encoder.go.release()
    assert long.result(60).vectors.shape == (20, encoder.dim)
    assert {"a", "b"} < set(encoder.batches[1])
    assert max(map(len, encoder.batches)) <= 8


def test_who_leaves_is_not_encoded_any_more(held: tuple[Held, Batcher]) -> None:
    encoder, batcher = held
    gone, stays = batcher.submit(["g"], "query"), batcher.submit(["s"], "query")
    assert gone.cancel()
    for _ in range(2):
        encoder.go.release()
    stays.result(60)
    assert encoder.batches == [["0"], ["s"]]


def test_a_text_that_fails_does_not_fail_the_requests_beside_it(held: tuple[Held, Batcher]) -> None:
    encoder, batcher = held
    bad, good = batcher.submit(["!"], "query"), batcher.submit(["g"], "query")
    for _ in range(4):
        encoder.go.release()
    with pytest.raises(ValueError, match="cannot read"):
        bad.result(60)
    assert good.result(60).vectors.shape == (1, encoder.dim)


class Short(Held):
    """An encoder that reads four words, and counts the others."""

    def __init__(self) -> None:
        super().__init__()
        self.inner.max_tokens = 4
        self.lost = TruncationStats()

    @property
    def backend(self) -> HashingEncoder:
        return self.inner

    @property
    def truncation(self) -> TruncationStats:
        return self.lost

    def count_tokens(self, texts: Sequence[str], /) -> list[int]:
        return [len(text.split()) for text in texts]

    def encode(self, texts: Sequence[str], /, *, role: Role) -> np.ndarray:
        self.lost.tokens += sum(max(0, count - 4) for count in self.count_tokens(texts))
        return super().encode(texts, role=role)


def test_only_the_request_with_a_long_text_hears_of_it() -> None:
    encoder = Short()
    batcher = Batcher(encoder, lambda *_: None)
    first = batcher.submit(["0"], "query")
    assert encoder.begun.acquire(timeout=60)
    long, short = batcher.submit(["a b c d e f"], "query"), batcher.submit(["a b"], "query")
    for _ in range(2):
        encoder.go.release()
    assert [job.result(60).truncated for job in (first, long, short)] == [0, 2, 0]
    assert len(encoder.batches) == 2
    shared = BatchedEncoder(encoder, batcher, ("query",))
    encoder.go.release()
    shared.encode(["a b c d e"], role="query")
    assert shared.truncation.tokens == 1
    with shared.knowing("a b", Encoded(encoder.inner.encode(["x"]), [2], 0)):  # nothing is encoded again
        assert np.array_equal(shared.encode(["a b"], role="query"), encoder.inner.encode(["x"]))
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: shared.truncation.tokens).result() == 0
    shared.close()
    with pytest.raises(Closed):
        batcher.submit(["a"], "query")
