"""The compressed form in cells: RaBitQ fast scan over the nearest of 4 sqrt(n) cells, SQ8 refine.

0.69 ms at 10^6 x 384 on one thread; slow to build (k-means), so only beyond what a full scan can do.
"""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar

import faiss

from semsearch.vector_index.backends._rabitq import FACTORS, NEIGHBOURS, TARGET, RabitqBackend, probes, recall

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

POINTS_PER_CELL = 50  # to train with; FAISS asks for 39 at least
ROUNDS = 10  # of k-means
FEW_ALLOWED = 0.1  # share of all vectors; below it a scan of their codes beats probing nearly every cell


class Backend(RabitqBackend):
    """Inverted lists honour selectors; as fewer are allowed, more cells are probed, then all codes are scanned."""

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
        clustering.min_points_per_centroid = 1  # silences a warning on stderr; _cells keeps cells well filled
        clustering.max_points_per_centroid = POINTS_PER_CELL
        super().train(index, sample)

    def tune(self, sample: Vectors) -> dict[str, int]:
        """First the fewest cells, with candidates in plenty; then the fewest candidates."""
        queries = probes(sample)
        k = min(NEIGHBOURS, len(self))
        truth, _ = self.scan(queries, k)
        cells = self._lists().nlist
        for probed in [*(n for n in (4, 8, 16, 32, 64, 128, 256, 512, 1024) if n < cells), cells]:
            if recall(self._refined(queries, k, FACTORS[-1], probed)[0], truth) >= TARGET:
                break
        for factor in FACTORS:
            if recall(self._refined(queries, k, factor, probed)[0], truth) >= TARGET - 0.002:
                break
        return {"cells": probed, "factor": factor}

    def nearest(self, queries: Vectors, k: int, selected: Any, share: float) -> tuple[Vectors, Ids]:
        if selected is not None and share < FEW_ALLOWED:
            return self.scan(queries, k, selected)
        cells = min(self._lists().nlist, round(self.settings["cells"] / share))
        return self._refined(queries, k, self.settings["factor"], cells, selected)

    def _refined(self, queries: Vectors, k: int, factor: int, cells: int, selected: Any = None) -> tuple[Vectors, Ids]:
        lists = faiss.IVFSearchParameters(nprobe=cells, sel=selected)
        base = faiss.SearchParametersPreTransform(index_params=lists)
        params = faiss.IndexRefineSearchParameters(k_factor=self.candidates(k, factor) / k, base_index_params=base)
        scores, positions = self._index.search(queries, k, params=params)
        return scores, positions

    def _lists(self) -> Any:
        return faiss.extract_index_ivf(self._index.base_index)


def _cells(count: int) -> int:
    """4 sqrt(n), but no more than can be filled with training points."""
    return max(1, min(4 * isqrt(count), count // POINTS_PER_CELL))
