"""Base class of the compressed backends: one bit per dimension to find candidates, eight bits to order them.

RaBitQ: Gao and Long 2024, https://arxiv.org/abs/2405.12497; FAISS scans 32 codes at a time. A random rotation (RR)
first spreads the information in a vector over all dimensions; SQ8 codes of the vectors order the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import faiss
import numpy as np

from semsearch.utils.vectors import unit_rows
from semsearch.vector_index.backends._faiss import SEED, FaissBackend

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

    Search = Callable[[Vectors, int, int], tuple[Vectors, Ids]]

TARGET = 0.985  # recall@10 of the candidates at build time; exact re-scoring corrects the SQ8 order later
FACTORS = (4, 8, 16, 32, 64, 128, 256)  # candidates per neighbour
PROBES = 64  # queries to tune with: their exact answers cost 2 s at a million vectors
NEIGHBOURS = 10
FEW = 1_000  # vectors; fewer do not show the range of a dimension
MARGIN = 0.1  # of the range, for vectors that come later


class RabitqBackend(FaissBackend):
    """An IndexRefine: `base_index` finds candidates, `refine_index` (SQ8) orders them."""

    @classmethod
    def train(cls, index: Any, sample: Vectors) -> None:
        """Train the base on sample (m, d), and give SQ8 the range of each dimension."""
        index.base_index.train(sample)
        index.refine_index.train(_range(sample))
        index.is_trained = True

    def scan(self, queries: Vectors, k: int, selected: Any = None) -> tuple[Vectors, Ids]:
        """Compare the SQ8 codes one by one: nearly exact, with any selector."""
        refine = faiss.downcast_index(self._index.refine_index)
        scores, positions = refine.search(queries, k, params=faiss.SearchParameters(sel=selected))
        return scores, positions

    def refined(self, queries: Vectors, k: int, factor: int, **base: Any) -> tuple[Vectors, Ids]:
        """Find `factor` candidates per neighbour and order them; `base`: parameters of the search for candidates."""
        candidates = min(len(self), max(k, NEIGHBOURS) * factor)  # as many for k = 1 as for 10
        params = faiss.IndexRefineSearchParameters(k_factor=candidates / k, **base)
        scores, positions = self._index.search(queries, k, params=params)
        return scores, positions

    def least(self, sample: Vectors, values: Sequence[int], target: float, search: Search) -> int:
        """The first of `values` at which search(queries, k, value) reaches the recall `target`, else the last."""
        queries, k = _probes(sample), min(NEIGHBOURS, len(self))
        truth = self.scan(queries, k)[0][:, -1:]
        for value in values:  # scores equal to the last right one are right
            if (search(queries, k, value)[0] >= truth - 1e-6).mean() >= target:
                return value
        return values[-1]


def _probes(sample: Vectors) -> Vectors:
    """(PROBES, d) queries: half are stored vectors, half are between two of them, which is harder."""
    random = np.random.default_rng(SEED)
    pairs = sample[random.integers(0, len(sample), (2, PROBES))]
    queries = pairs[0] + np.where(np.arange(PROBES) % 2, 0.0, 1.0)[:, None] * pairs[1]
    return unit_rows(queries)


def _range(sample: Vectors) -> Vectors:
    """(2, d): the least and the greatest value of each dimension, with a margin; -1 and 1 for small samples."""
    if len(sample) < FEW:
        return np.repeat(np.array([[-1.0], [1.0]], dtype=np.float32), sample.shape[1], axis=1)
    low, high = sample.min(axis=0), sample.max(axis=0)
    spare = MARGIN * (high - low) + 1e-6
    return np.stack([low - spare, high + spare]).astype(np.float32)
