"""Base class of the backends for many vectors: cells of one-bit codes (RaBitQ), of which only the nearest are scanned.

RaBitQ: Gao and Long 2024, https://arxiv.org/abs/2405.12497; FAISS scans 32 codes at a time. A random rotation (RR)
first spreads the information in a vector over all dimensions.

How many cells are searched and how many candidates are compared again is found while the index is built: the cheapest
pair that reaches the target recall among all vectors, and, with more cells, among every twentieth. A filter asks for
more cells, but not for twenty times as many: the ten nearest of a twentieth are about the two hundred nearest of all,
and most of these are in the same cells.
"""

from __future__ import annotations

from math import isqrt, log
from typing import TYPE_CHECKING, ClassVar, Self

import faiss
import numpy as np

from semsearch.errors import SemsearchError
from semsearch.vector_index.backends import _file
from semsearch.vector_index.backends._faiss import FaissBackend, FaissIndex, Selector
from semsearch.vector_index.backends._tuning import FILTERED, Truth

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

TARGET = 0.975  # recall@10 among the candidates, of the queries to tune with
FILTERED_TARGET = 0.955  # the same with a filter
CANDIDATES = (100, 150, 200, 300, 400, 600, 1_000)  # of the one-bit codes
CELLS = tuple(sorted({step << power for step in (4, 6) for power in range(15)}))  # 4, 6, 8, 12, 16, 24 …
CELLS_PER_ROOT = 2  # cells for each sqrt(n): half as many scan a third more codes, twice as many train for long
POINTS_PER_CELL = 40  # to train with; FAISS wants at least 39
ROUNDS = 8  # of k-means
AT_ONCE = 20  # queries of tuning; with every cell each takes 4 d bytes a cell, 3 MB at a million vectors


class RabitqBackend(FaissBackend):
    """An IVF index behind a rotation, which a subclass may put below a refinement of the candidates."""

    per_candidate: ClassVar[int]  # the codes that are compared in the time that a candidate takes afterwards

    @classmethod
    def factory(cls, dim: int, count: int) -> str:
        return f"RR{dim},IVF{_cells(count)},RaBitQfs"

    @classmethod
    def training_size(cls, count: int) -> int:
        return max(1_000, POINTS_PER_CELL * _cells(count))

    @classmethod
    def train(cls, index: FaissIndex, sample: Vectors) -> None:
        clustering = faiss.extract_index_ivf(index).cp
        clustering.niter = ROUNDS
        clustering.min_points_per_centroid = 1  # no warning on stderr; _cells makes sure that cells are well filled
        clustering.max_points_per_centroid = POINTS_PER_CELL
        index.train(sample)

    @classmethod
    def read(cls, buffer: memoryview) -> Self:
        if _file.read(buffer)[0]["first"]:
            raise SemsearchError("an older version of semsearch built it, with other codes.")
        return super().read(buffer)

    def tune(self, truth: Truth) -> dict[str, int]:
        """The number of candidates that costs least, and the cells with which it reaches both targets."""
        some, _ = self._bitmap(truth.filtered())
        cells, filtered = self._fewest(truth, TARGET), self._fewest(truth, FILTERED_TARGET, some)
        codes = len(self) / self._every()
        both = cells.keys() & filtered.keys()
        cost = {count: (cells[count] + filtered[count]) * codes + 2 * count * self.per_candidate for count in both}
        best = min(cost, key=cost.__getitem__)
        return {"cells": cells[best], "filtered_cells": max(cells[best], filtered[best]), "candidates": best}

    def _fewest(self, truth: Truth, target: float, selected: Selector = None) -> dict[int, int]:
        """For each number of candidates that reaches the recall `target`, the fewest cells; all cells for the most."""
        counts, every = sorted({min(count, len(self)) for count in CANDIDATES}), self._every()
        fewest = {counts[-1]: every}
        for cells in (every, *(step for step in reversed(CELLS) if step < every)):
            blocks = np.array_split(truth.queries, len(truth.queries) // AT_ONCE)
            positions = np.concatenate([self.probed(block, counts[-1], cells, selected)[1] for block in blocks])
            recalls = {count: truth.recall(positions[:, :count], filtered=selected is not None) for count in counts}
            reached = [count for count in counts if recalls[count] >= target]
            if not reached:
                break
            fewest |= dict.fromkeys(reached, cells)
        return fewest

    def candidates(self, k: int) -> int:
        return max(self.settings.get("candidates", CANDIDATES[-1]), 2 * k)

    def nearest(self, queries: Vectors, k: int, selected: Selector, share: float) -> tuple[Vectors, Ids]:
        """A filter may pass what is far from the query only: more cells are searched while the nearest have too few."""
        every, probes = self._every(), self._probes(share)
        count = min(RabitqBackend.candidates(self, k), round(share * len(self)))
        while True:
            scores, positions = self.ordered(queries, count, probes, selected)
            if probes == every or (positions[:, -1] >= 0).all():
                return scores[:, :k], positions[:, :k]
            probes = min(every, 4 * probes)

    def probed(self, queries: Vectors, count: int, probes: int, selected: Selector = None) -> tuple[Vectors, Ids]:
        """The best of the `probes` nearest cells by one-bit codes: scores and positions (q, count), missing ones -1."""
        scores, positions = self.coded.search(queries, count, params=parameters(probes, selected))
        return scores, positions

    def ordered(self, queries: Vectors, count: int, probes: int, selected: Selector) -> tuple[Vectors, Ids]:
        """The same in a better order, if there is one."""
        return self.probed(queries, count, probes, selected)

    @property
    def coded(self) -> FaissIndex:
        """The index of the one-bit codes."""
        return self._index

    def _every(self) -> int:
        return int(faiss.extract_index_ivf(self.coded).nlist)

    def _probes(self, share: float) -> int:
        """The cells to search where `share` of the vectors is allowed: between and beyond those tuned."""
        every = self._every()
        few, filtered = self.settings.get("cells", every), self.settings.get("filtered_cells", every)
        wider: float = (filtered / few) ** (log(1 / share) / log(FILTERED))
        return min(every, max(1, round(few * wider)))


def parameters(probes: int, selected: Selector) -> faiss.SearchParametersPreTransform:
    """How to search an IVF index behind a rotation."""
    return faiss.SearchParametersPreTransform(index_params=faiss.IVFSearchParameters(nprobe=probes, sel=selected))


def _cells(count: int) -> int:
    """A multiple of sqrt(n), but no more than there are training points for."""
    return max(1, min(CELLS_PER_ROOT * isqrt(count), count // POINTS_PER_CELL))
