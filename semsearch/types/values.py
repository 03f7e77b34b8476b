"""Names of plain values: vectors, ids, JSON, and the role of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:  # numpy costs 0.1 s to import and is needed here for annotations only
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]  # (n, d), C-contiguous, rows of length 1: a dot product is a cosine
    Ids: TypeAlias = NDArray[np.int64]  # (n,), >= 1, SQLite row ids, AUTOINCREMENT: never reused
    Chunks: TypeAlias = Callable[[], Iterator[tuple[Ids, Vectors]]]

Role: TypeAlias = Literal["query", "passage"]
Metadata: TypeAlias = Mapping[str, Any]  # JSON values only
JsonObject: TypeAlias = dict[str, Any]  # as `json` reads and writes it
JsonMapping: TypeAlias = Mapping[str, Any]  # a JSON object that is only read
SqlValue: TypeAlias = str | int | float | bytes | None
