"""What SQL over an index has beside the functions of SQLite: a search, and cosines of texts and passages."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from semsearch.errors import NotFound, UsageError
from semsearch.search.results_json import hit_object

if TYPE_CHECKING:
    from semsearch.types import EncoderProtocol, Results, Role, SqlValue, Vectors

MOST = 1000  # hits of a search in SQL
KEPT = 4096  # vectors that stay in memory: a text is compared with every passage, and encoded once


class Searchable(Protocol):
    """What the functions need of an index."""

    @property
    def encoder(self) -> EncoderProtocol: ...

    def vectors(self, ids: Sequence[int]) -> Vectors: ...


def functions(
    index: Searchable, search: Callable[[str, int, str | None], Results]
) -> dict[str, Callable[..., SqlValue]]:
    """The functions by name. `search` takes a text, the number of hits and a filter."""

    def hits(text: object = None, k: object = 10, where: object = None, *more: object) -> str:
        if not isinstance(text, str) or type(k) is not int or not (where is None or isinstance(where, str)) or more:
            fix = "Write semsearch_search('text', 10), or with a filter: semsearch_search('text', 10, 'year > 2020')."
            raise UsageError("semsearch_search takes a text, a number of hits, and a filter.", fix)
        results = search(text, min(k, MOST), where)
        return json.dumps([hit_object(hit) for hit in results], allow_nan=False)

    @lru_cache(KEPT)
    def encoded(text: str, role: Role) -> Vectors:
        return index.encoder.encode([text], role=role)

    @lru_cache(KEPT)
    def stored(passage: int) -> Vectors | None:
        try:
            return index.vectors([passage])
        except NotFound:
            return None

    def cosine(*both: object) -> float | None:
        if len(both) != 2 or any(type(one) not in (str, int, type(None)) for one in both):
            raise UsageError("cosine takes two texts or ids of passages.", "Write cosine(id, 'diesel').")
        ids = any(isinstance(one, int) for one in both)
        role: Role = "query" if ids else "passage"  # as a search compares, and as `sts` does
        rows = [stored(one) if isinstance(one, int) else None if one is None else encoded(one, role) for one in both]
        first, second = rows
        if first is None or second is None:
            return None
        return round(float(min(1.0, max(-1.0, first[0] @ second[0]))), 6)

    return {"semsearch_search": hits, "cosine": cosine}
