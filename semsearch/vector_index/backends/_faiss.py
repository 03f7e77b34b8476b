"""What the FAISS backends share: checks before FAISS sees anything, ids beside positions, one file.

FAISS numbers vectors 0 … n - 1 in the order they were added; `ids[position]` is the id. Both ascend, so a set of
allowed ids becomes a bitmap of positions. Threads: FAISS takes OMP_NUM_THREADS, or all cores it may use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Self

import faiss
import numpy as np

from semsearch.errors import Corrupt
from semsearch.utils import vectors as rows
from semsearch.vector_index.backends import _file, _top

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

Chunks = Callable[[], "Iterator[tuple[Ids, Vectors]]"]
SEED = 20240  # any fixed number: the same vectors give the same index
QUERIES_AT_ONCE = 256  # bounds the candidate lists, which are q x candidates
LOOP_LIMIT = 1 << 24  # lists in a file, say; ours have at most 4 * sqrt(n)


class FaissBackend:
    """A FAISS index and the ids of its positions. Subclasses say how it is made and searched."""

    name: ClassVar[str]
    engine: ClassVar[str] = f"faiss {faiss.__version__}"

    def __init__(self, dim: int, spec: str, settings: dict[str, int], ids: Ids, index: Any) -> None:
        self.dim = dim
        self.spec = spec
        self.settings = settings
        self.ids = ids
        self._index = index
        self._buffer: memoryview | None = None  # the bytes the index looks into, when it was read from a file

    # ---- what a subclass defines
    @classmethod
    def factory(cls, dim: int, count: int) -> str:
        """The FAISS factory string for `count` vectors."""
        raise NotImplementedError

    @classmethod
    def training_size(cls, count: int) -> int:
        """How many vectors training needs; 0 where nothing is trained."""
        return 0

    @classmethod
    def train(cls, index: Any, sample: Vectors) -> None:
        """Train `index` on sample (m, d), m >= 1."""

    def tune(self, sample: Vectors) -> dict[str, int]:
        """Settings that reach the recall target with everything added; {} where there are none."""
        return {}

    def nearest(self, queries: Vectors, k: int, selected: Any, share: float) -> tuple[Vectors, Ids]:
        """Scores (q, k) and positions (q, k), k <= len(self); `selected` is a selector of that share, or None."""
        raise NotImplementedError

    # ---- what they share
    @classmethod
    def build(cls, dim: int, chunks: Chunks, *, count: int) -> Self:
        """Train on a bounded sample, then add chunk by chunk: memory holds the index and one chunk."""
        spec = cls.factory(dim, count)
        made = cls(dim, spec, {}, np.empty(0, np.int64), _new(dim, spec))
        size = cls.training_size(count)
        sample = _sample(chunks, dim, count, size) if size else np.empty((0, dim), np.float32)
        if len(sample):
            cls.train(made._index, sample)
        parts = [made.ids]
        for ids, vectors in chunks():
            made._index.add(rows.check(vectors, dim=dim, what=cls.name))
            parts.append(np.asarray(ids, dtype=np.int64))
        made.ids = _file.ascending(parts[0], np.concatenate(parts[1:] or parts))
        if len(made) and len(sample):
            made.settings = made.tune(sample)
        return made

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` wrote."""
        return cls.read(memoryview(path.read_bytes()))

    @classmethod
    def read(cls, buffer: memoryview) -> Self:
        """Use the vectors where they lie in `buffer`: 1.5 GB open in a millisecond, and are held once."""
        contents = _file.read(buffer)
        header = contents.header
        faiss.set_deserialization_loop_limit(LOOP_LIMIT)
        faiss.set_deserialization_vector_byte_limit(len(buffer) + 4 * int(header["dim"]) ** 2)  # the file, the rotation
        bytes_ = np.frombuffer(contents.body, dtype=np.uint8)
        try:
            index = faiss.read_index(faiss.ZeroCopyIOReader(faiss.swig_ptr(bytes_), bytes_.nbytes))
        except RuntimeError as error:
            raise Corrupt(f"FAISS {faiss.__version__} cannot read this index: {_first_line(error)}.") from error
        if index.ntotal != len(contents.ids) or index.d != header["dim"]:
            raise Corrupt(f"the index holds {index.ntotal} vectors, its list of ids {len(contents.ids)}.")
        made = cls(int(header["dim"]), str(header["spec"]), header["settings"], contents.ids, index)
        made._buffer = contents.body
        return made

    def save(self, path: Path) -> None:
        """Write one file."""
        header = {"backend": self.name, "dim": self.dim, "spec": self.spec, "settings": self.settings}

        def body(file: BinaryIO) -> None:
            faiss.write_index(self._index, faiss.PyCallbackIOWriter(file.write))

        _file.write(path, header, self.ids, body)

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """ids (n,) above those here, vectors (n, d). What was never trained is trained on these."""
        checked = rows.check(vectors, dim=self.dim, what=self.name)
        joined = _file.ascending(self.ids, ids)
        if not len(checked):
            return
        if self._buffer is not None:  # FAISS aborts the process when a view has to grow: take a copy of our own
            self._index = faiss.deserialize_index(np.frombuffer(self._buffer, dtype=np.uint8))
            self._buffer = None
        if not self._index.is_trained:
            self.train(self._index, checked)
        self._index.add(checked)
        self.ids = joined
        self.settings = self.settings or self.tune(checked)

    def search(self, queries: Vectors, k: int, allowed: Ids | None = None) -> tuple[Ids, Vectors]:
        """queries (q, d) -> ids (q, k), cosines (q, k)."""
        asked = rows.check(queries, dim=self.dim, what="query")
        selected, reachable = self._selector(allowed)
        take = min(k, reachable)  # past its end FAISS answers id -1 and score -3.4e38
        if take == 0 or len(asked) == 0:
            return _top.nothing(len(asked), k)
        share = reachable / len(self)
        blocks = [asked[at : at + QUERIES_AT_ONCE] for at in range(0, len(asked), QUERIES_AT_ONCE)]
        found = [self._ids_of(self.nearest(block, take, selected, share)) for block in blocks]
        joined = np.concatenate([ids for ids, _ in found]), np.concatenate([scores for _, scores in found])
        return _top.merge([joined], k)

    def __len__(self) -> int:
        return len(self.ids)

    def _selector(self, allowed: Ids | None) -> tuple[Any, int]:
        """(FAISS selector of the positions of `allowed`, how many they are); (None, n) where that is all."""
        if allowed is None:
            return None, len(self)
        at = _file.positions(self.ids, allowed)
        if len(at) == len(self):
            return None, len(self)
        here = np.zeros(len(self), dtype=bool)
        here[at] = True
        return faiss.IDSelectorBitmap(np.packbits(here, bitorder="little")), len(at)

    def _ids_of(self, found: tuple[Vectors, Ids]) -> tuple[Ids, Vectors]:
        scores, positions = found
        ids = np.where(positions >= 0, self.ids[positions], -1)
        return ids, np.where(positions >= 0, scores, -np.inf).astype(np.float32)


def _new(dim: int, spec: str) -> Any:
    return faiss.index_factory(dim, spec, faiss.METRIC_INNER_PRODUCT)


def _sample(chunks: Chunks, dim: int, count: int, size: int) -> Vectors:
    """`size` of about `count` vectors, spread evenly at random, in their order; the same ones every time."""
    keep = min(1.0, size / max(1, count))
    random = np.random.default_rng(SEED)
    parts = []
    for _, vectors in chunks():
        checked = rows.check(vectors, dim=dim, what="training")
        parts.append(checked[random.random(len(checked)) < keep] if keep < 1 else checked)
    return np.concatenate(parts) if parts else np.empty((0, dim), np.float32)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
