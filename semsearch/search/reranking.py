"""The second stage: the first hits are read again, each together with the query, and ordered by both judgements.

    score = (1 - weight) * first' + weight * second'

first' is the score that the search gave, second' the logarithm of the odds that the reranker gives; both are scaled
so that the lowest of the hits read again is 0 and the highest 1. Weight 0 keeps the order of the search and weight 1
replaces it. Hits that are not read again follow in their order, with scores of 0 and below.

A reranker that fails costs the reranking, never the answer. Source of the scaling: Bruch, Gai, Ingber 2023, as for
semsearch.search.fusion; what was measured: docs/reranking.md.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from semsearch import settings
from semsearch.encoders import rerankers
from semsearch.errors import SemsearchError, UsageError
from semsearch.types import Document, Passage
from semsearch.utils.late_numpy import np
from semsearch.utils.passage_context import embedded
from semsearch.utils.untrusted import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.protocol import StoreReader
    from semsearch.stores.records import StoredPassage
    from semsearch.types import Hit, JsonObject, Query, RerankerLike

    Scores = NDArray[np.float64]  # (n,)

SURE = 1e-9  # a chance is at most so far from 0 and 1: the logarithm of the odds of 1 is infinite
KEPT = 2  # loaded rerankers that stay in memory
FIRST_STAGE = "the hits stand in the order of the search"


@dataclass(frozen=True, slots=True)
class Reranked:
    """The hits in their new order, what was done, how long it took, and warnings."""

    hits: list[Hit]
    plan: JsonObject
    took_ms: float
    warnings: tuple[str, ...] = ()


def chosen(query: Query) -> RerankerLike | None:
    """The reranker of a query, loaded where it is named; None for a query without. Raises NotFound, UsageError."""
    if query.rerank is None or not isinstance(query.rerank, str):
        return query.rerank
    now = settings.load()
    return _loaded(query.rerank, now.reranker, now.device, now.threads)


@lru_cache(maxsize=KEPT)
def _loaded(name: str, default: str, device: str, threads: int) -> RerankerLike:
    """The reranker called `name`; the other arguments are the settings that it was loaded with."""
    return rerankers.Reranker.from_settings(name)


def passages(reader: StoreReader, hits: Sequence[Hit]) -> list[str]:
    """The text of each hit as it was embedded: with title and heading before it, unless they are in it."""
    stored = {one.id: one for one in reader.passages([hit.id for hit in hits])}
    return [_text(stored[hit.id]) if hit.id in stored else hit.text for hit in hits]


def _text(stored: StoredPassage) -> str:
    document = Document(stored.document, "", title=stored.title)
    return embedded(document, Passage(stored.start, stored.end, stored.text, heading=stored.heading))


def rerank(reranker: RerankerLike, query: Query, hits: Sequence[Hit], texts: Sequence[str]) -> Reranked:
    """`hits`, the first of which have `texts` and are read again; all of them in order."""
    began = time.perf_counter()
    plan: JsonObject = {"reranker": reranker.name, "fingerprint": reranker.fingerprint, "pairs": len(texts)}
    plan |= {"depth": query.rerank_depth, "weight": query.rerank_weight}
    try:
        scores = _checked(reranker.score(query.text, texts), len(texts)) if texts else np.zeros(0)
    except Exception as error:  # a model of anybody's: the answer is there without it
        problem = error.message if isinstance(error, SemsearchError) else f"{type(error).__name__}: {error}"
        warning = f"the reranker {reranker.name} failed, so {FIRST_STAGE}: {one_line(problem)}"
        return Reranked(list(hits), plan | {"failed": True}, _since(began), (warning,))
    channel = "bm25" if query.mode == "keyword" else "cosine"
    return Reranked(ordered(hits, scores, query.rerank_weight, channel), plan, _since(began))


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 2)


def _checked(answer: object, n: int) -> Scores:
    """Scores (n,) in 0 … 1. Raises UsageError for anything else."""
    scores = np.asarray(answer, dtype=np.float64)
    if scores.shape != (n,):
        raise UsageError(f"it gave scores of shape {scores.shape} for {n} passages.")
    wrong = ~((scores >= 0) & (scores <= 1))  # also where a score is NaN
    if wrong.any():
        at = int(np.argmax(wrong))
        raise UsageError(f"its score of hit {at + 1} is {scores[at]}, and a score is between 0 and 1.")
    return scores


def ordered(hits: Sequence[Hit], scores: Scores, weight: float, channel: str) -> list[Hit]:
    """All hits, those with a score first, in the order of both stages together. `channel` is that of hits of one."""
    n = len(scores)
    if not n:
        return list(hits)
    before = np.array([hit.score for hit in hits], dtype=np.float64)
    first, second = fused_parts(before, scores, weight)
    order = [*np.argsort(-(first[:n] + second), kind="stable").tolist(), *range(n, len(hits))]
    return [
        replace(
            hits[at],
            rank=rank,
            score=float(first[at] + (second[at] if at < n else 0.0)),
            parts={**_parts(hits[at], float(first[at]), channel), "rerank": float(second[at]) if at < n else 0.0},
            rerank=float(scores[at]) if at < n else None,
        )
        for rank, at in enumerate(order, 1)
    ]


def fused_parts(first: Scores, second: Scores, weight: float) -> tuple[Scores, Scores]:
    """What both stages add to a score: first (m,), best first, and second (n,) for the first n -> (m,), (n,).

    The order of equal sums is that of the first stage.
    """
    window = first[: len(second)]
    low, reach = float(window.min()), float(np.ptp(window))
    chance = np.clip(second, SURE, 1 - SURE)
    odds = np.log(chance) - np.log1p(-chance)
    spread = float(np.ptp(odds))
    scaled = (odds - odds.min()) / spread if spread > 0 else np.ones(len(odds))
    before = (first - low) / reach if reach > 0 else (first >= low).astype(np.float64)
    return np.asarray((1 - weight) * before), np.asarray(weight * scaled)


def _parts(hit: Hit, score: float, channel: str) -> dict[str, float]:
    """What each channel of the first stage adds to its `score`: in proportion, or all of it where there is but one."""
    whole = sum(hit.parts.values())
    return {name: part / whole * score for name, part in hit.parts.items()} if whole > 0 else {channel: score}
