"""Delta buffer: the passages newer than the cache, in memory, compared one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from semsearch.vector_index.backends import _top

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors


class DeltaBuffer:
    """Passages newer than the cache, (n, d) in memory. Only grows: deleted ones are dropped from what it finds."""

    def __init__(self, dim: int, last: int) -> None:
        self.last = last
        self._ids = np.empty(0, dtype=np.int64)
        self._vectors = np.empty((0, dim), dtype=np.float32)

    def extend(self, chunks: Iterable[tuple[Ids, Vectors]]) -> None:
        """Add chunks of ascending ids above `last`."""
        parts = list(chunks)
        if parts:
            self._ids = np.concatenate([self._ids, *(ids for ids, _ in parts)])
            self._vectors = np.concatenate([self._vectors, *(stored for _, stored in parts)])
            self.last = int(self._ids[-1])

    def search(self, queries: Vectors, k: int, allowed: Ids | None = None) -> tuple[Ids, Vectors]:
        """queries (q, d) -> ids (q, k), cosines (q, k)."""
        return _top.scan(self._ids, self._vectors, queries, k, allowed)

    def __len__(self) -> int:
        return len(self._ids)
