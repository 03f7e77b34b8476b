"""RaBitQ fast scan over the nearest of 4 sqrt(n) cells, SQ8 refinement.

0.69 ms at 10^6 x 384 on one thread; slow to build (k-means), so only for more vectors than a full scan can handle.
"""

from __future__ import annotations

from functools import partial
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar

import faiss

from semsearch.vector_index.backends._rabitq import FACTORS, TARGET, RabitqBackend

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

POINTS_PER_CELL = 50  # to train with; FAISS wants at least 39
ROUNDS = 10  # of k-means
FEW_ALLOWED = 0.1  # share of all vectors; below it a scan of their codes is faster than probing nearly every cell


class Backend(RabitqBackend):
    """With a selector more cells are probed, the more the fewer ids are allowed, and at last all codes scanned."""

    name: ClassVar[str] = "ivf"

    @classmethod
    def factory(cls, dim: int, count: int) -> str:
        return f"RR{dim},IVF{_cells(count)},RaBitQfs,Refine(SQ8)"

    @classmethod
    def training_size(cls, count: int) -> int:
        return max(1_000, POINTS_PER_CELL * _cells(count))

    @classmethod
    def train(cls, index: Any, sample: Vectors) -> None:
        clustering = faiss.extract_index_ivf(index.base_index).cp
        clustering.niter = ROUNDS
        clustering.min_points_per_centroid = 1  # no warning on stderr; _cells makes sure that cells are well filled
        clustering.max_points_per_centroid = POINTS_PER_CELL
        super().train(index, sample)

    def tune(self, sample: Vectors) -> dict[str, int]:
        """First the fewest cells, with the most candidates; then the fewest candidates."""
        most = self._lists().nlist
        numbers = [*(n for n in (4, 8, 16, 32, 64, 128, 256, 512, 1024) if n < most), most]
        cells = self.least(sample, numbers, TARGET, partial(self._probed, factor=FACTORS[-1]))
        factor = self.least(sample, FACTORS, TARGET - 0.002, lambda queries, k, n: self._probed(queries, k, cells, n))
        return {"cells": cells, "factor": factor}

    def nearest(self, queries: Vectors, k: int, selected: Any, share: float) -> tuple[Vectors, Ids]:
        if selected is not None and share < FEW_ALLOWED:
            return self.scan(queries, k, selected)
        cells = min(self._lists().nlist, round(self.settings["cells"] / share))
        return self._probed(queries, k, cells, self.settings["factor"], selected)

    def _probed(self, queries: Vectors, k: int, cells: int, factor: int, selected: Any = None) -> tuple[Vectors, Ids]:
        lists = faiss.IVFSearchParameters(nprobe=cells, sel=selected)
        base = faiss.SearchParametersPreTransform(index_params=lists)
        return self.refined(queries, k, factor, base_index_params=base)

    def _lists(self) -> Any:
        return faiss.extract_index_ivf(self._index.base_index)


def _cells(count: int) -> int:
    """4 sqrt(n), but no more than there are training points for."""
    return max(1, min(4 * isqrt(count), count // POINTS_PER_CELL))
