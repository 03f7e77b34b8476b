"""Strength of a hit: the chance that it is better than the best hit of a question that the index cannot answer.

A cosine of 0.4 is a strong match for one encoder and collection and noise for another. So each index is asked some 500
questions on subjects from daily life to law and physics, most of which it cannot answer, and the cosines of their best
hits are its null distribution. The maximum of many cosines follows an extreme-value law, the Gumbel distribution:

    strength = exp(-exp(-(cosine - location) / scale))

Location and scale come from the lower 40 % of the best hits, taken to be the lower half of those that the index cannot
answer: a question that it happens to answer lies above them and changes nothing. The location is measured for three
lengths of questions and interpolated between, since cosines depend on length; it grows with the logarithm of the number
of passages, as that of a maximum does.

A hit is `strong` where fewer than one in a hundred unanswerable questions reach its strength, `likely` where fewer than
one in ten do, else `weak`. There is no good match where no hit is at least likely.

Source: Gumbel 1958, "Statistics of Extremes", chapters 5 and 6. What it reaches: docs/strength.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Match

STRONG, LIKELY = 0.99, 0.9
CHANCE = 0.5  # below, a question without an answer here finds something as near more often than not
ALL_WORDS = 0.95  # the least strength of a passage with all telling words of the query, whatever its cosine
LENGTHS = (2, 8, 27)  # words of the questions asked: keywords, a sentence, a sentence or two of context
QUANTILES = 101  # of each length, for p = 0, 0.01 … 1
LOW, HIGH = 0.1, 0.4  # the quantiles that location and scale are read from
FOREIGN = 0.83  # of the questions an index cannot answer; chosen on SciFact's train queries, MedQuAD and PEPs
LEAST_SCALE = 0.005  # an index of one text gives every question nearly the same cosine


@dataclass(frozen=True, slots=True)
class NullDistribution:
    """Cosines of the best hits of unanswerable questions, measured when the index had `passages` passages.

    `quantiles` has the 101 ascending quantiles of each of the three LENGTHS, one after the other.
    """

    quantiles: tuple[float, ...]
    passages: int

    @classmethod
    def recorded(cls, quantiles: Sequence[float], passages: int) -> NullDistribution | None:
        """One from a store. None where it was not measured, or in another way by another version."""
        return cls(tuple(quantiles), passages) if len(quantiles) == len(LENGTHS) * QUANTILES else None

    def strengths(self, cosines: NDArray[np.floating], *, words: int, passages: int) -> NDArray[np.float64]:
        """The strength in 0 … 1 of each cosine (n,) for a query of so many words in an index of so many passages."""
        locations, scale = _tail(self.quantiles)
        location = float(np.interp(log(max(1, words)), np.log(LENGTHS), locations))
        location += scale * log(max(1, passages) / max(1, self.passages))
        return np.asarray(np.exp(-np.exp(-(np.asarray(cosines, dtype=np.float64) - location) / scale)))


def null_distribution(best: Sequence[NDArray[np.floating]], passages: int) -> NullDistribution:
    """From the cosines of the best hits of the questions of each length."""
    steps = np.linspace(0, 1, QUANTILES)
    return NullDistribution(tuple(float(q) for cosines in best for q in np.quantile(cosines, steps)), passages)


def match(strength: float | None) -> Match:
    """The word for a strength, within an answer that has a good match. A hit without a strength is weak."""
    if strength is None or strength < LIKELY:
        return "weak"
    return "strong" if strength >= STRONG else "likely"


@lru_cache(maxsize=64)  # an index asks for its own at every search
def _tail(quantiles: tuple[float, ...]) -> tuple[tuple[float, ...], float]:
    """Locations of the Gumbel distribution, one for each of LENGTHS, and its scale, from all lengths together."""
    rows = np.asarray(quantiles).reshape(len(LENGTHS), QUANTILES)
    low, middle = (rows[:, round(p * (QUANTILES - 1))] for p in (LOW, (LOW + HIGH) / 2))
    spread = np.subtract(*np.quantile(rows - low[:, None], (HIGH, LOW)))
    scale = max(float(spread) / (_reduced(HIGH / FOREIGN) - _reduced(LOW / FOREIGN)), LEAST_SCALE)
    locations = middle - _reduced((LOW + HIGH) / 2 / FOREIGN) * scale
    return tuple(locations.tolist()), scale


def _reduced(p: float) -> float:
    """The quantile p of the standard Gumbel distribution."""
    return -log(-log(p))
