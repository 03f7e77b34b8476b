"""Checks and normalisation of vectors, before they reach the store or FAISS.

FAISS answers invalid input with id -1, without an error, or with an empty AssertionError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import SemsearchError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from semsearch.types import Vectors


OWN_VECTORS = "own-vectors"  # the fingerprint of an index without an encoder: every vector was passed in


def unit_rows(vectors: ArrayLike) -> Vectors:
    """(n, d) numbers -> (n, d) float32 rows of length 1. A row of zeros stays: its cosine with any other is 0."""
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]  # half the time of linalg.norm
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def check(vectors: ArrayLike, *, dim: int, what: str) -> Vectors:
    """`vectors` as (n, dim) float32, C-contiguous and finite. Raises SemsearchError, which names `what`, otherwise."""
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise SemsearchError(f"{what}: the vectors have shape {rows.shape}, not (n, {dim}).", "Check the encoder.")
    if not np.isfinite(rows).all():
        bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise SemsearchError(f"{what}: row {bad} contains NaN or infinity.", "Check the encoder.")
    return rows
