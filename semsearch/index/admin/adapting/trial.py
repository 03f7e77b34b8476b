"""The trial of an adapted encoder: it earns its place by the questions of the test, or the one before stays.

Both encode the same documents, without their titles and headings, in an index that exists for this alone. It is better
where one of two ways to search, by meaning or hybrid, gains at p < 0.05 (paired randomisation over the questions, with
Holm's correction); it may lose at most half a point in the other, and on general questions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from semsearch.chunking.splitter import Splitter
from semsearch.encoders.encoder import Encoder
from semsearch.evaluation.retrieval import evaluate, ndcg, ranked
from semsearch.evaluation.significance import LEVEL, PairedDifference, holm, paired_difference
from semsearch.index.admin.adapting.examples import general
from semsearch.index.index import Index
from semsearch.types import Document, JsonObject, Mode, Progress
from semsearch.utils.atomic_write import scratch_folder

MODES: tuple[Mode, ...] = ("semantic", "hybrid")  # a search by words has no encoder
MEASURE = "nDCG@10"
MOST_LOST = 0.5  # points in one way to search, or on general questions
SHOWN = 10  # questions that gained most, and that lost most

Told = Callable[[Progress], None]
Scores = dict[str, list[float]]  # of every question, by mode, and "general"


@dataclass(frozen=True, slots=True)
class Measured:
    """nDCG@10 in percent of both encoders in one way, and their paired difference; `p` is corrected."""

    before: float
    after: float
    difference: PairedDifference
    p: float

    def as_json(self) -> JsonObject:
        counted = {key: value for key, value in asdict(self.difference).items() if key not in ("mean", "p")}
        return {"before": self.before, "after": self.after, "difference": self.difference.mean, "p": self.p, **counted}


@dataclass(frozen=True, slots=True)
class Trial:
    """What was measured, by mode and on the general set; the questions that gained and lost most by meaning."""

    modes: dict[str, Measured]
    general: Measured
    gained: Sequence[JsonObject]
    lost: Sequence[JsonObject]

    @property
    def objections(self) -> list[str]:
        """Why the adapted encoder is not to be used; none: it has earned its place."""
        found = []
        if not any(one.p < LEVEL and one.difference.mean > 0 for one in self.modes.values()):
            best = max(self.modes, key=lambda mode: self.modes[mode].difference.mean)
            one = self.modes[best]
            found.append(
                f"it is not better: {MEASURE} {best} {one.before:.1f} before, {one.after:.1f} now, p {one.p:.3f}"
            )
        found += [
            f"it is worse in {mode} search: {MEASURE} {one.before:.1f} before, {one.after:.1f} now"
            for mode, one in self.modes.items()
            if -one.difference.mean > MOST_LOST
        ]
        if -self.general.difference.mean > MOST_LOST:
            change = f"{self.general.before:.1f} before, {self.general.after:.1f} now"
            found.append(f"it unlearns general text: {MEASURE} {change}, and {MOST_LOST} may be lost")
        return found


def trial(before: str, after: str, test: JsonObject, splitter: Splitter, tell: Told) -> Trial:
    """Measure both encoders by the questions of `test`, among its documents, split as in the index."""
    scores = [_scores(reference, test, splitter, tell) for reference in (before, after)]
    old, new = scores
    differences = {mode: paired_difference(new[mode], old[mode]) for mode in (*MODES, "general")}
    corrected = holm([differences[mode].p for mode in MODES])
    p: dict[str, float] = dict(zip((*MODES, "general"), (*corrected, differences["general"].p), strict=True))
    measured = {
        mode: Measured(float(np.mean(old[mode])), float(np.mean(new[mode])), one, p[mode])
        for mode, one in differences.items()
    }
    each = [
        {"question": question["text"], "kind": question["kind"], "before": round(one, 1), "after": round(other, 1)}
        for question, one, other in zip(test["questions"], old["semantic"], new["semantic"], strict=True)
    ]
    by_gain = sorted(each, key=lambda one: one["before"] - one["after"])
    gained = [one for one in by_gain[:SHOWN] if one["after"] > one["before"]]
    lost = [one for one in by_gain[::-1][:SHOWN] if one["after"] < one["before"]]
    return Trial({mode: measured[mode] for mode in MODES}, measured["general"], gained, lost)


def _scores(reference: str, test: JsonObject, splitter: Splitter, tell: Told) -> Scores:
    """nDCG@10 in percent of one encoder, question by question."""
    queries = {str(at): one["text"] for at, one in enumerate(test["questions"])}
    qrels = {str(at): one["grades"] for at, one in enumerate(test["questions"])}
    documents = [Document(name, text) for name, text in test["documents"].items()]
    encoder = Encoder.from_settings(reference)
    try:
        with scratch_folder() as place:
            with Index.create(Path(place) / "trial", encoder=encoder, splitter=splitter) as index:
                for at in range(0, len(documents), 50):
                    tell(Progress(at, len(documents), "documents", f"encoding what is searched with {encoder.name}"))
                    index.add(documents[at : at + 50])
                tell(Progress(0, len(queries), "queries", f"asking {encoder.name}"))
                found = {mode: evaluate(ranked(index.search, mode, 10), queries, qrels, 10) for mode in MODES}
            scores = {mode: [100 * one[MEASURE] for one in each["per_query"].values()] for mode, each in found.items()}
        tell(Progress(0, 1, "steps", f"asking {encoder.name} general questions"))
        return scores | {"general": _general(encoder)}
    finally:
        encoder.close()


def _general(encoder: Encoder) -> list[float]:
    """nDCG@10 in percent of each general question."""
    questions = general()["queries"]
    passages = encoder.encode(general()["passages"], role="passage")
    cosines = encoder.encode([text for text, _ in questions], role="query") @ passages.T
    best = np.argsort(-cosines, axis=1, kind="stable")[:, :10]
    return [
        100 * ndcg([str(at) for at in row], {str(right): 1})
        for row, (_, right) in zip(best.tolist(), questions, strict=True)
    ]
