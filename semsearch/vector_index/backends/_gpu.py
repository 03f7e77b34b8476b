"""A copy of a flat index on a GPU: the same answers as the CPU's, sooner.

The card holds float16 and only proposes candidates; the index itself scores them in float32. An answer that float16
leaves in doubt, one that the card is not made for, and every one after the card failed are found on the CPU. GPU
indexes ignore selectors (facebookresearch/faiss#3114), so a filtered search is never sent here.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import faiss
import numpy as np

from semsearch import settings

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

PAYS = 20_000_000  # comparisons: 1.4 s at width 384 on one thread, about what starting CUDA and a copy cost
MOST = 2048  # candidates of a query; FAISS selects no more on a GPU
SPARE = 64  # candidates beyond 2 k
DRIFT = 1.2e-3  # of a cosine when both vectors are rounded to float16 (2 x 2^-11), and some
SCRATCH = 64 << 20  # bytes of the card for intermediate results; FAISS would take 1.5 GB, and torch is there too


class Card:
    """Searches one flat index on a GPU, once that pays. `device` is where the last search ran."""

    def __init__(self) -> None:
        self.device = "cpu"
        self.warnings: tuple[str, ...] = ()
        self._compared = self._at = 0
        self._resources: Any = None
        self._copy: Any = None
        self._lock = threading.Lock()  # GPU indexes are not for several threads at a time

    def search(self, index: Any, queries: Vectors, k: int, *, filtered: bool = False) -> tuple[Vectors, Ids] | None:
        """Scores (q, k) and positions (q, k) as `index` would give them; None where it has to do it."""
        self.device = "cpu"
        if filtered or self.warnings or k > MOST:
            return None
        self._compared += len(queries) * index.ntotal
        number = self._at if self._copy is not None else _number(paid=self._compared >= PAYS)
        if number is None:
            return None
        try:
            with self._lock:
                if self._copy is None or self._copy.ntotal != index.ntotal:
                    self._copy, self._at = None, number  # two copies may not fit
                    self._resources, self._copy = copied(index, number)
                found = self._found(index, queries, k)
        except Exception as error:  # FAISS raises RuntimeError for a full card, AttributeError for what it lacks
            self._copy = self._resources = None
            self.warnings = (f"FAISS searches on the CPU: the GPU failed ({_last_line(error)}).",)
            return None
        self.device = f"cuda:{number}"
        return found

    def _found(self, index: Any, queries: Vectors, k: int) -> tuple[Vectors, Ids]:
        """The k best by float32 among the card's candidates: a few first, then as many as it gives, then all."""
        scores = np.empty((len(queries), k), dtype=np.float32)
        positions = np.empty((len(queries), k), dtype=np.int64)
        doubtful = np.arange(len(queries))
        for width in sorted({min(index.ntotal, 2 * k + SPARE, MOST), min(index.ntotal, MOST)}):
            rough, candidates = self._copy.search(queries[doubtful], width)
            certain = np.zeros(len(doubtful), dtype=bool)
            for row, at in enumerate(doubtful):
                scores[at], positions[at] = _best(index, queries[at], candidates[row], k)
                certain[row] = width == index.ntotal or scores[at, -1] >= rough[row].min() + DRIFT
            doubtful = doubtful[~certain]
            if not len(doubtful):
                return scores, positions
        scores[doubtful], positions[doubtful] = index.search(queries[doubtful], k)
        return scores, positions


def copied(index: Any, number: int) -> tuple[Any, Any]:
    """The resources that a copy of `index` on a GPU needs as long as it lives, and the copy, in float16."""
    resources = faiss.StandardGpuResources()
    resources.setTempMemory(SCRATCH)
    options = faiss.GpuClonerOptions()
    options.useFloat16 = True
    return resources, faiss.index_cpu_to_gpu(resources, number, index, options)


def trouble(number: int) -> str:
    """Why FAISS cannot search on that GPU; "" where it can, which is tried."""
    if number >= count():
        return f"FAISS finds {count()} GPUs"
    index = faiss.IndexFlatIP(8)
    index.add(np.eye(8, dtype=np.float32))
    try:
        held = copied(index, number)
        right = held[1].search(np.eye(8, dtype=np.float32), 1)[1][:, 0].tolist() == list(range(8))
    except Exception as error:  # whatever it is, the CPU searches
        return _last_line(error)
    return "" if right else "its answers are wrong"


def count() -> int:
    """GPUs that this FAISS can search on; 0 where it was built for CPUs, or finds none."""
    with suppress(Exception):
        return int(faiss.get_num_gpus()) if hasattr(faiss, "StandardGpuResources") else 0
    return 0


def _number(*, paid: bool) -> int | None:
    """Which GPU the setting `device` allows, None for none. auto waits until the copy is paid for."""
    there = count()
    device = settings.load().device if there else "cpu"
    if device == "cpu" or (device == "auto" and not paid):
        return None
    number = int(device.partition(":")[2] or 0)
    return number if number < there else None


def _best(index: Any, query: Vectors, candidates: Ids, k: int) -> tuple[Vectors, Ids]:
    """Of candidates (c,) the k best by their float32 vectors, equal scores by position."""
    scores = index.reconstruct_batch(candidates) @ query
    order = np.lexsort((candidates, -scores))[:k]
    return scores[order], candidates[order]


def _last_line(error: Exception) -> str:
    """What went wrong: FAISS says first where, in C++."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1][:200]
