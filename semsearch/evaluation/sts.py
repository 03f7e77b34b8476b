"""Semantic textual similarity: cosines of sentence pairs, and how well they follow human scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from semsearch.encoders import pair_similarity
from semsearch.encoders.base import as_encoder
from semsearch.encoders.encoder import Encoder
from semsearch.errors import UsageError
from semsearch.evaluation.encoding_windows import Embed, lookup
from semsearch.types import EncoderLike

Pair = tuple[str, str]
Values: TypeAlias = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StsResult:
    """Cosine and strength of each pair.

    `strengths` are None for an encoder without a background of unrelated texts, and where they were left out.
    """

    pairs: tuple[Pair, ...]
    cosines: tuple[float, ...]
    strengths: tuple[float | None, ...]
    spearman: float | None = None
    pearson: float | None = None

    @property
    def scores(self) -> tuple[float, ...]:
        """The scores of the pairs: their cosines."""
        return self.cosines


def sts(
    pairs: Sequence[Pair],
    encoder: EncoderLike | str | Path = "default",
    gold: Sequence[float] | None = None,
    *,
    strengths: bool = True,
) -> StsResult:
    """Cosine and strength of each pair of texts; with `gold`, also how well the cosines follow it, in percent.

    Without `strengths` a model that was never compared with unrelated texts does not encode them now. Raises
    UsageError for what is no list of pairs, and unless there is one gold score per pair.

    >>> found = sts([("a red car", "a red car"), ("a red car", "soup")], encoder="hashing", gold=[5, 0])
    >>> [round(cosine, 2) for cosine in found.cosines], round(found.spearman)
    ([1.0, 0.0], 100)
    """
    if not isinstance(pairs, Iterable) or not all(_is_pair(pair) for pair in pairs):
        raise UsageError("sts() takes pairs of two texts.", 'For example: sts([("a red car", "a red bus")]).')
    if gold is not None and len(gold) != len(pairs):
        raise UsageError(f"there are {len(pairs)} pairs and {len(gold)} gold scores.", "Pass one score per pair.")
    loaded = Encoder.load(encoder) if isinstance(encoder, str | Path) else as_encoder(encoder)
    values = cosines(pairs, loaded)
    strong = strengths_of(values, loaded) if strengths else [None] * len(values)
    rank, linear = None, None
    if gold is not None and len(pairs) > 1:
        rank, linear = 100 * spearman(values, gold), 100 * pearson(values, gold)
    return StsResult(tuple((a, b) for a, b in pairs), tuple(values.tolist()), tuple(strong), rank, linear)


def strengths_of(cosines: Values, encoder: EncoderLike) -> list[float | None]:
    """The strength of each cosine, None for an encoder without a background of unrelated texts."""
    background, values = as_encoder(encoder).background, np.asarray(cosines)
    return pair_similarity.calibrate(values, background).tolist() if len(background) else [None] * len(values)


def _is_pair(pair: object) -> bool:
    texts = list(pair) if isinstance(pair, Iterable) and not isinstance(pair, str) else []
    return len(texts) == 2 and all(isinstance(text, str) for text in texts)


def cosines(pairs: Sequence[Pair], encoder: EncoderLike) -> NDArray[np.float64]:
    """Cosine of each pair, (n,); a zero vector has cosine 0 with everything, as in SentEval."""
    return pair_cosines(pairs, lambda texts: encoder.encode(texts, role="passage"))


def pair_cosines(pairs: Sequence[Pair], embed: Embed) -> NDArray[np.float64]:
    """`cosines` for any function from texts to unit rows. A text that occurs in several pairs is embedded once."""
    left, right = embed_columns([[pair[side] for pair in pairs] for side in (0, 1)], embed)
    values = np.einsum("nd,nd->n", left, right, dtype=np.float64)
    return np.asarray(np.clip(np.nan_to_num(values), -1, 1))


def embed_columns(columns: Sequence[Sequence[str]], embed: Embed) -> list[NDArray[np.float32]]:
    """The vectors (n, d) of each column of n texts; every different text is embedded once."""
    texts = list(dict.fromkeys(text for row in zip(*columns, strict=True) for text in row))
    return list(map(lookup(texts, embed(texts)), columns))


def spearman(values: Values, gold: Values) -> float:
    """Rank correlation in -1 … 1, ties at their average rank; NaN if either side is constant."""
    return pearson(rankdata(values), rankdata(gold))


def pearson(values: Values, gold: Values) -> float:
    """Linear correlation in -1 … 1; NaN if either side is constant."""
    a, b = (np.asarray(side, dtype=np.float64) - np.mean(side) for side in (values, gold))
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / lengths) if lengths > 0 else float("nan")


def rankdata(values: Values) -> NDArray[np.float64]:
    """Ranks from 1, (n,); equal values share the average of their ranks, as in scipy.stats.rankdata."""
    _, group, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[group.reshape(-1)], dtype=np.float64)
