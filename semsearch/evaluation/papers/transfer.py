"""Transfer tasks: how well a classifier does that is given nothing of a text but its vector.

Source: SentEval, Conneau and Kiela 2018, https://arxiv.org/abs/1803.05449, with its settings and its roundings. A task
that comes whole is cut into folds, and in each the penalty is found by folds of the others; one of train and test finds
it by folds of train, one with a dev set on that. Then a classifier is learned with that penalty, stopped by a
twentieth of its rows, or by the dev set. A pair of texts u, v has the features |u - v| and u * v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.encoders import factory
from semsearch.encoders.base import BaseEncoder
from semsearch.errors import UsageError
from semsearch.evaluation.papers import transfer_tasks
from semsearch.evaluation.papers.classifier import Classifiers, Learning, Rows, fit
from semsearch.evaluation.papers.transfer_tasks import Labelled, Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import EncoderProtocol

PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)
STOPPED_BY = 0.05  # of the rows, where there is no dev set

Embed = Callable[[Sequence[str]], "NDArray[np.float32]"]
Report = Callable[[int, int], None]  # classifiers learned so far, of how many


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a task is solved: SentEval's own settings unless told otherwise."""

    folds: int = 10
    learning: Learning = field(default_factory=Learning)
    penalties: tuple[float, ...] = PENALTIES

    def with_hidden(self, units: int) -> Protocol:
        """The same with a hidden layer: SG's appendix has 50 units."""
        return replace(self, learning=replace(self.learning, hidden=units))


FULL = Protocol()
FAST = Protocol(folds=5, learning=Learning(optimiser="rmsprop", batch=128, tenacity=3, passes=2))


@dataclass(frozen=True, slots=True)
class Result:
    """Accuracies in percent; `f1` of class 1 where the task is one of pairs. `tested` rows were classified."""

    task: str
    accuracy: float
    dev: float
    tested: int
    f1: float | None = None


def run_task(
    name: str,
    data: Path,
    encoder: EncoderProtocol,
    protocol: Protocol = FULL,
    *,
    device: str = "cpu",
    report: Report | None = None,
) -> Result:
    """The scores of `encoder` on the task `name`, read below `data`; classifiers learn on `device`."""
    return run(transfer_tasks.read(name, data), features_of(encoder)[0], protocol, device=device, report=report)


def features_of(encoder: EncoderProtocol) -> tuple[Embed, str]:
    """What gives the vectors of texts, and whether they are "as they are" or "of length 1".

    SentEval's classifiers read vectors as the network gives them. An exported encoder gives unit rows alone.
    """
    backend = factory.find_torch_backend(encoder) if isinstance(encoder, BaseEncoder) else None
    if backend is not None:
        prompt = backend.prompts["passage"]
        return lambda texts: backend.vectors(texts, prompt), "as they are"
    return lambda texts: encoder.encode(texts, role="passage"), "of length 1"


def run(task: Task, embed: Embed, protocol: Protocol = FULL, *, device: str = "cpu", report: Report | None = None
        ) -> Result:  # fmt: skip
    """The scores of the vectors that `embed` gives, (n, d) of any length, each text embedded once."""
    parts = {part: Rows.of(_features(rows, embed), rows.classes, device) for part, rows in task.parts.items()}
    solver = _Solver(task.classes, protocol, report, _fits(task, protocol))
    if "all" in parts:
        return solver.nested(task.name, parts["all"])
    if "dev" in parts:
        penalty, dev = solver.chosen(parts["train"], parts["dev"])
        held_out: Rows | float = parts["dev"]
    else:
        penalty, dev = solver.chosen(parts["train"])
        held_out = STOPPED_BY
    classifiers = solver.learned(parts["train"], held_out, penalty)
    found = classifiers.choices(parts["test"])[:, 0].cpu().numpy()
    wanted = np.asarray(task.parts["test"].classes)
    pairs = len(task.parts["test"].columns) == 2
    return Result(
        task.name, _percent((found == wanted).mean()), dev, len(wanted), _f1(found, wanted) if pairs else None
    )


