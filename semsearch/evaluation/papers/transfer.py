"""Transfer tasks: the accuracy of a classifier whose only input is the vector of a text.

Source: SentEval, Conneau and Kiela 2018, https://arxiv.org/abs/1803.05449, with its settings and its roundings. A task
without splits is cross-validated, and each fold's penalty chosen by cross-validation on the others; a task of train and
test chooses it by cross-validation on train, one with a dev set on that. Then a classifier is trained with that
penalty, with early stopping on a twentieth of its rows, or on the dev set. A pair of texts u, v has the features
|u - v| and u * v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING, SupportsFloat

import numpy as np

from semsearch.encoders import factory
from semsearch.encoders.base import BaseEncoder
from semsearch.errors import UsageError
from semsearch.evaluation.papers.classifier import Classifiers, ClassifierSettings, LabelledRows, fit
from semsearch.evaluation.papers.transfer_tasks import LabelledTexts, TransferTask
from semsearch.evaluation.sts import embed_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import EncoderLike

PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)
HELD_OUT = 0.05  # share of the rows for early stopping, without a dev set

Embed = Callable[[Sequence[str]], "NDArray[np.float32]"]
Report = Callable[[int, int], None]  # (classifiers trained, total)


@dataclass(frozen=True, slots=True)
class TransferProtocol:
    """How a task is evaluated; the defaults are SentEval's own settings."""

    folds: int = 10
    classifier: ClassifierSettings = field(default_factory=ClassifierSettings)
    penalties: tuple[float, ...] = PENALTIES

    def with_hidden(self, units: int) -> TransferProtocol:
        """The same with a hidden layer: SG's appendix has 50 units."""
        return replace(self, classifier=replace(self.classifier, hidden=units))


FULL = TransferProtocol()
FAST = TransferProtocol(5, ClassifierSettings(optimiser="rmsprop", batch=128, tenacity=3, passes=2))


@dataclass(frozen=True, slots=True)
class TransferResult:
    """Accuracies in percent; `f1` of class 1 for tasks of pairs. `tested` is the number of rows classified."""

    task: str
    accuracy: float
    dev: float
    tested: int
    f1: float | None = None


def features_of(encoder: EncoderLike) -> tuple[Embed, str]:
    """The function that embeds texts, and whether its vectors are "as they are" or "of length 1".

    SentEval's classifiers read vectors as the network gives them. An exported encoder only gives unit rows.
    """
    backend = factory.find_torch_backend(encoder) if isinstance(encoder, BaseEncoder) else None
    if backend is not None:
        prompt = backend.prompts["passage"]
        return lambda texts: backend.vectors(texts, prompt), "as they are"
    return lambda texts: encoder.encode(texts, role="passage"), "of length 1"


def run(
    task: TransferTask,
    embed: Embed,
    protocol: TransferProtocol = FULL,
    *,
    device: str = "cpu",
    report: Report | None = None,
) -> TransferResult:
    """The scores of the vectors (n, d) that `embed` gives, of any length; each text is embedded once."""
    parts = {part: LabelledRows.of(_features(rows, embed), rows.classes, device) for part, rows in task.parts.items()}
    solver = _Solver(task.classes, protocol, report, _fits(task, protocol))
    if "all" in parts:
        return solver.cross_validated(task.name, parts["all"])
    if "dev" in parts:
        penalty, dev = solver.best_penalty(parts["train"], parts["dev"])
        held_out: LabelledRows | float = parts["dev"]
    else:
        penalty, dev = solver.best_penalty(parts["train"])
        held_out = HELD_OUT
    predicted = solver.trained(parts["train"], held_out, penalty).choices(parts["test"])[:, 0].cpu().numpy()
    gold = np.asarray(task.parts["test"].classes)
    f1 = _f1(predicted, gold) if len(task.parts["test"].columns) == 2 else None
    return TransferResult(task.name, _percent((predicted == gold).mean()), dev, len(gold), f1)


