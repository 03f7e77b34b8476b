"""Encoders compared over one index: each of its spaces answers the same queries with its own encoder.

Judged queries give nDCG@10, recall and the rest of `retrieval.evaluate`. Without them the queries are sentences of the
index, each of which has to find a passage that contains it: `known_item` says what that can show, and what it cannot.

The difference of two encoders is paired: per query first, then the mean, so that easy and hard queries cancel out.
Twice its standard error is about half of a 95 % confidence interval; `significance` says whether it may be chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from semsearch.evaluation.known_item import search_known_items
from semsearch.evaluation.significance import PairedDifference, paired_difference
from semsearch.types import JsonObject, Mode, Query, Results


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
