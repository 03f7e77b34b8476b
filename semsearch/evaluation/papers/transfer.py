"""Transfer tasks: the accuracy of a classifier whose only input is the vector of a text.

Source: SentEval, Conneau and Kiela 2018, https://arxiv.org/abs/1803.05449, with its settings and its roundings. The
L2 penalty is chosen by cross-validation: on the other folds for a task without splits, which is cross-validated itself;
on train for one with train and test; a dev set replaces it. Then a classifier is trained with that penalty, with early
stopping on a twentieth of its rows, or on the dev set. A pair of texts u, v has the features |u - v| and u * v.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import SupportsFloat

import numpy as np
from numpy.typing import NDArray

from semsearch.encoders import factory
from semsearch.encoders.base import as_encoder
from semsearch.errors import UsageError
from semsearch.evaluation.papers.classifier import Classifiers, ClassifierSettings, LabelledRows, fit
from semsearch.evaluation.papers.transfer_tasks import LabelledTexts, TransferTask
from semsearch.evaluation.sts import embed_columns
from semsearch.types import EncoderLike

HELD_OUT = 0.05  # share of the rows for early stopping, without a dev set
FULL = ClassifierSettings()  # SentEval's own
FAST = ClassifierSettings(folds=5, optimiser="rmsprop", batch=128, tenacity=3, passes=2)

Embed = Callable[[Sequence[str]], "NDArray[np.float32]"]
Report = Callable[[int, int], None]  # (classifiers trained, total)


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

    SentEval's classifiers read the vectors of the network as they are. An exported encoder has only unit rows.
    """
    backend = factory.find_torch_backend(as_encoder(encoder))
    if backend is not None:
        prompt = backend.prompts["passage"]
        return lambda texts: backend.vectors(texts, prompt), "as they are"
    return lambda texts: encoder.encode(texts, role="passage"), "of length 1"


def run(
    task: TransferTask,
    embed: Embed,
    settings: ClassifierSettings = FULL,
    *,
    device: str = "cpu",
    report: Report | None = None,
) -> TransferResult:
    """The scores of the vectors (n, d) that `embed` returns, of any length; each text is embedded once."""
    parts = {part: LabelledRows.of(_features(rows, embed), rows.classes, device) for part, rows in task.parts.items()}
    solver = _Solver(task, settings, report)
    if "all" in parts:
        return solver.cross_validated(parts["all"])
    train, held_out = parts["train"], parts.get("dev", HELD_OUT)
    penalty, dev = solver.best_penalty([(train, parts["dev"])] if "dev" in parts else solver.folds(train))
    predicted = solver.fit(train, held_out, [penalty])[0].choices(parts["test"])[:, 0].cpu().numpy()
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

    def __init__(self, task: TransferTask, settings: ClassifierSettings, report: Report | None) -> None:
        self._task, self._settings, self._report, self._done = task, settings, report, 0
        folds = settings.folds
        self._total = folds * (folds + 1) if "all" in task.parts else 2 if "dev" in task.parts else folds + 1

    def cross_validated(self, rows: LabelledRows) -> TransferResult:
        """Every fold is tested once, by a classifier whose penalty was chosen on the other folds."""
        dev, tested = [], []
        for others, fold in self.folds(rows):
            penalty, score = self.best_penalty(self.folds(others))
            dev.append(score)
            tested.append(_percent(self.fit(others, HELD_OUT, [penalty])[0].accuracy(fold)[0].item()))
        return TransferResult(self._task.name, round(fmean(tested), 2), round(fmean(dev), 2), len(rows))

    def best_penalty(self, parts: Iterable[tuple[LabelledRows, LabelledRows]]) -> tuple[float, float]:
        """The penalty with the best mean accuracy over pairs of training and held-out rows; that mean in percent."""
        accuracies = [self.fit(train, held_out, self._settings.penalties)[1] for train, held_out in parts]
        scores = [_percent(fmean(column)) for column in zip(*accuracies, strict=True)]
        return self._settings.penalties[int(np.argmax(scores))], max(scores)

    def fit(
        self, rows: LabelledRows, held_out: LabelledRows | float, penalties: Sequence[float]
    ) -> tuple[Classifiers, list[float]]:
        fitted = fit(rows, held_out, self._task.classes, penalties, self._settings)
        self._done += 1
        if self._report is not None:
            self._report(self._done, self._total)
        return fitted

    def folds(self, rows: LabelledRows) -> Iterator[tuple[LabelledRows, LabelledRows]]:
        """The rows outside of each fold, and those of the fold."""
        for places in stratified(rows.classes.cpu().numpy(), self._settings.folds, self._settings.seed):
            yield rows.at(np.delete(np.arange(len(rows)), places)), rows.at(places)


def _features(rows: LabelledTexts, embed: Embed) -> NDArray[np.float32]:
    sides = embed_columns(rows.columns, embed)
    if len(sides) == 1:
        return sides[0]
    u, v = sides
    return np.concatenate([np.abs(u - v), u * v], axis=1)


def _percent(share: SupportsFloat) -> float:
    return round(100 * float(share), 2)


def _f1(predicted: NDArray[np.integer], gold: NDArray[np.integer]) -> float:
    """Harmonic mean of precision and recall of class 1, in percent."""
    both, either = ((predicted == 1) & (gold == 1)).sum(), (predicted == 1).sum() + (gold == 1).sum()
    return _percent(2 * both / either) if either else 0.0
