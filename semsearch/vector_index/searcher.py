"""Search for the nearest passages: in the cache, without deleted ones, and by an exact scan of newer passages.

Cosines are computed from the stored vectors with every backend: its candidates are looked up in the store, which drops
deleted ones and orders the rest exactly. Newer passages are in a delta buffer, an exact index in memory.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from semsearch.types import JsonObject
from semsearch.utils import vectors as vector_checks
from semsearch.utils.late_numpy import np
from semsearch.vector_index.backends import _top
from semsearch.vector_index.backends._file import positions
from semsearch.vector_index.backends.exact import Backend as ExactIndex
from semsearch.vector_index.cache_files import OpenCache
from semsearch.vector_index.planner import SMALL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids, Vectors

    Hits = tuple[Ids, Vectors]
    Answer = tuple[Ids, Vectors, JsonObject, tuple[str, ...]]  # ids, cosines, plan, warnings
    Search = Callable[[Vectors, int, "Ids | None"], Hits]

SUBSET = 1_000  # allowed passages, read from the store one by one (7 ms) and compared exactly
SUBSET_SHARE = 0.02  # … or this share of a large index: a cache would search most of its cells for so few
SUBSET_BYTES = 1 << 25  # of vectors, which stay in memory for the next query with this filter
SPARE = 20  # candidates beyond those that the backend asks for, because some are deleted
DELTA_BYTES = 1 << 29  # of vectors in the delta buffer; more (no cache at all) are read from the store every time


class VectorSource(Protocol):
    """The vectors of one space at this moment, of width `dim`."""

    dim: int

    def version(self) -> int: ...
    def count(self) -> int: ...
    def count_after(self, passage: int, /) -> int: ...
    def vectors(
        self, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]: ...
    def existing(self, ids: Ids, /) -> NDArray[np.bool_]: ...
    def newest_cache(self) -> int | None: ...
    def open_cache(self, *, parse: bool) -> OpenCache: ...


class VectorSearcher:
    """Searches one space, with the cache and the delta buffer in memory, and follows every commit.

    Call it inside a snapshot of the store. small: up to this number of vectors no cache is parsed; subset: up to this
    number of allowed passages are compared exactly; most_buffered: limit of the delta buffer in bytes.
    """

    def __init__(
        self, source: VectorSource, *, small: int = SMALL, subset: int = SUBSET, most_buffered: int = DELTA_BYTES
    ) -> None:
        self.source = source
        self._small, self._subset, self._most_buffered = small, subset, most_buffered
        self._version = -1
        self._newest: int | None = -1  # the newest cache at the last opening
        self._cache = OpenCache()
        self._delta: ExactIndex | None = None  # None: too large for memory, read from the store every time
        self._some_deleted = False  # of the passages in the cache
        self._kept: tuple[weakref.ref[Ids], int, ExactIndex] | None = None  # ids of a subset, version, its vectors

    def search(self, queries: Vectors, k: int, allowed: Ids | None = None, *, exact: bool = False) -> Answer:
        """queries (q, d) -> ids (q, k), cosines (q, k), the plan of the search, and warnings.

        Best first; missing hits have id -1 and cosine -inf. allowed: ascending passage ids, None for all.
        exact: compare with every stored vector.
        """
        rows = vector_checks.check(queries, dim=self.source.dim, what="query")
        if exact:
            return *self.exact(rows, k, allowed), _plan("exact" if allowed is None else "exact subset", allowed), ()
        if allowed is not None and len(allowed) <= self._subset_limit():
            return *self._subset_of(allowed).search(rows, k), _plan("exact subset", allowed), ()
        self._refresh()
        return self.approximate(rows, k, allowed)

    def exact(self, queries: Vectors, k: int, allowed: Ids | None, after: int = 0) -> Hits:
        """Compare with every stored vector above id `after` (of `allowed`), chunk by chunk, for all queries at once."""
        hits = _top.nothing(len(queries), k)
        chunk = int(np.clip(_top.BLOCK // max(1, len(queries)), 256, 8192))
        for ids, stored in self.source.vectors(after=after, ids=allowed, chunk=chunk):
            hits = _top.merge([hits, _top.best(ids, queries @ stored.T, k)], k)
        return hits

    def approximate(self, queries: Vectors, k: int, allowed: Ids | None) -> Answer:
        """Search the open cache and the newer passages. `search` opens the cache first."""
        index, record, delta = self._cache.index, self._cache.record, self._delta
        plan = _plan("cache+delta" if index is not None else "exact", allowed) | {"cached": 0}
        warnings = self._cache.warnings
        parts = []
        if index is not None and record is not None:
            fetch = index.candidates(k) + (SPARE if self._some_deleted else 0)
            ids, scores, fetched = self._existing_k(index.search, self._rescored, queries, k, fetch, allowed)
            plan |= {"backend": record.spec, "why": record.why, "cached": len(index), "fetched": fetched}
            plan["device"] = index.device  # of the search in the cache
            warnings += index.warnings
            parts.append((ids, scores))
        if delta is not None:
            plan["delta"] = len(delta)
            if len(delta):
                hits = self._existing_k(delta.search, self._without_deleted, queries, k, k + SPARE, allowed)
                parts.append(hits[:2])
        else:
            parts.append(self.exact(queries, k, allowed, after=record.highest_id if record else 0))
        best = parts[0] if len(parts) == 1 else _top.merge(parts or [_top.nothing(len(queries), k)], k)
        return *best, plan, warnings

    def _existing_k(
        self,
        search: Search,
        existing: Callable[[Vectors, Hits], Hits],
        queries: Vectors,
        k: int,
        fetch: int,
        allowed: Ids | None,
    ) -> tuple[Ids, Vectors, int]:
        """The k best that still exist, and the number fetched: `fetch`, and more until there are k or no more."""
        while True:
            hits = search(queries, fetch, allowed)
            ids, scores = _top.merge([existing(queries, hits)], k)
            exhausted = hits[0][:, -1] < 0
            if ((ids[:, -1] >= 0) | exhausted).all():
                return ids, scores, fetch
            fetch *= 4

    def _subset_limit(self) -> int:
        """The most allowed passages that are compared exactly."""
        if self._subset < 0:
            return -1
        share = min(SUBSET_SHARE * self.source.count(), SUBSET_BYTES / (4 * self.source.dim))
        return max(self._subset, int(share))

    def _subset_of(self, allowed: Ids) -> ExactIndex:
        """The vectors of a few passages, read from the store once for each array of ids that cannot be changed."""
        version = self.source.version()
        if self._kept is not None and self._kept[0]() is allowed and self._kept[1] == version:
            return self._kept[2]
        read = ExactIndex.build(self.source.dim, lambda: self.source.vectors(ids=allowed), count=len(allowed))
        self._kept = None if allowed.flags.writeable else (weakref.ref(allowed), version, read)
        return read

    def _rescored(self, queries: Vectors, hits: Hits) -> Hits:
        """Candidates (q, c) with the cosines of the stored vectors; deleted ones become -1 and -inf."""
        candidates = np.sort(hits[0], axis=1)
        distinct = _distinct(candidates)
        chunks = self.source.vectors(ids=distinct) if len(distinct) else ()
        existing, stored = _top.joined([_top.no_vectors(self.source.dim), *chunks])
        ids, scores = _top.nothing(*candidates.shape)
        for row, query in enumerate(queries):
            at = positions(existing, candidates[row])
            ids[row, : len(at)], scores[row, : len(at)] = existing[at], stored[at] @ query
        return ids, scores

    def _without_deleted(self, queries: Vectors, hits: Hits) -> Hits:
        """Candidates (q, c) with exact cosines; deleted ones become -1 and -inf."""
        distinct = _distinct(hits[0])
        deleted = distinct[~self.source.existing(distinct)]
        if not len(deleted):
            return hits
        gone = np.isin(hits[0], deleted)
        return np.where(gone, -1, hits[0]), np.where(gone, np.float32(-np.inf), hits[1])

    def _refresh(self) -> None:
        """Follow the store: open a newer cache, read newer passages."""
        version = self.source.version()
        if version == self._version:
            return
        self._kept = None
        newest = self.source.newest_cache()
        if newest != self._newest:
            small = self.source.count() <= self._small
            self._delta, self._cache = None, OpenCache()  # frees memory before the next is read
            self._cache = self.source.open_cache(parse=not small)
            self._newest = newest
        self._extend_delta()
        self._version = version

    def _extend_delta(self) -> None:
        start = self._cache.record.highest_id if self._cache.record else 0
        newer = self.source.count_after(start)
        cached = 0 if self._cache.index is None else len(self._cache.index)
        self._some_deleted = cached != self.source.count() - newer
        if newer * self.source.dim * 4 > self._most_buffered:
            self._delta = None
            return
        delta = self._delta
        if delta is not None and len(delta) <= 2 * newer + self._small:  # else most are deleted
            last = int(delta.ids[-1]) if len(delta) else start
            delta.add(*_top.joined([_top.no_vectors(delta.dim), *self.source.vectors(after=last)]))
        if delta is None or not newer <= len(delta) <= 2 * newer + self._small:  # fewer: older passages got vectors
            delta = ExactIndex.build(self.source.dim, lambda: self.source.vectors(after=start), count=newer)
        self._delta = delta


def _distinct(ids: Ids) -> Ids:
    """All ids of (q, c), ascending, without -1."""
    return np.array(sorted(set(ids.ravel().tolist()) - {-1}), dtype=np.int64)  # np.unique imports numpy.ma: 25 ms


def _plan(name: str, allowed: Ids | None) -> JsonObject:
    return {"pass": name, "backend": "exact", "allowed": None if allowed is None else len(allowed)}
