"""Every vector in memory, compared one by one with numpy: the reference for all other backends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar

import numpy as np

from semsearch.utils import vectors as rows
from semsearch.vector_index.backends import _file, _top

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors


class Backend:
    """(n, d) float32 and nothing else."""

    name: ClassVar[str] = "exact"
    engine: ClassVar[str] = f"numpy {np.__version__}"
    spec = "float32"

    def __init__(self, dim: int, ids: Ids, vectors: Vectors) -> None:
        self.dim = dim
        self.ids = ids
        self._vectors = vectors

    @classmethod
    def build(cls, dim: int, chunks: Callable[[], Iterator[tuple[Ids, Vectors]]], *, count: int) -> Backend:
        """Copy every chunk; `count` is not needed."""
        parts = [(ids, rows.check(vectors, dim=dim, what="exact")) for ids, vectors in chunks()]
        empty = cls(dim, np.empty(0, np.int64), np.empty((0, dim), np.float32))
        if parts:
            empty.add(np.concatenate([ids for ids, _ in parts]), np.concatenate([part for _, part in parts]))
        return empty

    @classmethod
    def load(cls, path: Path) -> Backend:
        """Read a file that `save` wrote."""
        return cls.read(memoryview(path.read_bytes()))

    @classmethod
    def read(cls, buffer: memoryview) -> Backend:
        """Use the vectors where they lie in `buffer`."""
        contents = _file.read(buffer)
        dim = int(contents.header["dim"])
        vectors = np.frombuffer(contents.body, dtype="<f4", count=len(contents.ids) * dim).reshape(-1, dim)
        return cls(dim, contents.ids, vectors)

    def save(self, path: Path) -> None:
        """Write one file."""
        header = {"backend": self.name, "dim": self.dim}

        def body(file: BinaryIO) -> None:
            file.write(self._vectors.astype("<f4").data)

        _file.write(path, header, self.ids, body)

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """ids (n,) above those here, vectors (n, d)."""
        checked = rows.check(vectors, dim=self.dim, what="exact")
        self.ids = _file.ascending(self.ids, ids)
        self._vectors = np.concatenate([self._vectors, checked])

    def search(self, queries: Vectors, k: int, allowed: Ids | None = None) -> tuple[Ids, Vectors]:
        """queries (q, d) -> ids (q, k), cosines (q, k)."""
        asked = rows.check(queries, dim=self.dim, what="query")
        return _top.scan(self.ids, self._vectors, asked, k, allowed)

    def __len__(self) -> int:
        return len(self.ids)
