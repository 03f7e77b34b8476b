"""A copy of a flat index on a GPU: the same results as on the CPU, faster.

The copy is in float16 and only proposes candidates; the index itself scores them in float32. The CPU searches if
float16 leaves a result in doubt, if the GPU does not support the search, and always after the GPU has failed. GPU
indexes ignore selectors (facebookresearch/faiss#3114), so a filtered search never runs here.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import faiss
import numpy as np

from semsearch import settings
from semsearch.vector_index.backends._faiss import FaissIndex, last_line

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

PAYS = 20_000_000  # comparisons: 1.4 s at width 384 on one thread, about as long as starting CUDA and copying
MOST = 2048  # candidates of a query; FAISS selects no more on a GPU
SPARE = 64  # candidates beyond 2 k
DRIFT = 1.2e-3  # of a cosine when both vectors are rounded to float16: 2 x 2^-11 and a margin
SCRATCH = 64 << 20  # bytes of GPU memory for intermediate results; FAISS would take 1.5 GB, and torch needs some too


class Card:
    """Searches one flat index on a GPU, once that pays off. `device` is where the last search ran."""

    def __init__(self) -> None:
        self.device = "cpu"
        self.warnings: tuple[str, ...] = ()
        self._compared = 0
        self._copy: tuple[int, object, FaissIndex] | None = None  # number of the GPU, its resources, the index there
        self._lock = threading.Lock()  # GPU indexes do not support several threads

    def search(
        self, index: FaissIndex, queries: Vectors, k: int, *, filtered: bool = False
    ) -> tuple[Vectors, Ids] | None:
        """Scores (q, k) and positions (q, k), the same as those of `index`; None if it has to search itself."""
        self.device = "cpu"
        if filtered or self.warnings or k > MOST:
            return None
        self._compared += len(queries) * index.ntotal
        number = self._copy[0] if self._copy else _number(paid=self._compared >= PAYS)
        if number is None:
            return None
        try:
            with self._lock:
                if self._copy is None or self._copy[2].ntotal != index.ntotal:
                    self._copy = None  # there may be no room for two copies
                    self._copy = (number, *copied(index, number))
                hits = _nearest(self._copy[2], index, queries, k)
        except Exception as error:  # FAISS raises RuntimeError for full memory, AttributeError for a missing function
            self._copy = None
            self.warnings = (f"FAISS searches on the CPU: the GPU failed ({last_line(error)}).",)
            return None
        self.device = f"cuda:{number}"
        return hits


def _nearest(copy: FaissIndex, index: FaissIndex, queries: Vectors, k: int) -> tuple[Vectors, Ids]:
    """The k best by float32 among a few candidates of its `copy` on the GPU; then the most, then all on the CPU."""
    scores = np.empty((len(queries), k), dtype=np.float32)
    positions = np.empty((len(queries), k), dtype=np.int64)
    doubtful = np.arange(len(queries))
    for width in sorted({min(index.ntotal, 2 * k + SPARE, MOST), min(index.ntotal, MOST)}):
        rough, candidates = copy.search(queries[doubtful], width)
        certain = np.zeros(len(doubtful), dtype=bool)
        for row, at in enumerate(doubtful):
            scores[at], positions[at] = _best(index, queries[at], candidates[row], k)
            certain[row] = width == index.ntotal or scores[at, -1] >= rough[row].min() + DRIFT
        doubtful = doubtful[~certain]
        if not len(doubtful):
            return scores, positions
    scores[doubtful], positions[doubtful] = index.search(queries[doubtful], k)
    return scores, positions


def copied(index: FaissIndex, number: int) -> tuple[object, FaissIndex]:
    """A copy of `index` on a GPU in float16, after the resources that have to live as long as it."""
    resources = faiss.StandardGpuResources()
    resources.setTempMemory(SCRATCH)
    options = faiss.GpuClonerOptions()
    options.useFloat16 = True
    return resources, faiss.index_cpu_to_gpu(resources, number, index, options)


def trouble(number: int) -> str:
    """Why FAISS cannot search on that GPU; "" if a search works."""
    if number >= count():
        return f"FAISS finds {count()} GPUs"
    index = faiss.IndexFlatIP(8)
    index.add(np.eye(8, dtype=np.float32))
    try:
        _resources, copy = copied(index, number)
        right = copy.search(np.eye(8, dtype=np.float32), 1)[1][:, 0].tolist() == list(range(8))
    except Exception as error:  # after any error the CPU searches
        return last_line(error)
    return "" if right else "its answers are wrong"


def count() -> int:
    """The number of GPUs that this FAISS can search on; 0 if it was built for CPUs, or finds none."""
    with suppress(Exception):
        return int(faiss.get_num_gpus()) if hasattr(faiss, "StandardGpuResources") else 0
    return 0


def _number(*, paid: bool) -> int | None:
    """The GPU that the setting `device` allows, or None. auto waits until a copy pays off."""
    available = count()
    device = settings.load().device if available else "cpu"
    if device == "cpu" or (device == "auto" and not paid):
        return None
    number = int(device.partition(":")[2] or 0)
    return number if number < available else None


def _best(index: FaissIndex, query: Vectors, candidates: Ids, k: int) -> tuple[Vectors, Ids]:
    """The k best of candidates (c,) by their float32 vectors, equal scores by position."""
    scores = index.reconstruct_batch(candidates) @ query
    order = np.lexsort((candidates, -scores))[:k]
    return scores[order], candidates[order]
