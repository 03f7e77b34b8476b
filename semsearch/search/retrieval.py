"""Retrieve and rank: the candidates of both channels, and the order of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from semsearch.search import fusion
from semsearch.utils.late_numpy import np
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from semsearch.stores.protocol import Allowed, Lexical, StoreReader
    from semsearch.types import JsonObject, Query, Vectors

DEPTH = 300  # candidates of each channel at least: a document's passages add up, and cosines are compared with the last
NEAREST = 30  # candidates at least where the cosine alone decides
FEEDBACK = 5  # best passages that pull the query towards their mean (Rocchio 1971), chosen with PULL on choosing data
PULL = 0.4


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the channels found, passage id -> score, best first.

    `coverage`: the share of the query that their words cover, None where no words were searched for. `complete`:
    passages with all telling words of the query. `fused`: their order in a hybrid search, before passages
    of one document add up; None where one channel decides. `plan`: how they were found. `warnings`: for the user.
    `is_absent`: what the query names by a number is in no passage.
    """

    cosine: Mapping[int, float]
    bm25: Mapping[int, float]
    coverage: Mapping[int, float] | None
    complete: frozenset[int]
    fused: fusion.Fused | None
    plan: JsonObject
    warnings: tuple[str, ...]
    is_absent: bool = False


@dataclass(frozen=True, slots=True)
class Ranking:
    """Passages in the order of the answer with their scores, and of a hybrid search what each channel adds to a score.

    `owners`: passage -> its document, where that was asked for. `certain`: how many of the first passages keep their
    place, whatever the documents of the others are; None for all.
    """

    scores: Mapping[int, float]
    parts: Mapping[int, list[float]] = field(default_factory=dict)
    owners: Mapping[int, int] | None = None
    certain: int | None = None


def depth_of(query: Query) -> int:
    """Candidates of each channel to begin with: more than k where some of them become one hit, or are fused."""
    if query.mode != "semantic":
        return max(DEPTH, 4 * query.k)
    return query.k if query.group == "passage" else max(NEAREST, 3 * query.k)


def words_of(query: Query) -> str:
    """All texts that pull the query towards a meaning, for lexical search."""
    return " ".join([query.text, *(text for text, _ in query.more)]).strip()


def retrieve(
    reader: StoreReader, space: int, query: Query, target: Vectors | None, depth: int, allowed: Allowed | None
) -> Candidates:
    """The `depth` best passages of each channel among `allowed`; `target` (1, d) is the vector to search near."""
    plan: JsonObject = {"mode": query.mode, "fusion": "none"}
    cosine: Mapping[int, float] = {}
    warnings: tuple[str, ...] = ()
    if target is not None:
        dense = reader.dense(space, target, depth, allowed, exact=query.exact)
        plan["nearest"], warnings = dense.plan, dense.warnings
        pairs = zip(dense.ids[0].tolist(), dense.cosines[0].tolist(), strict=True)
        cosine = {passage: score for passage, score in pairs if passage >= 0}
    words = words_of(query)
    lexical = reader.lexical(words, depth, allowed) if query.mode != "semantic" and words else None
    if lexical is not None:
        warnings += tuple(
            f"no passage has the word {typed!r}; {similar!r} was searched for instead."
            for typed, similar in lexical.corrected.items()
        )
        if lexical.absent:
            warnings += (f"no passage has {', '.join(lexical.absent)}, which most of the query is about.",)
    fused = None
    if query.mode == "hybrid" and (query.text.strip() or query.more):
        alpha = fusion.ALPHA if query.alpha is None else query.alpha
        plan["fusion"] = f"linear, alpha = {alpha}"
        fused, cosine = _fused(reader, space, query, target, depth, cosine, lexical, alpha)
    return Candidates(
        cosine,
        {} if lexical is None else dict(zip(lexical.ids, lexical.scores, strict=True)),
        None if lexical is None else dict(zip(lexical.ids, lexical.coverage, strict=True)),
        frozenset() if lexical is None else lexical.complete,
        fused,
        plan,
        warnings,
        is_absent=lexical is not None and bool(lexical.absent),
    )


def _fused(
    reader: StoreReader,
    space: int,
    query: Query,
    target: Vectors | None,
    depth: int,
    cosine: Mapping[int, float],
    lexical: Lexical | None,
    alpha: float,
) -> tuple[fusion.Fused, Mapping[int, float]]:
    """The candidates in the order of both channels together, and a cosine of all of them.

    The best ones pull the query's vector towards their mean, and are fused again: what they have in common says
    more about the subject than a few words do.
    """
    fused = _linear(cosine, lexical, alpha)
    pieces = [] if target is None else list(reader.vectors(space, ids=np.sort(fused.ids)))
    if target is None or not pieces:
        return fused, cosine
    ids, rows = (np.concatenate(column) for column in zip(*pieces, strict=True))
    cosine = dict(zip(ids.tolist(), (rows @ target[0]).tolist(), strict=True)) | dict(cosine)
    best = rows[np.isin(ids, fused.ids[:FEEDBACK])]
    if query.less or not len(best):
        return fused, cosine
    near = rows @ unit_rows(target + PULL * best.mean(axis=0, keepdims=True))[0]
    order = np.argsort(-near, kind="stable")[:depth]
    return _linear(dict(zip(ids[order].tolist(), near[order].tolist(), strict=True)), lexical, alpha), cosine


def _linear(cosine: Mapping[int, float], lexical: Lexical | None, alpha: float) -> fusion.Fused:
    """Both channels as a weighted sum."""
    dense = np.array(list(cosine), dtype=np.int64), np.array(list(cosine.values()), dtype=np.float64)
    ids, scores = ([], []) if lexical is None else (lexical.ids, lexical.scores)
    words = np.array(ids, dtype=np.int64), np.array(scores, dtype=np.float64)
    covered = 1.0 if lexical is None else max(lexical.coverage, default=0.0)
    return fusion.linear(dense, words, alpha, covered)


def steps(query: Query, candidates: Candidates) -> list[int]:
    """How many of the candidates to look up the documents of: the first ones, then all."""
    if candidates.fused is None or query.group == "passage":
        return [-1]
    return list(dict.fromkeys([fusion.enough(candidates.fused, query.k), len(candidates.fused.ids)]))


def rank(reader: StoreReader, query: Query, candidates: Candidates, first: int) -> Ranking:
    """The order of the answer; passages of one document add up where hits of a hybrid search are documents.

    Then only the documents of the `first` passages are looked up.
    """
    fused = candidates.fused
    if fused is None:
        return Ranking(candidates.bm25 if query.mode == "keyword" else candidates.cosine)
    owners, certain = None, len(fused.ids)
    if query.group != "passage":
        owners = reader.owners(fused.ids.tolist(), first=first)
        here = np.array([one in owners for one in fused.ids.tolist()], dtype=np.bool_)
        raised = fusion.by_document(fusion.Fused(fused.ids[here], fused.scores[here], fused.parts[:, here]), owners)
        certain = fusion.certain(raised, fused, first)
        fused = raised
    ids = fused.ids.tolist()
    parts = dict(zip(ids, fused.parts.T.tolist(), strict=True))
    return Ranking(dict(zip(ids, fused.scores.tolist(), strict=True)), parts, owners, certain)
