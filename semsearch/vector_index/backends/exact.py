"""Every vector in memory, compared one by one with numpy: the reference for all other backends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from semsearch.utils import vectors as rows
from semsearch.utils.late_numpy import np
from semsearch.vector_index.backends import _file, _top
from semsearch.vector_index.backends._base import BaseBackend

if TYPE_CHECKING:
    from semsearch.types import Chunks, Ids, Vectors


class Backend(BaseBackend):
    """Ids (n,) and vectors (n, d) in float32."""

    name: ClassVar[str] = "exact"
    engine: ClassVar[str] = f"numpy {np.__version__}"
    spec = "float32"

    def __init__(self, dim: int, ids: Ids, vectors: Vectors) -> None:
        self.dim = dim
        self.ids = ids
        self._vectors = vectors

    @classmethod
    def build(cls, dim: int, chunks: Chunks, *, count: int) -> Self:
        """Copy every chunk; `count` is not used."""
        made = cls(dim, *_top.no_vectors(dim))
        made.add(*_top.joined([_top.no_vectors(dim), *chunks()]))
        return made

    @classmethod
    def read(cls, buffer: memoryview) -> Self:
        """Use the vectors in place, as a part of `buffer`."""
        header, ids, body = _file.read(buffer)
        dim = int(header["dim"])
        return cls(dim, ids, np.frombuffer(body, dtype="<f4", count=len(ids) * dim).reshape(-1, dim))

    def save(self, path: Path) -> None:
        """Write one file."""
        header, content = {"backend": self.name, "dim": self.dim}, self._vectors.astype("<f4").data
        _file.write(path, header, self.ids, lambda file: file.write(content))

    def add(self, ids: Ids, vectors: Vectors) -> None:
        """ids (n,) above the stored ones, vectors (n, d)."""
        checked = rows.check(vectors, dim=self.dim, what="exact")
        self.ids = _file.ascending(self.ids, ids)
        self._vectors = np.concatenate([self._vectors, checked])

    def search(self, queries: Vectors, k: int, allowed: Ids | None = None) -> tuple[Ids, Vectors]:
        """queries (q, d) -> ids (q, k), cosines (q, k)."""
        checked = rows.check(queries, dim=self.dim, what="query")
        return _top.scan(self.ids, self._vectors, checked, k, allowed)
