"""Checks and arithmetic on vectors, at the one edge where they enter.

FAISS answers wrong input with id -1, silence or an empty AssertionError, so nothing reaches it unchecked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.errors import SemsearchError

if TYPE_CHECKING:
    from semsearch.types import Vectors


def unit_rows(vectors: Any) -> Vectors:
    """(n, d) numbers -> (n, d) float32 rows of length 1. A zero row stays zero: its cosine with all is 0."""
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]  # half the time of linalg.norm
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def check(vectors: Any, *, dim: int, what: str) -> Vectors:
    """`vectors` as (n, dim) float32, C-contiguous and finite, or an error that names `what`."""
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise SemsearchError(f"{what}: vectors of shape {rows.shape} were given where (n, {dim}) is needed.")
    if not np.isfinite(rows).all():
        bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise SemsearchError(f"{what}: row {bad} holds NaN or infinity.", "Check the encoder that made it.")
    return rows
