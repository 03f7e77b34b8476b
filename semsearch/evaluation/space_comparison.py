"""Encoders compared over one index: each of its spaces answers the same queries with its own encoder.

Judged queries give nDCG@10, recall and the rest of `retrieval.evaluate`. Without them the queries are sentences of the
index, each of which has to find a passage that contains it: `known_item` says what that can show, and what it cannot.

The difference of two encoders is paired: per query first, then the mean, so that easy and hard queries cancel out.
Twice its standard error is about half of a 95 % confidence interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from semsearch.evaluation.known_item import search_known_items
from semsearch.types import JsonObject, Mode, Query, Results

EQUAL = 1e-9  # a difference of nDCG below is rounding


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Scores of one encoder minus those of another, query by query.

    `mean` and its `standard_error` are in the unit of the scores; the error is None for fewer than two queries.
    `better`, `worse` and `same` count queries.
    """

    mean: float
    standard_error: float | None
    better: int
    worse: int
    same: int


def paired_difference(scores: Sequence[float], others: Sequence[float]) -> PairedDifference:
    """Of n scores with the n of another encoder for the same queries.

    >>> found = paired_difference([1.0, 0.5, 0.5], [0.5, 0.5, 0.75])
    >>> f"{found.mean:.3f}, {found.standard_error:.3f}", found.better, found.worse, found.same
    ('0.083, 0.220', 1, 1, 1)
    """
    each = [one - other for one, other in zip(scores, others, strict=True)]
    better, worse = sum(one > EQUAL for one in each), sum(one < -EQUAL for one in each)
    error = stdev(each) / math.sqrt(len(each)) if len(each) > 1 else None
    return PairedDifference(fmean(each) if each else 0.0, error, better, worse, len(each) - better - worse)


def difference(found: Mapping[str, JsonObject], others: Mapping[str, JsonObject], measure: str) -> PairedDifference:
    """The paired difference in one measure, from the scores `per_query` of two encoders."""
    return paired_difference([found[query][measure] for query in found], [others[query][measure] for query in found])


def evaluate_known_items(
    find: Callable[[Query], Results], sentences: Sequence[str], mode: Mode, k: int = 100
) -> JsonObject:
    """nDCG@10, recall@k and MRR@10 in 0 … 1 of `find`, such as Index.search, for sentences of the index.

    The result is as that of `retrieval.evaluate`, with the sentences as queries.
    """
    found = search_known_items(find, sentences, mode, k)
    per_query = {text: _scores(rank, k) for text, rank in zip(found.sentences, found.ranks, strict=True)}
    names = next(iter(per_query.values()), {})
    means = {name: fmean(values[name] for values in per_query.values()) for name in names}
    return {"queries": len(per_query), **means, "per_query": per_query}


def _scores(rank: int | None, k: int) -> dict[str, float]:
    """The measures of a query with one relevant passage, found at `rank`."""
    seen = math.inf if rank is None or rank > 10 else rank
    return {"nDCG@10": 1 / math.log2(seen + 1), f"recall@{k}": float(rank is not None), "MRR@10": 1 / seen}
