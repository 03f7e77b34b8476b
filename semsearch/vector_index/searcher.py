"""The nearest passages of a query: what the cache finds, if still alive, and an exact scan of what is newer.

Cosines come from the store's own vectors, whatever the backend: candidates are looked up there, which drops the dead
and orders the rest exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.utils import vectors
from semsearch.vector_index import cache_files
from semsearch.vector_index.backends import _top
from semsearch.vector_index.delta_buffer import Tail

if TYPE_CHECKING:
    from semsearch.stores.local.store import Space, Store
    from semsearch.types import Ids, Vectors
    from semsearch.vector_index.cache_files import Opened

    Found = tuple[Ids, Vectors]
    Search = Callable[[Vectors, int, "Ids | None"], Found]

SMALL = 10_000  # vectors; reading them from the store (65 ms) is as fast as importing FAISS (55 ms) and checking a file
SUBSET = 1_000  # allowed passages that are read from the store one by one (7 ms) and compared exactly
SPARE = 20  # candidates beyond 2 k: for dead ones, and for what approximate scores put in the wrong order
TAIL_BYTES = 1 << 29  # of vectors held in memory; a longer tail (no cache at all) is read from the store every time
EXACT_TIMED = 3  # queries of an audit; each reads every vector


class Nearest:
    """Searches one space of a store. Keeps the cache and the tail in memory, and notices every commit."""

    def __init__(self, store: Store, space: Space) -> None:
        self._store = store
        self._space = space
        self._version = -1
        self._newest: int | None = -1  # id of the newest row in `caches` when the cache was opened
        self._opened: Opened = cache_files.Opened()
        self._tail: Tail | None = None

    def search(
        self, queries: Vectors, k: int, allowed: Ids | None = None, exact: bool = False
    ) -> tuple[Ids, Vectors, dict[str, Any]]:
        """queries (q, d) -> ids (q, k), cosines (q, k), and a plan that says how they were found.

        Best first; where there is no more, id -1 and cosine -inf. allowed: ascending passage ids, None for all.
        exact: compare with every stored vector.
        """
        asked = vectors.check(queries, dim=self._space.dim, what="query")
        with self._store.snapshot():
            if exact or (allowed is not None and len(allowed) <= SUBSET):
                name = "exact" if allowed is None else "exact subset"
                return *self._exact(asked, k, allowed), _plan(name, allowed)
            self._refresh()
            return self._cache_and_tail(asked, k, allowed)

    # ---- passes

    def _exact(self, queries: Vectors, k: int, allowed: Ids | None, after: int = 0) -> Found:
        """Every stored vector (of `allowed`) with an id above `after`, chunk by chunk, for all queries at once."""
        found = _top.nothing(len(queries), k)
        chunk = int(np.clip(_top.BLOCK // max(1, len(queries)), 256, 8192))
        for ids, stored in self._store.vectors(self._space.id, after=after, ids=allowed, chunk=chunk):
            found = _top.merge([found, _top.best(ids, queries @ stored.T, k)], k)
        return found

    def _cache_and_tail(self, queries: Vectors, k: int, allowed: Ids | None) -> tuple[Ids, Vectors, dict[str, Any]]:
        backend, row, tail = self._opened.backend, self._opened.row, self._tail
        plan = _plan("cache+tail" if backend is not None else "exact", allowed)
        plan |= {"cached": len(backend) if backend is not None else 0, "warnings": list(self._opened.warnings)}
        parts = []
        if backend is not None and row is not None:
            plan |= {"backend": row.spec, "why": row.why}
            ids, scores, plan["fetched"] = self._live(backend.search, self._from_store, queries, k, allowed)
            plan["device"] = getattr(backend, "device", "cpu")  # where the cache was searched
            plan["warnings"] += getattr(backend, "warnings", ())
            parts.append((ids, scores))
        if tail is not None:
            plan["tail"] = len(tail)
            parts.append(self._live(tail.search, self._alive, queries, k, allowed)[:2])
        else:
            parts.append(self._exact(queries, k, allowed, after=row.highest_id if row else 0))
        return *_top.merge(parts, k), plan

    def _live(
        self, search: Search, living: Callable[[Vectors, Found], Found], queries: Vectors, k: int, allowed: Ids | None
    ) -> tuple[Ids, Vectors, int]:
        """The k best that are alive, and how many had to be fetched: more and more until there are k, or no more."""
        fetch = 2 * k + SPARE
        while True:
            found = search(queries, fetch, allowed)
            ids, scores = _top.merge([living(queries, found)], k)
            exhausted = found[0][:, -1] < 0
            if ((ids[:, -1] >= 0) | exhausted).all():
                return ids, scores, fetch
            fetch *= 4

    def _from_store(self, queries: Vectors, found: Found) -> Found:
        """Candidates (q, c) with the cosines of the stored vectors; dead ones become -1 and -inf."""
        candidates = found[0]
        ids, scores = _top.nothing(*candidates.shape)
        wanted = np.unique(candidates[candidates >= 0])
        parts = list(self._store.vectors(self._space.id, ids=wanted)) if len(wanted) else []
        if not parts:
            return ids, scores
        living = np.concatenate([part for part, _ in parts])
        stored = np.concatenate([part for _, part in parts])
        for row, query in enumerate(queries):
            here = np.isin(candidates[row], living)
            ids[row, here] = candidates[row, here]
            scores[row, here] = stored[np.searchsorted(living, candidates[row, here])] @ query
        return ids, scores

    def _alive(self, queries: Vectors, found: Found) -> Found:
        """Candidates (q, c), whose cosines are exact already, without the dead."""
        wanted = np.array(sorted(set(found[0].ravel().tolist())), dtype=np.int64)  # np.unique imports numpy.ma: 25 ms
        dead = np.append(wanted[~self._store.alive(wanted)], -1)
        gone = np.isin(found[0], dead)
        return np.where(gone, -1, found[0]), np.where(gone, np.float32(-np.inf), found[1])

    # ---- what is kept in memory

    def _refresh(self) -> None:
        """Follow the store: open a newer cache, read the passages that came since."""
        version = self._store.version()
        if version == self._version:
            return
        rows = self._store.caches(self._space.id)
        newest = rows[0].id if rows else None
        if newest != self._newest:
            small = self._store.counts()["vectors"].get(self._space.id, 0) <= SMALL
            self._tail, self._opened = None, cache_files.Opened()  # gives back memory before the next is read
            self._opened = cache_files.open_newest(self._store, self._space, parse=not small)
            self._newest = newest
        self._follow()
        self._version = version

    def _follow(self) -> None:
        start = self._opened.row.highest_id if self._opened.row else 0
        live = self._store.count_after(self._space.id, start)
        if live * self._space.dim * 4 > TAIL_BYTES:
            self._tail = None
            return
        if self._tail is None or len(self._tail) > 2 * live + SMALL:  # mostly dead: read anew
            self._tail = Tail(self._space.dim, start)
        self._tail.extend(self._store.vectors(self._space.id, after=self._tail.last))
        if len(self._tail) < live:  # older passages were given vectors since, in a space that is being filled
            self._tail = Tail(self._space.dim, start)
            self._tail.extend(self._store.vectors(self._space.id, after=start))


def audit(store: Store, space: Space, *, sample: int = 200, k: int = 10, seed: int = 0) -> dict[str, Any]:
    """How much of the exact answer the search finds, and how fast, on the index's own vectors.

    `sample` stored vectors are queries, each without itself; once among all, once among a random tenth. recall in
    0..1; ms: median of a query, one at a time. plan: how they were found.
    """
    nearest = Nearest(store, space)
    with store.snapshot():
        ids, queries, tenth = _picked(store, space, sample, seed)
        _, _, plan = nearest.search(queries[:1], k + 1)  # opens the cache, outside the timing
        right, right_tenth = (nearest._exact(queries, k + 1, among) for among in (None, tenth))
        found, ms = _timed(lambda query: nearest.search(query, k + 1)[:2], queries)
        _, ms_exact = _timed(lambda query: nearest.search(query, k + 1, exact=True)[:2], queries[:EXACT_TIMED])
        found_tenth = nearest._cache_and_tail(queries, k + 1, tenth)[:2]
    return {
        "queries": len(ids),
        "k": k,
        "recall": _recall(ids, found, right, k),
        "recall_filtered": _recall(ids, found_tenth, right_tenth, k),
        "ms": ms,
        "ms_exact": ms_exact,
        "plan": plan,
    }


def _picked(store: Store, space: Space, sample: int, seed: int) -> tuple[Ids, Vectors, Ids]:
    """ids (m,) and vectors (m, d) of up to `sample` stored vectors, and the ids of a tenth of all, at random."""
    known = [ids for ids, _ in store.vectors(space.id)]
    everything = np.concatenate([np.empty(0, np.int64), *known])
    random = np.random.default_rng(seed)
    tenth = everything[random.random(len(everything)) < 0.1]
    chosen = np.sort(random.choice(everything, min(sample, len(everything)), replace=False))
    rows = [np.empty((0, space.dim), np.float32), *(part for _, part in store.vectors(space.id, ids=chosen))]
    return chosen, np.concatenate(rows), tenth


def _timed(search: Callable[[Vectors], Found], queries: Vectors) -> tuple[Found, float]:
    """Search one query at a time: everything found, and the median in ms."""
    parts, took = [_top.nothing(0, 1)], [0.0] if not len(queries) else []
    for query in queries:
        began = time.perf_counter()
        parts.append(search(query[None]))
        took.append((time.perf_counter() - began) * 1000)
    found = parts[1:] or parts
    joined = np.concatenate([ids for ids, _ in found]), np.concatenate([scores for _, scores in found])
    return joined, round(float(np.median(took)), 3)


def _recall(own: Ids, found: Found, right: Found, k: int) -> float:
    """Share of the right k that was found. A hit counts that reaches the k-th right cosine: equal texts are equal."""
    hits = wanted = 0
    for id_, ids, scores, right_ids, right_scores in zip(own, *found, *right, strict=True):
        others = right_scores[(right_ids != id_) & (right_ids >= 0)][:k]
        wanted += len(others)
        if len(others):
            hits += min(len(others), int((scores[ids != id_] >= others[-1] - 1e-6).sum()))
    return round(hits / wanted, 4) if wanted else 1.0


def _plan(name: str, allowed: Ids | None) -> dict[str, Any]:
    return {"pass": name, "backend": "exact", "allowed": None if allowed is None else len(allowed), "warnings": []}
