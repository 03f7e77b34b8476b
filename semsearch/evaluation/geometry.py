"""The shape of a vector space: whether like texts lie close, and how far all texts fill the space.

Alignment and uniformity: Wang and Isola 2020, https://arxiv.org/abs/2005.10242, on rows of length 1, as SimCSE and
CoT-BERT report them; pairs count as alike above a gold score of 4.0 (CoT-BERT) or 4.5 (Pretended CoT, section 5.1), and
neither says whether that is strict. Anisotropy: PromptBERT, https://arxiv.org/abs/2201.04337, equation 1. Effective
rank: Roy and Vetterli 2007, EUSIPCO. Hubness: Radovanović et al. 2010, JMLR 11. Left out: drawing rows of large sets,
which is the caller's choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.errors import UsageError
from semsearch.evaluation.sts import spearman

if TYPE_CHECKING:
    from numpy.typing import NDArray

THRESHOLDS = (4.0, 4.5)
NEIGHBOURS = 10  # Radovanović et al. use 1 to 50, and 10 in most of their tables
PAIRS = 100_000  # drawn for the length bias: its error is then below 0.01
BLOCK = 1 << 22  # cosines that are held at once


def describe(vectors: NDArray[Any], lengths: Sequence[int] | None = None) -> dict[str, float]:
    """Every measure of one set of rows (n, d), which are made length 1; `lengths` (n,) are those of their texts.

    Raises UsageError for fewer than three rows.
    """
    if len(vectors) < 3:
        raise UsageError(f"{len(vectors)} vectors have no geometry.", "Give three texts or more, all different.")
    rows = unit(vectors)
    found = {
        "uniformity": uniformity(rows),
        "anisotropy": anisotropy(rows),
        "anisotropy_with_self": anisotropy(rows, with_self=True),
        "effective_rank": effective_rank(rows),
        "hubness": hubness(rows),
    }
    return found if lengths is None else found | {"length_bias": length_bias(rows, lengths)}


def alignments(a: NDArray[Any], b: NDArray[Any], gold: Sequence[float]) -> dict[str, tuple[float, int]]:
    """Alignment of the pairs of rows a, b (n, d) whose gold score is above, or at least, each of THRESHOLDS.

    By `> 4.0`, `>= 4.0` and so on, with how many pairs that are; NaN where none is.
    """
    left, right, scores = unit(a), unit(b), np.asarray(gold, dtype=np.float64)
    found: dict[str, tuple[float, int]] = {}
    for threshold in THRESHOLDS:
        for sign, chosen in ((">", scores > threshold), (">=", scores >= threshold)):
            count = int(chosen.sum())
            value = alignment(left[chosen], right[chosen]) if count else float("nan")
            found[f"{sign} {threshold}"] = (value, count)
    return found


def alignment(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Mean squared distance of the rows of a (n, d) to those of b: 0 where all are the same, 4 where opposite."""
    return float(((a - b) ** 2).sum(axis=1).mean())


def uniformity(rows: NDArray[Any], t: float = 2.0) -> float:
    """log of the mean of exp(-t d²) over all pairs i < j of rows (n, d): 0 where all are one, lower where spread."""
    squares, total = (rows**2).sum(axis=1), 0.0
    for start, products in _products(rows):
        distances = squares[start : start + len(products), None] + squares[None, :] - 2 * products
        total += float(np.exp(-t * np.maximum(distances, 0)).sum())
    own = float(len(rows))  # a row has distance 0 to itself
    return float(np.log((total - own) / (own * (own - 1))))


def anisotropy(rows: NDArray[Any], *, with_self: bool = False) -> float:
    """Mean cosine of all pairs of rows (n, d) of length 1, as an absolute value: 0 … 1.

    `with_self` counts i = j too and keeps the sign, as PromptBERT's released code does.
    """
    n, total = len(rows), float((rows.sum(axis=0) ** 2).sum())
    return total / n**2 if with_self else abs(total - float((rows**2).sum())) / (n * (n - 1))


def effective_rank(rows: NDArray[Any]) -> float:
    """exp of the entropy of the singular values of rows (n, d), each by their sum: 1 … min(n, d). Not centred."""
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(rows.T @ rows if len(rows) > rows.shape[1] else rows @ rows.T), 0))
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def hubness(rows: NDArray[Any], k: int = NEIGHBOURS) -> float:
    """Skewness of how often a row is among the k nearest of another: 0 is none, above 1 some rows are everywhere."""
    counts = occurrences(rows, k).astype(np.float64)
    spread = counts.std()
    return float((((counts - counts.mean()) / spread) ** 3).mean()) if spread > 0 else 0.0


def occurrences(rows: NDArray[Any], k: int = NEIGHBOURS) -> NDArray[np.int64]:
    """How often each row of length 1 is among the k nearest of another row: (n,), k n together."""
    k, counts = min(k, len(rows) - 1), np.zeros(len(rows), dtype=np.int64)
    for start, cosines in _products(rows):
        at = np.arange(len(cosines))
        cosines[at, start + at] = -np.inf
        counts += np.bincount(np.argpartition(-cosines, k - 1, axis=1)[:, :k].ravel(), minlength=len(rows))
    return counts


def length_bias(rows: NDArray[Any], lengths: Sequence[int], seed: int = 0) -> float:
    """Rank correlation, over drawn pairs, of the cosine with how alike the two `lengths` (n,) are: 0 is none.

    Alike is their ratio. Above 0 texts are near each other because they are equally long.
    """
    draw = np.random.default_rng(seed)
    first = draw.integers(len(rows), size=PAIRS)
    second = (first + draw.integers(1, len(rows), size=PAIRS)) % len(rows)
    sizes = np.log1p(np.asarray(lengths, dtype=np.float64))
    cosines = np.einsum("nd,nd->n", rows[first], rows[second])
    return spearman(cosines, -np.abs(sizes[first] - sizes[second]))


def unit(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Rows of length 1 in double precision; a zero row stays zero."""
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def _products(rows: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """(start, products of rows start … with all rows), block by block."""
    size = max(1, BLOCK // len(rows))
    for start in range(0, len(rows), size):
        yield start, rows[start : start + size] @ rows.T
