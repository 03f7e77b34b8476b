"""Whether a difference between searches may be chance: the paired randomisation test, with Holm's correction.

If two searches are equally good, then for each query it is chance which of them has which score. The test exchanges the
scores at random, and counts how often the mean difference becomes at least as large as the one that was found. Sources:
Fisher 1935, The Design of Experiments; for retrieval Smucker, Allan and Carterette 2007,
https://doi.org/10.1145/1321440.1321528, who find it as good as the bootstrap and Student's t, and better than the tests
of Wilcoxon and of signs. Several comparisons at once: Holm 1979, A simple sequentially rejective multiple test
procedure, Scandinavian Journal of Statistics 6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semsearch.types import JsonObject

Verdict: TypeAlias = Literal["better", "worse", "unclear", "too few"]

EQUAL = 1e-9  # a difference of nDCG below is rounding
EXACT = 16  # queries that differ up to which all exchanges are counted: 2^16
ROUNDS = 20_000  # random exchanges beyond: the error of a p-value of 0.05 is then 0.0015
BLOCK = 1 << 22  # signs drawn at once
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Scores of one search minus those of another, query by query.

    `mean` and its `standard_error` are in the unit of the scores; the error is None for fewer than two queries.
    `better`, `worse` and `same` count queries. `p` is that of `randomisation_test`.
    """

    mean: float
    standard_error: float | None
    better: int
    worse: int
    same: int
    p: float = 1.0


@dataclass(frozen=True, slots=True)
class SearchComparison:
    """Two of several searches, by name: their difference, its p-value after Holm's correction, and what that says.

    `verdict` is of `first`: "better" or "worse" where p is below 0.05, "unclear" where it is not, and "too few" where
    so few queries differ that no scores of theirs could give such a p.
    """

    first: str
    second: str
    difference: PairedDifference
    p: float
    verdict: Verdict


def paired_difference(scores: Sequence[float], others: Sequence[float]) -> PairedDifference:
    """Of n scores with the n of another search for the same queries.

    >>> found = paired_difference([1.0, 0.5, 0.5], [0.5, 0.5, 0.75])
    >>> f"{found.mean:.3f}, {found.standard_error:.3f}, {found.p:.2f}", found.better, found.worse, found.same
    ('0.083, 0.220, 1.00', 1, 1, 1)
    """
    each = [one - other for one, other in zip(scores, others, strict=True)]
    better, worse = sum(one > EQUAL for one in each), sum(one < -EQUAL for one in each)
    error = stdev(each) / math.sqrt(len(each)) if len(each) > 1 else None
    p = randomisation_test(scores, others)
    return PairedDifference(fmean(each) if each else 0.0, error, better, worse, len(each) - better - worse, p)


def difference(scores: Mapping[str, JsonObject], others: Mapping[str, JsonObject], measure: str) -> PairedDifference:
    """The paired difference in one measure, from the scores `per_query` of two encoders over one index.

    Paired: per query first, then the mean, so that easy and hard queries cancel out. Twice its standard error is about
    half of a 95 % confidence interval.
    """
    return paired_difference([scores[query][measure] for query in scores], [others[query][measure] for query in scores])


def randomisation_test(scores: Sequence[float], others: Sequence[float], *, seed: int = 0) -> float:
    """The two-sided p-value of the mean difference of n paired scores, in 0 … 1; 1 where no pair differs.

    Exact for up to 16 pairs that differ; beyond, of 20,000 exchanges drawn with `seed`, the found one counted with
    them, so that it is never 0. Raises ValueError for different numbers of scores.

    >>> randomisation_test([1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0])  # 2 of 64 exchanges are as extreme
    0.03125
    """
    each = [one - other for one, other in zip(scores, others, strict=True)]
    differing = np.array([one for one in each if abs(one) > EQUAL])
    if not len(differing):
        return 1.0
    least = abs(float(differing.sum())) - EQUAL * len(differing)
    if len(differing) <= EXACT:
        return _as_extreme(_every_sign(len(differing)), differing, least) / (1 << len(differing))
    rng, extreme, left = np.random.default_rng(seed), 0, ROUNDS
    while left:
        rows = min(left, max(1, BLOCK // len(differing)))
        signs = rng.integers(0, 2, (rows, len(differing)), dtype=np.int8) * 2 - 1
        extreme, left = extreme + _as_extreme(signs, differing, least), left - rows
    return (extreme + 1) / (ROUNDS + 1)


def compare_searches(scores: Mapping[str, Sequence[float]]) -> list[SearchComparison]:
    """Every two of several searches, by their scores for the same n queries; p-values corrected for their number.

    >>> [(one.first, one.second, one.verdict) for one in compare_searches({"a": [1.0] * 9, "b": [0.0] * 9})]
    [('a', 'b', 'better')]
    """
    pairs = list(combinations(scores, 2))
    differences = [paired_difference(scores[one], scores[other]) for one, other in pairs]
    corrected = holm([each.p for each in differences])
    return [
        SearchComparison(one, other, each, p, _verdict(each, p, len(pairs)))
        for (one, other), each, p in zip(pairs, differences, corrected, strict=True)
    ]


def holm(values: Sequence[float]) -> list[float]:
    """The p-values of several tests, each corrected so that all of them together are wrong as seldom as one alone.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, highest = [1.0] * len(values), 0.0
    for rank, at in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[at]))
        corrected[at] = highest
    return corrected


def _verdict(difference: PairedDifference, p: float, comparisons: int) -> Verdict:
    if p < LEVEL:
        return "better" if difference.mean > 0 else "worse"
    differing = difference.better + difference.worse
    return "too few" if comparisons * 2 / 2**differing >= LEVEL else "unclear"


def _every_sign(count: int) -> NDArray[np.int8]:
    """Every row of `count` signs, (2^count, count) of -1 and 1."""
    bits = np.arange(2**count)[:, None] >> np.arange(count)[None, :] & 1
    return (bits * 2 - 1).astype(np.int8)


def _as_extreme(signs: NDArray[np.int8], differences: NDArray[np.float64], least: float) -> int:
    """How many of these exchanges have a sum of at least `least`, in either direction."""
    return int((np.abs(signs @ differences) >= least).sum())
