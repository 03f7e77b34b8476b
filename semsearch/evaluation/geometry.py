"""The geometry of an embedding space: whether similar texts lie close, and how evenly all texts fill the space.

Alignment and uniformity: Wang and Isola 2020, https://arxiv.org/abs/2005.10242, on rows of length 1, as SimCSE and
CoT-BERT report them; pairs count as similar above a gold score of 4.0 (CoT-BERT) or 4.5 (Pretended CoT, section 5.1);
neither paper states whether exactly that score counts. Anisotropy: PromptBERT, https://arxiv.org/abs/2201.04337,
equation 1. Effective rank: Roy and Vetterli 2007, EUSIPCO. Hubness: Radovanović et al. 2010, JMLR 11.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import UsageError
from semsearch.evaluation.encoding_windows import OnProgress, encode_passages, lookup
from semsearch.evaluation.sts import Pair, spearman
from semsearch.types import EncoderLike, VectorSample

Floats: TypeAlias = NDArray[np.floating]

THRESHOLDS = (4.0, 4.5)
NEIGHBOURS = 10  # Radovanović et al. use 1 to 50, and 10 in most of their tables
PAIRS = 100_000  # sampled for the length bias: its error is then below 0.01
BLOCK = 1 << 22  # cosines computed at once
SAMPLE = 10_000  # vectors compared with each other: 40 s of one core at a width of 384


@dataclass(frozen=True, slots=True)
class EmbeddingGeometry:
    """`figures`: uniformity, anisotropy, effective_rank, hubness, length_bias of `vectors` of the `total` vectors.

    `alignment`: by `> 4.0`, `>= 4.0`, `> 4.5`, `>= 4.5`, of the pairs with such a gold score, and their number; NaN
    if there is none, empty without pairs.
    """

    figures: Mapping[str, float]
    vectors: int
    total: int
    alignment: Mapping[str, tuple[float, int]] = field(default_factory=dict)


class SampledIndex(Protocol):
    """The part of `Index.analysis` that its geometry is computed from."""

    @property
    def name(self) -> str: ...
    def sample_vectors(self, most: int = ..., *, letters: int = ...) -> VectorSample: ...


def pair_geometry(
    encoder: EncoderLike, pairs: Sequence[Pair], gold: Sequence[float], progress: OnProgress | None = None
) -> EmbeddingGeometry:
    """Alignment of the pairs with a high gold score (0 … 5), and the geometry of all their texts.

    Uniformity is over all texts including repeated ones, as in the papers; the rest is over different texts.
    `progress` is called before every 128 texts. Raises UsageError for fewer than three different texts.
    """
    columns = [[pair[side] for pair in pairs] for side in (0, 1)]
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    vectors = encode_passages(encoder, texts, progress)
    left, right = map(lookup(texts, vectors), columns)
    figures = describe(vectors, _word_counts(texts)) | {"uniformity": uniformity(unit(np.concatenate([left, right])))}
    return EmbeddingGeometry(figures, len(texts), len(texts), alignments(left, right, gold))


def text_geometry(
    encoder: EncoderLike, texts: Sequence[str], progress: OnProgress | None = None, *, sample: int | None = None
) -> EmbeddingGeometry:
    """The geometry of texts, or of a fixed `sample`, without alignment. Raises UsageError for fewer than three."""
    distinct = list(dict.fromkeys(texts))
    chosen = distinct
    if sample is not None and len(distinct) > sample:
        drawn = np.random.default_rng(0).choice(len(distinct), size=sample, replace=False)
        chosen = [distinct[at] for at in sorted(drawn.tolist())]
    vectors = encode_passages(encoder, chosen, progress)
    return EmbeddingGeometry(describe(vectors, _word_counts(chosen)), len(chosen), len(distinct))


def index_geometry(index: SampledIndex, sample: int = SAMPLE) -> EmbeddingGeometry:
    """The geometry of a fixed `sample` of the vectors in an index. Raises UsageError for fewer than three vectors."""
    drawn = index.sample_vectors(sample, letters=sys.maxsize)
    if len(drawn) < 3:
        raise UsageError(f"{index.name} has {len(drawn)} vectors, which have no geometry.", "Index more documents.")
    return EmbeddingGeometry(describe(drawn.vectors, _word_counts(drawn.texts)), len(drawn), drawn.total)


def describe(vectors: Floats, lengths: Sequence[int] | None = None) -> dict[str, float]:
    """Every measure of the rows (n, d); `lengths` (n,) of their texts. Raises UsageError for fewer than three rows."""
    if len(vectors) < 3:
        raise UsageError(f"{len(vectors)} vectors have no geometry.", "Use at least three different texts.")
    rows = unit(vectors)
    figures = {
        "uniformity": uniformity(rows),
        "anisotropy": anisotropy(rows),
        "anisotropy_with_self": anisotropy(rows, with_self=True),
        "effective_rank": effective_rank(rows),
        "hubness": hubness(rows),
    }
    return figures if lengths is None else figures | {"length_bias": length_bias(rows, lengths)}


def alignments(a: Floats, b: Floats, gold: Sequence[float]) -> dict[str, tuple[float, int]]:
    """Alignment of the pairs of rows a, b (n, d) whose gold score is above, or at least, each of THRESHOLDS.

    By `> 4.0`, `>= 4.0` and so on, with the number of such pairs; NaN if there is none.
    """
    left, right, scores = unit(a), unit(b), np.asarray(gold, dtype=np.float64)
    by_threshold: dict[str, tuple[float, int]] = {}
    for threshold in THRESHOLDS:
        for sign, chosen in ((">", scores > threshold), (">=", scores >= threshold)):
            value = alignment(left[chosen], right[chosen]) if chosen.any() else float("nan")
            by_threshold[f"{sign} {threshold}"] = (value, int(chosen.sum()))
    return by_threshold


def alignment(a: Floats, b: Floats) -> float:
    """Mean squared distance of the rows of a (n, d) to those of b: 0 if all are equal, 4 if all are opposite."""
    return float(((a - b) ** 2).sum(axis=1).mean())


def uniformity(rows: Floats) -> float:
    """log of the mean of exp(-2 d²) over all pairs i < j of rows (n, d): 0 if all are equal, lower if spread out."""
    squares, total = (rows**2).sum(axis=1), 0.0
    for start, products in _products(rows):
        distances = squares[start : start + len(products), None] + squares[None, :] - 2 * products
        total += float(np.exp(-2 * np.maximum(distances, 0)).sum())
    own = float(len(rows))  # a row has distance 0 to itself
    return float(np.log((total - own) / (own * (own - 1))))


def anisotropy(rows: Floats, *, with_self: bool = False) -> float:
    """Mean cosine of all pairs of rows (n, d) of length 1, as an absolute value: 0 … 1.

    `with_self` counts i = j too and keeps the sign, as PromptBERT's released code does.
    """
    n, total = len(rows), float((rows.sum(axis=0) ** 2).sum())
    return total / n**2 if with_self else abs(total - float((rows**2).sum())) / (n * (n - 1))


def effective_rank(rows: Floats) -> float:
    """exp of the entropy of the normalised singular values of rows (n, d): 1 … min(n, d). Rows are not centred."""
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(rows.T @ rows if len(rows) > rows.shape[1] else rows @ rows.T), 0))
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def hubness(rows: Floats) -> float:
    """Skewness of how often rows are among the nearest neighbours of others: 0 is none; above 1, some are hubs."""
    counts = occurrences(rows).astype(np.float64)
    spread = counts.std()
    return float((((counts - counts.mean()) / spread) ** 3).mean()) if spread > 0 else 0.0


def occurrences(rows: Floats) -> NDArray[np.int64]:
    """How often each row of length 1 is among the NEIGHBOURS nearest rows of another: (n,)."""
    k, counts = min(NEIGHBOURS, len(rows) - 1), np.zeros(len(rows), dtype=np.int64)
    for start, cosines in _products(rows):
        at = np.arange(len(cosines))
        cosines[at, start + at] = -np.inf
        counts += np.bincount(np.argpartition(-cosines, k - 1, axis=1)[:, :k].ravel(), minlength=len(rows))
    return counts


def length_bias(rows: Floats, lengths: Sequence[int]) -> float:
    """Rank correlation, over sampled pairs, of the cosine with the ratio of the two `lengths` (n,): 0 is none.

    Above 0, texts are near each other because they are equally long.
    """
    rng = np.random.default_rng(0)
    first = rng.integers(len(rows), size=PAIRS)
    second = (first + rng.integers(1, len(rows), size=PAIRS)) % len(rows)
    sizes = np.log1p(np.asarray(lengths, dtype=np.float64))
    cosines = np.einsum("nd,nd->n", rows[first], rows[second])
    return spearman(cosines, -np.abs(sizes[first] - sizes[second]))


def unit(vectors: Floats) -> NDArray[np.float64]:
    """Rows of length 1 in double precision; a zero row stays zero."""
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def _word_counts(texts: Sequence[str]) -> list[int]:
    """Words of each text: unlike tokens, they are the same for every encoder."""
    return [len(text.split()) for text in texts]


def _products(rows: Floats) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """(start, products of rows start … with all rows), block by block."""
    size = max(1, BLOCK // len(rows))
    for start in range(0, len(rows), size):
        yield start, rows[start : start + size] @ rows.T
