"""What the compressed backends share: one bit a dimension to find candidates, eight bits to order them.

RaBitQ: Gao and Long 2024, https://arxiv.org/abs/2405.12497; FAISS runs its fast scan on 32 codes at a time. A random
rotation (RR) first spreads what a vector says over all dimensions; SQ8 codes of the vectors order the candidates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import faiss
import numpy as np

from semsearch.vector_index.backends._faiss import SEED, FaissBackend

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

TARGET = 0.985  # recall@10 of the candidates at build time; the SQ8 order is made good by exact re-scoring later
FACTORS = (4, 8, 16, 32, 64, 128, 256)  # candidates per wanted neighbour
PROBES = 64  # queries to tune with: their exact answers cost 2 s at a million vectors
NEIGHBOURS = 10
FEW = 1_000  # vectors; from fewer the range of a dimension cannot be told
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
        """Compare the SQ8 codes one by one: near-exact, and honours every selector."""
        refine = faiss.downcast_index(self._index.refine_index)
        scores, positions = refine.search(queries, k, params=faiss.SearchParameters(sel=selected))
        return scores, positions

    def candidates(self, k: int, factor: int) -> int:
        """How many candidates to order for k neighbours: as many for k = 1 as for 10."""
        return min(len(self), max(k, NEIGHBOURS) * factor)


def probes(sample: Vectors) -> Vectors:
    """(PROBES, d) queries: half are stored vectors, half lie between two of them, where it is harder."""
    random = np.random.default_rng(SEED)
    pairs = sample[random.integers(0, len(sample), (2, PROBES))]
    queries = pairs[0] + np.where(np.arange(PROBES) % 2, 0.0, 1.0)[:, None] * pairs[1]
    lengths = np.linalg.norm(queries, axis=1, keepdims=True)
    return np.ascontiguousarray(queries / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def recall(scores: Vectors, truth: Vectors) -> float:
    """Share of scores (q, k) that reach the last of truth (q, k): equal scores are equally right."""
    return float((scores >= truth[:, -1:] - 1e-6).mean())


def _range(sample: Vectors) -> Vectors:
    """(2, d): the least and the greatest value of each dimension, with a margin; -1 and 1 where too few are known."""
    if len(sample) < FEW:
        return np.repeat(np.array([[-1.0], [1.0]], dtype=np.float32), sample.shape[1], axis=1)
    low, high = sample.min(axis=0), sample.max(axis=0)
    spare = MARGIN * (high - low) + 1e-6
    return np.stack([low - spare, high + spare]).astype(np.float32)
