"""FAISS Flat: every vector in float32, compared one by one. Exact; 4 d bytes a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import faiss

from semsearch.backends._faiss import FaissBackend

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors


class Backend(FaissBackend):
    """Exact inner products; allowed ids are honoured by FAISS itself."""

    name: ClassVar[str] = "flat"

    @classmethod
    def factory(cls, dim: int, count: int) -> str:
        return "Flat"

    def nearest(self, queries: Vectors, k: int, selected: Any, share: float) -> tuple[Vectors, Ids]:
        scores, positions = self._index.search(queries, k, params=faiss.SearchParameters(sel=selected))
        return scores, positions
