"""Two rankings of the same passages, by cosine and by bm25, become one.

Both scores are scaled to 0 … 1 and added with weights. How far apart they are says more than ranks do. A score is a sum
with one part for each ranking: the parts (2, n) say why a passage stands where it stands. Several good passages of one
document add up, so that a document on the subject is above one that mentions it.

Source: Bruch, Gai, Ingber 2023, "An Analysis of Fusion Functions for Hybrid Retrieval" (TOIS), section 4.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids

    Scores: TypeAlias = NDArray[np.float64]  # (n,), higher is better

ALPHA = 0.5  # weight of the cosine
FURTHER = 0.15  # share of a document's second passage that is added to its best one; of each after it, half of that
MOST_FURTHER = 3  # passages
MOST_RAISED = 1 + 2 * FURTHER  # times its own score: what further passages of its document make of a passage, at most
ROUNDING = 1e-9  # of sums of scores


class Fused(NamedTuple):
    """Passages best first: ids (n,), scores (n,), and what each ranking adds to a score, parts (2, n)."""

    ids: Ids
    scores: Scores
    parts: Scores


def linear(cosine: tuple[Ids, Scores], bm25: tuple[Ids, Scores], alpha: float = ALPHA, covered: float = 1.0) -> Fused:
    """score(passage) = alpha * cosine' + (1 - alpha) * covered * bm25', each channel scaled to 0 … 1.

    A channel is (ids, scores), best first. cosine' runs from the lowest cosine found (0) to the highest (1): a cosine's
    theoretical floor of -1 would squeeze all candidates into a narrow band, and the words alone would decide.
    bm25' is bm25 / highest, because its true floor is known: a passage with none of the words scores 0. `covered` is
    the share of what the query says that the words of some passage cover: where even the best passage has only a few of
    them, words count for less. A passage that a channel did not find gets that channel's floor. Ties go to the
    smaller rank by meaning, then by words, then to the smaller id.
    """
    ids = np.array(sorted({*cosine[0].tolist(), *bm25[0].tolist()}), dtype=np.int64)  # np.unique: 25 ms to import
    meaning = _spread(ids, *cosine, floor=float(np.min(cosine[1], initial=np.inf)))
    words = _spread(ids, *bm25, floor=0.0)
    parts = np.stack([alpha * meaning, (1 - alpha) * covered * words])
    scores = parts.sum(axis=0)
    order = np.lexsort((ids, _ranks(ids, bm25[0]), _ranks(ids, cosine[0]), -scores))  # the last key counts most
    return Fused(ids[order], scores[order], parts[:, order])


def weak_last(fused: Fused, weak: NDArray[np.bool_]) -> Fused:
    """The same passages, those that are `weak` (n,) below all others, whatever the others of their documents add.

    Their scores and parts are scaled by one factor, so that scores still order the list.
    """
    if not weak.any() or weak.all():
        return fused
    least, most = float(np.min(fused.scores[~weak])), float(np.max(fused.scores[weak])) * MOST_RAISED
    parts = fused.parts * np.where(weak, min(1.0, least / most if most > 0 else 1.0), 1.0)
    scores = parts.sum(axis=0)
    order = np.lexsort((weak, -scores))
    return Fused(fused.ids[order], scores[order], parts[:, order])


def by_document(fused: Fused, owners: Mapping[int, int]) -> Fused:
    """The same passages, the best one of each document raised by the further ones of the document, best first.

    `owners`: passage id -> document. The parts still add up to the score.
    """
    places: defaultdict[int, list[int]] = defaultdict(list)
    for at, passage in enumerate(fused.ids.tolist()):
        if passage in owners:
            places[owners[passage]].append(at)
    parts = fused.parts.copy()
    for first, *further in places.values():
        for nth, at in enumerate(further[:MOST_FURTHER]):
            parts[:, first] += FURTHER * 0.5**nth * fused.parts[:, at]
    scores = parts.sum(axis=0)
    order = np.argsort(-scores, kind="stable")
    return Fused(fused.ids[order], scores[order], parts[:, order])


def enough(fused: Fused, k: int) -> int:
    """How many of the first passages most likely have the k best documents; all of them where many are needed.

    It takes k and a half of that to be above all that the passages after them can reach.
    """
    scores, margin = fused.scores, k + k // 2
    if len(scores) <= 2 * margin:
        return len(scores)
    below = np.flatnonzero(_reach(scores) < scores[margin])
    first = max(2 * k, int(below[0])) if len(below) else len(scores)
    return first if 2 * first < len(scores) else len(scores)


def certain(raised: Fused, fused: Fused, first: int) -> int:
    """How many of the best passages stay the best, if only the documents of the `first` of `fused` are in `raised`."""
    most = _reach(fused.scores)[first] if first < len(fused.scores) else -np.inf
    return int(np.searchsorted(-raised.scores, -most))


def _reach(scores: Scores) -> Scores:
    """Scores (n,), descending -> the most that each can become if the next ones are of the same document."""
    after = np.concatenate([scores, np.zeros(MOST_FURTHER)])
    further = sum(FURTHER * 0.5**nth * after[nth + 1 : nth + 1 + len(scores)] for nth in range(MOST_FURTHER))
    return np.asarray((scores + further) * (1 + ROUNDING))


def _spread(ids: Ids, ranking: Ids, scores: Scores, floor: float) -> Scores:
    """Scores of a ranking among `ids`, with floor -> 0 and the best -> 1. Where all are equal, all are best."""
    spread = np.zeros(len(ids))
    if len(ranking):
        reach = float(np.max(scores)) - floor
        values = (np.asarray(scores, dtype=np.float64) - floor) / reach if reach > 0 else np.ones(len(ranking))
        spread[np.searchsorted(ids, ranking)] = values
    return spread


def _ranks(ids: Ids, ranking: Ids) -> Scores:
    """The rank of each of `ids` (ascending) in a ranking, from 1; infinity where it is missing."""
    ranks = np.full(len(ids), np.inf)
    ranks[np.searchsorted(ids, ranking)] = np.arange(1, len(ranking) + 1)
    return ranks
