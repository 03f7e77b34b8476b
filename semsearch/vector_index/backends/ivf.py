"""Cells of one-bit codes, refined by four bits a dimension. 5/8 d + 24 bytes a vector.

The second code orders the candidates, so that few vectors have to be read from the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import faiss
import numpy as np

from semsearch.vector_index.backends._faiss import FaissIndex, Selector
from semsearch.vector_index.backends._rabitq import RabitqBackend, parameters

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

FEW = 1_000  # vectors; fewer do not show the range of a dimension
RANGE = 3.0  # standard deviations to each side; what is outside is cut off
SPARE = 20  # hits beyond those wanted, which exact cosines order


class Backend(RabitqBackend):
    """An IndexRefine: one-bit codes find candidates, four-bit codes (SQ4) order them."""

    name: ClassVar[str] = "ivf"
    per_candidate: ClassVar[int] = 200  # 2 µs
    rounding: ClassVar[float] = 0.2  # 0.01 at 384 dimensions

    @classmethod
    def factory(cls, dim: int, count: int) -> str:
        return f"{super().factory(dim, count)},Refine(SQ4)"

    @classmethod
    def train(cls, index: FaissIndex, sample: Vectors) -> None:
        super().train(faiss.downcast_index(index.base_index), sample)
        index.refine_index.train(_range(sample))
        index.is_trained = True

    @property
    def coded(self) -> FaissIndex:
        return faiss.downcast_index(self._index.base_index)

    def candidates(self, k: int) -> int:
        return k + SPARE

    def ordered(self, queries: Vectors, count: int, probes: int, selected: Selector) -> tuple[Vectors, Ids]:
        params = faiss.IndexRefineSearchParameters(k_factor=1, base_index_params=parameters(probes, selected))
        scores, positions = self._index.search(queries, count, params=params)
        return scores, positions


def _range(sample: Vectors) -> Vectors:
    """(2, d): the ends of the range of each dimension; -1 and 1 for small samples."""
    if len(sample) < FEW:
        return np.repeat(np.array([[-1.0], [1.0]], dtype=np.float32), sample.shape[1], axis=1)
    mean, spread = sample.mean(axis=0), RANGE * sample.std(axis=0) + 1e-6
    return np.stack([mean - spread, mean + spread]).astype(np.float32)
