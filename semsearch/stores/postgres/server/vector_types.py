"""Vectors between NumPy and pgvector, in its binary form: two 16-bit numbers, of which the first is the width, then the
numbers of the vector, the highest byte first.

The package `pgvector` does the same for all types of pgvector; these two take fewer lines than an own dependency is
worth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from semsearch.stores.postgres.server.client import TypeInfo, adapt, pq
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semsearch.stores.postgres.server.address import Raw
    from semsearch.types import Vectors

Kind = Literal["vector", "halfvec"]
_NUMBERS: dict[str, np.dtype[Any]] = {"vector": np.dtype(">f4"), "halfvec": np.dtype(">f2")}
HALF = np.dtype("<f2")


class VectorRow(bytes):
    """A vector in the binary form of `vector`."""


class HalfRow(bytes):
    """A vector in the binary form of `halfvec`."""


class _RowDumper(adapt.Dumper):
    format = pq.Format.BINARY

    def dump(self, obj: bytes) -> bytes:
        return bytes(obj)


class _RowLoader(adapt.Loader):
    format = pq.Format.BINARY

    def load(self, data: bytes | bytearray | memoryview) -> bytes:
        return bytes(data)


def register(raw: Raw) -> None:
    """Let a connection read and write the types that its server has."""
    for name, row in (("vector", VectorRow), ("halfvec", HalfRow)):
        info = TypeInfo.fetch(raw, name)
        if info is not None:
            raw.adapters.register_dumper(row, type("Dumper", (_RowDumper,), {"oid": info.oid}))
            raw.adapters.register_loader(info.oid, _RowLoader)


def packed(vectors: Vectors, kind: Kind) -> list[bytes]:
    """(n, d) numbers, rounded to half precision as in a local store, as n values to write."""
    numbers = vectors.astype(HALF).astype(_NUMBERS[kind])
    head = np.array([vectors.shape[1], 0], dtype=">u2").tobytes()
    row = VectorRow if kind == "vector" else HalfRow
    return [row(head + one.tobytes()) for one in numbers]


def unpacked(rows: Sequence[bytes], dim: int, kind: Kind) -> Vectors:
    """n values that were read, as (n, d) unit rows."""
    layout = np.dtype([("head", ">u2", 2), ("numbers", _NUMBERS[kind], dim)])
    return unit_rows(np.frombuffer(b"".join(rows), layout)["numbers"].reshape(len(rows), dim).astype(np.float32))


def written(vector: Vectors) -> str:
    """(d,) numbers in the text form of pgvector, exactly."""
    return "[" + ",".join(map(repr, vector.astype(float).tolist())) + "]"
