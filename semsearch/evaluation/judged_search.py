"""A search measured on judged queries: how good its hits are, how many of them were judged, and how long it takes.

A hit that nobody has judged counts as not relevant, as in trec_eval. Where many are unjudged, as in a test set that was
made by marking the hits of one search, the figures of another search say little: judged@k is the share that was judged
(the Judged measure of ir-measures, https://ir-measur.es/en/latest/measures.html#judged).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from semsearch.evaluation.known_item import latency
from semsearch.evaluation.retrieval import Grades, Qrels, evaluate
from semsearch.types import JsonObject, Mode, Query, Results


def evaluate_search(
    find: Callable[[Query], Results],
    queries: Mapping[str, str],
    qrels: Qrels,
    mode: Mode,
    k: int = 10,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> JsonObject:
    """The means and `per_query` of `evaluate` for `find`, such as Index.search, in one mode, and three figures more.

    `judged@10` is the share of the first ten hits that have a judgement, also `per_query`; `ms` and `ms, 95 %` are
    median and 95th percentile of the milliseconds. `progress(done, total)` is called before each query. The first
    search is repeated, so that loading the encoder is not part of the times. Raises UsageError as `evaluate` does.
    """
    answers: list[Results] = []

    def search(texts: Sequence[str]) -> list[list[str]]:
        for at, text in enumerate(texts):
            progress(at, len(texts))
            query = Query(text, k=k, mode=mode, group="document")
            answers.append(find(query) if at else [find(query) for _ in range(2)][-1])
        return [[name for hit in hits for name in (hit.document, *hit.near_copies)] for hits in answers]

    scores = evaluate(search, queries, qrels, k)
    for (query, grades), hits in zip(qrels.items(), answers, strict=True):
        named = [next((name for name in (hit.document, *hit.near_copies) if name in grades), "") for hit in hits]
        scores["per_query"][query]["judged@10"] = judged_share(named, grades)
    shares = [each["judged@10"] for each in scores["per_query"].values()]
    times = latency([sum(hits.took_ms.values()) for hits in answers]) if answers else {}
    return scores | {"judged@10": fmean(shares) if shares else 0.0, **times}


def judged_share(ranking: Sequence[str], grades: Grades, k: int = 10) -> float:
    """Share of the first k documents that have a grade of any height; 1 for an empty ranking, which hides nothing.

    >>> judged_share(["bread", "salt"], {"bread": 1})
    0.5
    """
    first = ranking[:k]
    return sum(document in grades for document in first) / len(first) if first else 1.0
