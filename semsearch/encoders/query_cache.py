"""Query cache: the vectors of the last queries, so that a repeated query is not encoded again.

cache = QueryCache(encoder, size=64)
found = cache.encode_queries(["diesel", "salt"])    # found.vectors (2, d), found.encoded, found.truncated_tokens
many = cache.prefetch(texts)                        # one call of the encoder for all
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from semsearch.types import EncoderProtocol, Role, Vectors


@dataclass(frozen=True, slots=True, eq=False)
class EncodedQueries:
    """Vectors (n, d) of n texts in their order. `encoded` of them went through the encoder, the others were cached.

    `truncated_tokens` were beyond the encoder's longest input, counted over all of the texts.
    """

    vectors: Vectors
    encoded: int
    truncated_tokens: int


class QueryCache:
    """The vectors of the last `size` query texts of `encoder`, and the number of truncated tokens of each.

    With size 0 nothing is cached beyond a call. Threads may share one.
    """

    def __init__(self, encoder: EncoderProtocol, size: int = 0) -> None:
        self.encoder, self._size = encoder, size
        self._entries: OrderedDict[str, tuple[Vectors, int]] = OrderedDict()  # text -> vector (d,), truncated tokens
        self._lock = Lock()

    def encode_queries(self, texts: Sequence[str]) -> EncodedQueries:
        """The vectors of n query texts; those that are not cached are encoded in one call."""
        distinct = dict.fromkeys(texts)
        with self._lock:
            entries = {text: self._entries[text] for text in distinct if text in self._entries}
        missing = [text for text in distinct if text not in entries]
        entries |= self._encoded(missing)
        self._store(entries)
        vectors = np.empty((len(texts), self.encoder.dim), dtype=np.float32)
        for at, text in enumerate(texts):
            vectors[at] = entries[text][0]
        return EncodedQueries(vectors, len(missing), sum(entries[text][1] for text in distinct))

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        """n texts -> (n, dim); passages go straight to the encoder."""
        return self.encode_queries(texts).vectors if role == "query" else self.encoder.encode(texts, role=role)

    def prefetch(self, texts: Sequence[str]) -> QueryCache:
        """A new cache with all of `texts`, however many, encoded in one call."""
        cache = QueryCache(self.encoder, self._size + len(texts))
        with self._lock:
            cache._entries.update(self._entries)
        cache.encode_queries(texts)
        self._store({text: cache._entries[text] for text in dict.fromkeys(texts)})
        return cache

    def _encoded(self, texts: list[str]) -> dict[str, tuple[Vectors, int]]:
        """The entry of each distinct text."""
        if not texts:
            return {}
        before = self.encoder.truncation.tokens
        vectors = self.encoder.encode(texts, role="query")
        truncated = self.encoder.truncation.tokens - before
        if truncated and len(texts) > 1:  # only one by one do they show whose tokens these are
            return {text: entry for each in texts for text, entry in self._encoded([each]).items()}
        return {text: (vector, truncated) for text, vector in zip(texts, vectors, strict=True)}

    def _store(self, entries: dict[str, tuple[Vectors, int]]) -> None:
        with self._lock:
            for text, entry in entries.items():
                self._entries[text] = entry
                self._entries.move_to_end(text)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
