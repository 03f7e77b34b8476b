"""What an open index keeps in memory between searches; it is read again after a commit, and only then."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from semsearch.encoders.query_cache import QueryCache
from semsearch.search import null_distribution
from semsearch.search.searcher import Searcher, check
from semsearch.stores.local.store import Space, Store
from semsearch.types import Query, Results
from semsearch.vector_index.searcher import Nearest


@dataclass(frozen=True, slots=True)
class _Known:
    """Of the store at `version`: the cosines of unrelated texts, and the prefix of each followed folder."""

    version: int
    background: tuple[float, ...]
    bases: Mapping[str, str]


class Session:
    """Searches one space of one store. Threads may share it: nothing that a search uses changes under it.

    `encoder` is called for only when a query needs a vector.
    """

    def __init__(self, store: Store, space: Space, encoder: Callable[[], QueryCache]) -> None:
        self._store = store
        self._space = space
        self._encoder = encoder
        self._nearest = Nearest(store, space)
        self._known: _Known | None = None

    def search(self, query: Query) -> Results:
        """The hits for one query. Raises UsageError, BadFilter, NotFound."""
        return self._searcher(self._encoder).search(query)

    def search_all(self, queries: Sequence[Query]) -> list[Results]:
        """The hits for each of many. Their texts go through the encoder in one call, and each is told its share."""
        for query in queries:
            check(query)
        texts = list(dict.fromkeys(text for query in queries if query.mode != "keyword" for text in _texts(query)))
        if len(texts) < 2:
            return [self.search(query) for query in queries]
        began = time.perf_counter()
        encoder = self._encoder().prefetch(texts)
        share = (time.perf_counter() - began) * 1000 / len(queries)
        answers = [self._searcher(lambda: encoder).search(query) for query in queries]
        return [replace(one, took_ms={**one.took_ms, "encode": round(share, 2)}) for one in answers]

    def _searcher(self, encoder: Callable[[], QueryCache]) -> Searcher:
        known = self._current()
        return Searcher(self._store, self._space, self._nearest, encoder, known.background, known.bases)

    def _current(self) -> _Known:
        with self._store.snapshot():
            known, version = self._known, self._store.version()
            if known is None or known.version != version:
                space = next(space for space in self._store.spaces() if space.id == self._space.id)
                known = _Known(version, null_distribution.background(space), self._store.recipe().get("bases", {}))
                self._known = known
        return known


def _texts(query: Query) -> list[str]:
    """What of a query has to be encoded."""
    own = [query.text] if query.text.strip() else []
    return [*own, *(text for text, _ in (*query.more, *query.less))]
