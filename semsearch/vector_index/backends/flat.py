"""FAISS Flat: every vector in float32, compared one by one. Exact; 4 d bytes a vector. On a GPU if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import faiss

from semsearch.vector_index.backends._faiss import FaissBackend, FaissIndex, Selector
from semsearch.vector_index.backends._gpu import Card

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors


class Backend(FaissBackend):
    """Exact inner products; FAISS itself filters by allowed ids."""

    name: ClassVar[str] = "flat"

    def __init__(self, dim: int, spec: str, settings: dict[str, int], ids: Ids, index: FaissIndex) -> None:
        super().__init__(dim, spec, settings, ids, index)
        self.card = Card()

    @classmethod
    def factory(cls, dim: int, count: int) -> str:
        return "Flat"

    def nearest(self, queries: Vectors, k: int, selected: Selector, share: float) -> tuple[Vectors, Ids]:
        hits = self.card.search(self._index, queries, k, filtered=selected is not None)
        self.device, self.warnings = self.card.device, self.card.warnings
        if hits is not None:
            return hits
        scores, positions = self._index.search(queries, k, params=faiss.SearchParameters(sel=selected))
        return scores, positions
