"""Base class of the FAISS backends: checks of all input to FAISS, ids beside positions, one file.

FAISS numbers vectors 0 … n - 1 in the order in which they were added; `ids[position]` is the id. Both ascend, so a set
of allowed ids becomes a bitmap of positions. Threads: FAISS takes OMP_NUM_THREADS, or all cores it may use.
"""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import faiss
import numpy as np

from semsearch.errors import Corrupt
from semsearch.utils import vectors as rows
from semsearch.vector_index.backends import _file, _top
from semsearch.vector_index.backends._base import BaseBackend
from semsearch.vector_index.backends._tuning import SEED, Truth

if TYPE_CHECKING:
    from semsearch.types import Chunks, Ids, Vectors

FaissIndex: TypeAlias = Any  # FAISS has no types
Selector: TypeAlias = Any

QUERIES_AT_ONCE = 256  # bounds the candidate lists, which are q x candidates
LOOP_LIMIT = 1 << 24  # for example of lists in a file; ours have at most 4 * sqrt(n)


class FaissBackend(BaseBackend):
    """A FAISS index and the ids of its positions. Subclasses define how it is built and searched."""

    name: ClassVar[str]
    engine: ClassVar[str] = f"faiss {faiss.__version__}"
    in_place: ClassVar[bool] = True  # FAISS refers to the bytes of a file; False where it copies nearly all of them

    def __init__(self, dim: int, spec: str, settings: dict[str, int], ids: Ids, index: FaissIndex) -> None:
        self.dim, self.spec, self.settings, self.ids = dim, spec, settings, ids
        self._index = index
        self._selectors: list[tuple[weakref.ref[Ids], Selector, int]] = []
        self._buffer: memoryview | None = None  # the bytes that an index read from a file refers to

    # ---- for a subclass to define
    @classmethod
    def factory(cls, dim: int, count: int) -> str:
        """The FAISS factory string for `count` vectors."""
        raise NotImplementedError

    @classmethod
    def training_size(cls, count: int) -> int:
        """The number of vectors for training; 0 if nothing is trained."""
        return 0

    @classmethod
    def train(cls, index: FaissIndex, sample: Vectors) -> None:
        """Train `index` on sample (m, d), m >= 1."""

    def tune(self, truth: Truth) -> dict[str, int]:
        """Settings that reach the recall target once all vectors are added; {} if there are none."""
        return {}

    def nearest(self, queries: Vectors, k: int, selected: Selector, share: float) -> tuple[Vectors, Ids]:
        """Scores (q, k) and positions (q, k), k <= len(self); `selected` is a selector of that share, or None."""
        raise NotImplementedError

    # ---- the same for all
    @classmethod
    def build(cls, dim: int, chunks: Chunks, *, count: int) -> Self:
        """Train on a bounded sample, then add chunk by chunk: only the index and one chunk are in memory."""
        spec = cls.factory(dim, count)
        none, empty = _top.no_vectors(dim)
        made = cls(dim, spec, {}, none, faiss.index_factory(dim, spec, faiss.METRIC_INNER_PRODUCT))
        size = cls.training_size(count)
        sample = _sample(chunks, dim, count, size) if size else empty
        if len(sample):
            cls.train(made._index, sample)
        truth = Truth(sample) if len(sample) else None
        del sample
        parts = [none]
        for ids, vectors in chunks():
            checked = rows.check(vectors, dim=dim, what=cls.name)
            made._index.add(checked)
            parts.append(ids)
            if truth:
                truth.see(checked)
        made.ids = _file.ascending(none, np.concatenate(parts))
        if truth and len(made):
            made.settings = made.tune(truth)
        return made

    @classmethod
    def read(cls, buffer: memoryview) -> Self:
        """Use the vectors in place, as a part of `buffer`: 1.5 GB open in a millisecond, without a second copy."""
        header, ids, body = _file.read(buffer)
        faiss.set_deserialization_loop_limit(LOOP_LIMIT)
        faiss.set_deserialization_vector_byte_limit(len(buffer) + 4 * int(header["dim"]) ** 2)  # the file, the rotation
        bytes_ = np.frombuffer(body, dtype=np.uint8)
        try:
            if cls.in_place:
                index = faiss.read_index(faiss.ZeroCopyIOReader(faiss.swig_ptr(bytes_), bytes_.nbytes))
            else:
                index = faiss.deserialize_index(bytes_)
        except RuntimeError as error:
            raise Corrupt(f"FAISS {faiss.__version__} cannot read this index: {last_line(error)}.") from error
        if index.ntotal != len(ids) or index.d != header["dim"]:
            raise Corrupt(f"the index has {index.ntotal} vectors, and its list of ids {len(ids)}.")
        made = cls(int(header["dim"]), str(header["spec"]), header["settings"], ids, index)
        made._buffer = body if cls.in_place else None
        return made

    def save(self, path: Path) -> None:
        """Write one file."""
        header = {"backend": self.name, "dim": self.dim, "spec": self.spec, "settings": self.settings}
        index = self._index
        _file.write(path, header, self.ids, lambda to: faiss.write_index(index, faiss.PyCallbackIOWriter(to.write)))

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """ids (n,) above the stored ones, vectors (n, d). An untrained index is trained on them."""
        checked = rows.check(vectors, dim=self.dim, what=self.name)
        joined = _file.ascending(self.ids, ids)
        if not len(checked):
            return
        if self._buffer is not None:  # FAISS aborts the process when a view has to grow: make a copy
            self._index = faiss.deserialize_index(np.frombuffer(self._buffer, dtype=np.uint8))
            self._buffer = None
        untrained = not self._index.is_trained
        if untrained:
            self.train(self._index, checked)
        self._index.add(checked)
        self.ids = joined
        self._selectors = []
        if untrained:
            truth = Truth(checked)
            truth.see(checked)
            self.settings = self.tune(truth)

    def search(self, queries: Vectors, k: int, allowed: Ids | None = None) -> tuple[Ids, Vectors]:
        """queries (q, d) -> ids (q, k), cosines (q, k)."""
        checked = rows.check(queries, dim=self.dim, what="query")
        selected, reachable = self._selector(allowed)
        take = min(k, reachable)  # past its end FAISS answers id -1 and score -3.4e38
        if take == 0 or len(checked) == 0:
            return _top.nothing(len(checked), k)
        share = reachable / len(self)
        blocks = (checked[at : at + QUERIES_AT_ONCE] for at in range(0, len(checked), QUERIES_AT_ONCE))
        hits = _top.joined(self._ids_of(*self.nearest(block, take, selected, share)) for block in blocks)
        return _top.merge([hits], k)

    def _selector(self, allowed: Ids | None) -> tuple[Selector, int]:
        """A FAISS selector of the positions of `allowed`, and their number; (None, n) if these are all.

        Those of an array that cannot be changed are kept while it exists: half a million ids take 20 ms to look up.
        """
        if allowed is None:
            return None, len(self)
        self._selectors = [kept for kept in self._selectors if kept[0]() is not None]
        for array, selected, count in self._selectors:
            if array() is allowed:
                return selected, count
        at = _file.positions(self.ids, allowed)
        selected, count = self._bitmap(at) if len(at) < len(self) else (None, len(self))
        if not allowed.flags.writeable:
            self._selectors.append((weakref.ref(allowed), selected, count))
        return selected, count

    def _bitmap(self, positions: Ids) -> tuple[Selector, int]:
        here = np.zeros(len(self), dtype=bool)
        here[positions] = True
        return faiss.IDSelectorBitmap(np.packbits(here, bitorder="little")), len(positions)

    def _ids_of(self, scores: Vectors, positions: Ids) -> tuple[Ids, Vectors]:
        ids = np.where(positions >= 0, self.ids[positions], -1)
        return ids, np.where(positions >= 0, scores, -np.inf).astype(np.float32)


def _sample(chunks: Chunks, dim: int, count: int, size: int) -> Vectors:
    """About `size` of `count` vectors at random, in their order; the same ones every time."""
    share = min(1.0, size / max(1, count))
    random = np.random.default_rng(SEED)
    parts = [_top.no_vectors(dim)[1]]
    for _, vectors in chunks():
        checked = rows.check(vectors, dim=dim, what="training")
        parts.append(checked[random.random(len(checked)) < share] if share < 1 else checked)
    return np.concatenate(parts)


def last_line(error: Exception) -> str:
    """The message of a FAISS error, whose earlier lines name places in its C++ code."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1][:200]
