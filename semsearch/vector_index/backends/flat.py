"""FAISS Flat: every vector in float32, compared one by one. Exact; 4 d bytes a vector. On a GPU where one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import faiss

from semsearch.vector_index.backends._faiss import FaissBackend
from semsearch.vector_index.backends._gpu import Card

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors


class Backend(FaissBackend):
    """Exact inner products; allowed ids are honoured by FAISS itself."""

    name: ClassVar[str] = "flat"

    def __init__(self, dim: int, spec: str, settings: dict[str, int], ids: Ids, index: Any) -> None:
        super().__init__(dim, spec, settings, ids, index)
        self._card = Card()

    @property
    def device(self) -> str:
        """Where the last search ran: cpu or cuda:N."""
        return self._card.device

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why a GPU that is there is not used; () where all is well."""
        return self._card.warnings

    @classmethod
    def factory(cls, dim: int, count: int) -> str:
        return "Flat"

    def nearest(self, queries: Vectors, k: int, selected: Any, share: float) -> tuple[Vectors, Ids]:
        found = self._card.search(self._index, queries, k, filtered=selected is not None)
        if found is not None:
            return found
        scores, positions = self._index.search(queries, k, params=faiss.SearchParameters(sel=selected))
        return scores, positions