def stratified(classes: Sequence[int] | NDArray[np.integer], folds: int, seed: int) -> list[NDArray[np.int64]]:
    """The indices of each fold, every class spread evenly: scikit-learn's StratifiedKFold, shuffled by `seed`."""
    labels = np.asarray(classes)
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    if counts.max() < folds:
        raise UsageError(f"{len(labels)} rows cannot be split into {folds} folds.", "Use fewer folds, or more rows.")
    rng, fold, begin = np.random.RandomState(seed), np.empty(len(labels), dtype=np.int64), 0
    for each in np.argsort(first):  # classes in order of first occurrence
        numbers = np.sort(np.arange(begin, begin + counts[each]) % folds)
        rng.shuffle(numbers)
        fold[inverse == each] = numbers
        begin += counts[each]
    return [np.flatnonzero(fold == number) for number in range(folds)]


class _Solver:
    """Trains and counts the classifiers of one task."""

    def __init__(self, classes: int, protocol: TransferProtocol, report: Report | None, total: int) -> None:
        self._classes, self._protocol, self._report = classes, protocol, report
        self._done, self._total = 0, total

    def cross_validated(self, name: str, rows: LabelledRows) -> TransferResult:
        """Every fold is tested once, by a classifier whose penalty was chosen on the other folds."""
        dev, tested = [], []
        for places in self._folds(rows):
            others, fold = rows.at(_without(len(rows), places)), rows.at(places)
            penalty, score = self.best_penalty(others)
            dev.append(score)
            tested.append(_percent(self.trained(others, HELD_OUT, penalty).accuracy(fold)[0].item()))
        return TransferResult(name, round(fmean(tested), 2), round(fmean(dev), 2), len(rows))

    def best_penalty(self, rows: LabelledRows, dev: LabelledRows | None = None) -> tuple[float, float]:
        """The penalty that does best on `dev`, or over the folds of `rows`, and its accuracy there in percent."""
        if dev is not None:
            parts = [(rows, dev)]
        else:
            parts = [(rows.at(_without(len(rows), places)), rows.at(places)) for places in self._folds(rows)]
        found = [self._fit(train, held_out, self._protocol.penalties)[1] for train, held_out in parts]
        scores = [_percent(fmean(column)) for column in zip(*found, strict=True)]
        return self._protocol.penalties[int(np.argmax(scores))], max(scores)

    def trained(self, rows: LabelledRows, held_out: LabelledRows | float, penalty: float) -> Classifiers:
        """The classifier of `rows` with that penalty."""
        return self._fit(rows, held_out, [penalty])[0]

    def _fit(
        self, rows: LabelledRows, held_out: LabelledRows | float, penalties: Sequence[float]
    ) -> tuple[Classifiers, list[float]]:
        found = fit(rows, held_out, self._classes, penalties, self._protocol.classifier)
        self._done += 1
        if self._report is not None:
            self._report(self._done, self._total)
        return found

    def _folds(self, rows: LabelledRows) -> list[NDArray[np.int64]]:
        return stratified(rows.classes.cpu().numpy(), self._protocol.folds, self._protocol.classifier.seed)


def _features(rows: LabelledTexts, embed: Embed) -> NDArray[np.float32]:
    sides = embed_columns(rows.columns, embed)
    if len(sides) == 1:
        return sides[0]
    u, v = sides
    return np.concatenate([np.abs(u - v), u * v], axis=1)


def _fits(task: TransferTask, protocol: TransferProtocol) -> int:
    """How many times classifiers are trained."""
    if "all" in task.parts:
        return protocol.folds * (protocol.folds + 1)
    return 2 if "dev" in task.parts else protocol.folds + 1


def _without(size: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.delete(np.arange(size), places)


def _percent(share: SupportsFloat) -> float:
    return round(100 * float(share), 2)


def _f1(predicted: NDArray[np.integer], gold: NDArray[np.integer]) -> float:
    """Harmonic mean of precision and recall of class 1, in percent."""
    both, either = ((predicted == 1) & (gold == 1)).sum(), (predicted == 1).sum() + (gold == 1).sum()
    return _percent(2 * both / either) if either else 0.0
