"""The vectors of one space of a store that keeps its own index of them: the way of a search, and when to build one.

Few vectors are compared one by one; from INDEXED_FROM on there is an index of the engine, whose candidates are ordered
by their cosines with the stored vectors. Where it finds too few, because a filter or deletions take them away, every
vector is compared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias, TypeVar

from semsearch.errors import UnknownName
from semsearch.stores.protocol import Allowed, Dense
from semsearch.utils import plugins
from semsearch.utils import vectors as vector_checks
from semsearch.vector_index import backends
from semsearch.vector_index.backends import _top

if TYPE_CHECKING:
    from semsearch.stores.protocol import Rebuild
    from semsearch.types import Ids, JsonObject, Vectors

MANY_QUERIES = 8  # from so many on, vectors are read once and compared here
CHUNK = 4096  # vectors that are compared together
COMPARED = ("exact", "flat")  # back ends without an index; all others stand for that of the engine

A = TypeVar("A", bound=Allowed)
Hits: TypeAlias = list[tuple[int, float]]  # (passage, cosine), best first, equal cosines by passage


class RemoteVectors(ABC, Generic[A]):
    """`INDEX`: what the index of the engine is called. SUBSET_SHARE: of the vectors; of fewer allowed passages all are
    compared. MOST_HITS: of the index.
    """

    INDEX: ClassVar[str]
    INDEXED_FROM: ClassVar[int]
    SUBSET_SHARE: ClassVar[float]
    MOST_HITS: ClassVar[int] = 2**31
    dim: int

    @abstractmethod
    def count(self) -> int:
        """The number of vectors."""

    @abstractmethod
    def vectors(self, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192) -> Iterator[tuple[Ids, Vectors]]:
        """(passage ids (m,) ascending, their unit vectors (m, dim)) in pieces of at most `chunk`."""

    @abstractmethod
    def is_indexed(self) -> bool:
        """Whether there is a finished index."""

    @abstractmethod
    def _of(self, allowed: A, chunk: int) -> Iterator[tuple[Ids, Vectors]]:
        """`vectors`, of these passages alone."""

    @abstractmethod
    def _nearest(self, query: Vectors, k: int, allowed: A | None, *, indexed: bool) -> Hits:
        """The k nearest of a query (d,): by the index, which may find fewer, or of all."""

    @abstractmethod
    def _reason(self, *, indexed: bool) -> str:
        """What the index is, or why the engine cannot have one; "" where it can."""

    @abstractmethod
    def _build(self) -> None: ...
    @abstractmethod
    def _drop(self) -> None: ...

    def search(self, queries: Vectors, k: int, allowed: A | None, *, exact: bool) -> Dense:
        """The nearest passages of unit queries (q, d). Call it inside a snapshot."""
        rows = vector_checks.check(queries, dim=self.dim, what="query")
        count = self.count()
        there = count if allowed is None else min(count, len(allowed))
        broad = there > self.SUBSET_SHARE * count and k <= self.MOST_HITS
        indexed = broad and not exact and self.is_indexed()
        way = self.INDEX if indexed else "exact" if allowed is None else "exact subset"
        plan: JsonObject = {"pass": way, "backend": self.INDEX if indexed else "exact"}
        plan["allowed"] = None if allowed is None else len(allowed)
        nearest = _top.nothing(len(rows), k)
        if not there or k < 1:
            return Dense(*nearest, plan)
        if not indexed and len(rows) >= MANY_QUERIES:
            return Dense(*self._compared_here(rows, k, allowed), plan)
        for at, query in enumerate(rows):
            hits = self._nearest(query, k, allowed, indexed=indexed)
            if indexed and len(hits) < min(k, there):
                hits = self._nearest(query, k, allowed, indexed=False)
                plan["pass"] = f"{self.INDEX}, then exact"
            for place, (passage, cosine) in enumerate(hits):
                nearest[0][at, place], nearest[1][at, place] = passage, cosine
        return Dense(*nearest, plan)

    def _compared_here(self, queries: Vectors, k: int, allowed: A | None) -> tuple[Ids, Vectors]:
        nearest = _top.nothing(len(queries), k)
        for ids, stored in self.vectors(chunk=CHUNK) if allowed is None else self._of(allowed, CHUNK):
            nearest = _top.merge([nearest, _top.best(ids, queries @ stored.T, k)], k)
        return nearest

    def update_index(self, backend: str, when: Rebuild) -> None:
        """Build or drop the index, where that is due; writers go on meanwhile.

        Raises UnknownName for a backend that does not exist.
        """
        names = ("auto", *plugins.names(backends))
        if backend not in names:
            raise UnknownName("backend", backend, names)
        has = self.is_indexed()
        due = has or self.count() >= self.INDEXED_FROM if backend == "auto" else backend not in COMPARED
        due = due and not self._reason(indexed=False)
        if has and not due:
            self._drop()
        elif due and (when == "always" or not has):
            self._build()

    def newer(self) -> int:
        """Passages that the index does not have yet, which are compared beside it."""
        return 0

    def backend(self) -> JsonObject:
        """What searches the space, for `Index.info`: the backend and the reason for it."""
        count, indexed = self.count(), self.is_indexed()
        why = self._reason(indexed=indexed)
        if not why and count >= self.INDEXED_FROM:
            why = "no index was built yet, or an exact search was asked for"
        why = f"{count:,} vectors; {why or f'compared one by one up to {self.INDEXED_FROM:,}'}"
        return {
            "backend": self.INDEX if indexed else "exact",
            "why": why if count else "empty",
            "cache": None,
            "newer_than_cache": self.newer() if indexed else 0,
        }
