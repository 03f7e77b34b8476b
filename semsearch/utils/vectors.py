"""Checks and normalisation of vectors, before they reach the store or FAISS.

FAISS answers invalid input with id -1, without an error, or with an empty AssertionError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semsearch.errors import SemsearchError, UsageError
from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from semsearch.types import Ids, Vectors


HALF_LEAST, HALF_MOST = 2.0**-14, 65504.0  # half precision: below, numbers lose digits until they are 0; above is inf
LARGEST_ID = 2**63 - 1  # of a row in SQLite; a larger number belongs to none, and would not fit into int64
OWN_VECTORS = "own-vectors"  # the fingerprint of an index without an encoder: every vector was passed in


def row_ids(numbers: Iterable[int]) -> Ids:
    """Numbers that callers pass for ids of passages, as (n,) int64, without those that no passage can have."""
    return np.array([number for number in numbers if -LARGEST_ID <= number <= LARGEST_ID], dtype=np.int64)


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


def defect(vectors: ArrayLike, n: int, dim: int) -> str:
    """Why these are not n vectors of width `dim` that can be stored and compared, in words; "" if they are.

    Vectors are stored in half precision, so numbers beyond its range are a defect as well.
    """
    try:
        rows = np.asarray(vectors)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor that has gradients
        return f"the vectors are not an array of numbers ({error})"
    if rows.dtype.kind not in "fiu":
        return f"the vectors are not an array of real numbers, but of type {rows.dtype}"
    if rows.shape != (n, dim):
        return f"the vectors have the shape {rows.shape} instead of {(n, dim)}"
    largest = np.abs(rows).max(axis=1, initial=0)
    usable = (largest >= HALF_LEAST) & (largest <= HALF_MOST)  # False for NaN
    if usable.all():
        return ""
    row = int(np.flatnonzero(~usable)[0])
    where = f"vector {row + 1} of {n}" if n > 1 else "the vector"
    if not np.isfinite(rows[row]).all():
        return f"{where} contains NaN or infinity"
    if not largest[row]:
        return f"{where} is zero"
    return f"{where} has a largest number of {largest[row]:.3g}, too {_extreme(largest[row])} for half precision"


def check_storable(vectors: ArrayLike, n: int, dim: int, *, what: str) -> Vectors:
    """`vectors` as (n, dim) float32, C-contiguous. Raises SemsearchError, which names `what`, for a `defect`."""
    if problem := defect(vectors, n, dim):
        raise SemsearchError(f"{what}: {problem}.", "Check the encoder.")
    return np.ascontiguousarray(vectors, dtype=np.float32)


def own_rows(vectors: ArrayLike, n: int, dim: int) -> Vectors:
    """Vectors of a caller's own, of any length above 0, as unit rows (n, dim). Raises UsageError for a `defect`.

    One vector may have the shape (dim,). Each is divided by its largest number first: the squares of very large and
    very small ones are beyond float32.
    """
    try:
        with np.errstate(over="ignore"):
            rows = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
    except (TypeError, ValueError, RuntimeError):
        raise UsageError(f"these are no vectors: {vectors!r:.60}.", f"Pass numbers of shape ({n}, {dim}).") from None
    largest = np.abs(rows).max(axis=-1, keepdims=True, initial=0)
    scaled = rows / np.where((largest > 0) & np.isfinite(largest), largest, 1)
    if problem := defect(scaled, n, dim):
        raise UsageError(f"{problem}.", f"Pass vectors of shape ({n}, {dim}), or leave the document out.")
    return unit_rows(scaled)


def _extreme(number: float) -> str:
    return "large" if number > 1 else "small"