def stratified(classes: Sequence[int] | NDArray[Any], folds: int, seed: int) -> list[NDArray[np.int64]]:
    """The places of each fold, every class dealt out evenly: scikit-learn's StratifiedKFold, shuffled by `seed`."""
    labels = np.asarray(classes)
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    if counts.max() < folds:
        raise UsageError(f"{len(labels)} rows cannot be cut into {folds} folds.", "Use fewer folds, or more rows.")
    draw, fold, begin = np.random.RandomState(seed), np.empty(len(labels), dtype=np.int64), 0
    for each in np.argsort(first):  # classes in the order in which they first occur
        hands = np.sort(np.arange(begin, begin + counts[each]) % folds)
        draw.shuffle(hands)
        fold[inverse == each] = hands
        begin += counts[each]
    return [np.flatnonzero(fold == number) for number in range(folds)]


class _Solver:
    """Learns the classifiers of one task, and counts them."""

    def __init__(self, classes: int, protocol: Protocol, report: Report | None, total: int) -> None:
        self._classes, self._protocol, self._report = classes, protocol, report
        self._done, self._total = 0, total

    def nested(self, name: str, rows: Rows) -> Result:
        """Every fold is tested once, by a classifier whose penalty was chosen among the other folds."""
        dev, tested = [], []
        for places in self._folds(rows):
            others, fold = rows.at(_without(len(rows), places)), rows.at(places)
            penalty, score = self.chosen(others)
            dev.append(score)
            tested.append(_percent(self.learned(others, STOPPED_BY, penalty).accuracy(fold)[0].item()))
        return Result(name, round(fmean(tested), 2), round(fmean(dev), 2), len(rows))

    def chosen(self, rows: Rows, dev: Rows | None = None) -> tuple[float, float]:
        """The penalty that does best on `dev`, or over the folds of `rows`, and its accuracy there in percent."""
        if dev is not None:
            parts = [(rows, dev)]
        else:
            parts = [(rows.at(_without(len(rows), places)), rows.at(places)) for places in self._folds(rows)]
        found = [self._fit(train, held_out, self._protocol.penalties)[1] for train, held_out in parts]
        scores = [_percent(fmean(column)) for column in zip(*found, strict=True)]
        return self._protocol.penalties[int(np.argmax(scores))], max(scores)

    def learned(self, rows: Rows, held_out: Rows | float, penalty: float) -> Classifiers:
        """The classifier of `rows` under that penalty."""
        return self._fit(rows, held_out, [penalty])[0]

    def _fit(self, rows: Rows, held_out: Rows | float, penalties: Sequence[float]) -> tuple[Classifiers, list[float]]:
        found = fit(rows, held_out, self._classes, penalties, self._protocol.learning)
        self._done += 1
        if self._report is not None:
            self._report(self._done, self._total)
        return found

    def _folds(self, rows: Rows) -> list[NDArray[np.int64]]:
        return stratified(rows.classes.cpu().numpy(), self._protocol.folds, self._protocol.learning.seed)


def _features(rows: Labelled, embed: Embed) -> NDArray[np.float32]:
    distinct = list(dict.fromkeys(text for column in rows.columns for text in column))
    place = {text: at for at, text in enumerate(distinct)}
    vectors = embed(distinct)
    sides = [vectors[[place[text] for text in column]] for column in rows.columns]
    if len(sides) == 1:
        return sides[0]
    u, v = sides
    return np.concatenate([np.abs(u - v), u * v], axis=1)


def _fits(task: Task, protocol: Protocol) -> int:
    """How many times classifiers are learned."""
    if "all" in task.parts:
        return protocol.folds * (protocol.folds + 1)
    return 2 if "dev" in task.parts else protocol.folds + 1


def _without(size: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.delete(np.arange(size), places)


def _percent(share: Any) -> float:
    return round(100 * float(share), 2)


def _f1(found: NDArray[Any], wanted: NDArray[Any]) -> float:
    """Harmonic mean of precision and recall of class 1, in percent."""
    both, either = ((found == 1) & (wanted == 1)).sum(), (found == 1).sum() + (wanted == 1).sum()
    return _percent(2 * both / either) if either else 0.0
