"""Labels for texts, learned from examples: each gets the label whose examples are nearest.

The score of a label is the mean of two cosines: with the nearest of its examples (NEAREST of them), and with the mean
of all. Probabilities are a softmax of the scores; its temperature makes the examples themselves likeliest when each is
held out (Guo et al. 2017). `fit` is a conformal p-value (Vovk et al. 2005): of the held-out examples, the share whose
best score is no higher.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.analysis import document_vectors, mining
from semsearch.errors import UsageError
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space
from semsearch.types import EncoderLike, Label, LabelAccuracy, Progress
from semsearch.utils.arguments import between, several, whole_number
from semsearch.utils.quantities import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

NEAREST = 1  # examples of a label: scripts/bench/labels.py compares others on held-out examples
FOLDS, REJECT = 5, 0.02
AT_ONCE = 1_000  # texts that are compared with all examples at a time
TEMPERATURES = np.geomspace(0.005, 0.5, 25)


class Labeller:
    """Labels for vectors in one space, from examples with their labels."""

    def __init__(
        self,
        vectors: Vectors,
        labels: Sequence[str],
        *,
        folds: int = FOLDS,
        reject: float = REJECT,
        nearest: int = NEAREST,
        progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        """From unit vectors (n, d) of examples and their n labels. A label needs two examples to be tested.

        Each example is labelled by those of the other `folds`. A text less like its label than all but the share
        `reject` of these gets none. Raises UsageError.
        """
        whole_number("folds", folds, 2)
        between("reject", reject, 0, 1, "It is a share, for example 0.02.")
        if len(labels) != len(vectors):
            raise UsageError(f"there are {len(vectors)} examples and {len(labels)} labels.", "Pass a label for each.")
        self.labels = tuple(sorted(set(labels)))
        if len(self.labels) < 2:
            raise UsageError(
                f"the examples have {count(len(self.labels), 'label')}.", "Give examples of two labels or more."
            )
        place = {label: code for code, label in enumerate(self.labels)}
        self._vectors, self._codes = vectors, np.array([place[label] for label in labels], np.int64)
        self._nearest, self._reject = nearest, reject
        scores = self._held_out(folds, progress)
        tested = np.bincount(self._codes)[self._codes] > 1
        self._temperature = _temperature(scores[tested], self._codes[tested]) if tested.any() else 0.05
        self._best = np.sort(scores[tested].max(axis=1)) if tested.any() else np.empty(0, np.float32)
        self.accuracy = self._accuracy(scores, tested, folds)

    def label(self, vectors: Vectors) -> list[Label]:
        """The label of each of n unit vectors (n, d)."""
        labels: list[Label] = []
        for start in range(0, len(vectors), AT_ONCE):
            labels += self._chosen(self._scores(vectors[start : start + AT_ONCE], np.ones(len(self._codes), np.bool_)))
        return labels

    def _chosen(self, scores: NDArray[np.float32]) -> list[Label]:
        chances, best = softmax(scores / self._temperature), scores.argmax(axis=1)
        fits = self._fits(scores.max(axis=1))
        return [
            Label(self.labels[code] if fit >= self._reject else None, self.labels[code], float(row[code]), float(fit))
            for row, code, fit in zip(chances, best.tolist(), fits.tolist(), strict=True)
        ]

    def _fits(self, best: NDArray[np.float32]) -> NDArray[np.float64]:
        return (np.searchsorted(self._best, best, side="right") + 1) / (len(self._best) + 1)

    def _scores(self, vectors: Vectors, used: NDArray[np.bool_]) -> NDArray[np.float32]:
        """(m, d) -> (m, labels), by the examples that are `used` (n,); -1 for a label without one."""
        cosines = vectors @ self._vectors.T
        scores = np.full((len(vectors), len(self.labels)), -1, np.float32)
        for code in range(len(self.labels)):
            rows = np.flatnonzero(used & (self._codes == code))
            if len(rows):
                near = min(self._nearest, len(rows))
                top = np.partition(cosines[:, rows], -near, axis=1)[:, -near:].mean(axis=1)
                mean = self._vectors[rows].sum(axis=0)
                scores[:, code] = (top + vectors @ mean / (np.linalg.norm(mean) or 1)) / 2
        return scores

    def _held_out(self, folds: int, progress: Callable[[int], None]) -> NDArray[np.float32]:
        """The scores (n, labels) of the examples, each by those of other folds alone."""
        part = folds_of(self._codes, folds)
        scores = np.empty((len(self._codes), len(self.labels)), np.float32)
        for fold in range(folds):
            rows = np.flatnonzero(part == fold)
            for start in range(0, len(rows), AT_ONCE):
                some = rows[start : start + AT_ONCE]
                scores[some] = self._scores(self._vectors[some], part != fold)
            progress(fold + 1)
        return scores

    def _accuracy(self, scores: NDArray[np.float32], tested: NDArray[np.bool_], folds: int) -> LabelAccuracy:
        right = (scores.argmax(axis=1) == self._codes)[tested]
        kept = self._fits(scores.max(axis=1))[tested] >= self._reject
        by_label = {
            label: (int(right[self._codes[tested] == code].sum()), int((self._codes == code).sum()))
            for code, label in enumerate(self.labels)
        }
        return LabelAccuracy(
            folds=folds,
            examples=len(self._codes),
            tested=int(tested.sum()),
            accuracy=float(right.mean()) if len(right) else None,
            labelled=float(kept.mean()) if len(right) else None,
            accuracy_of_labelled=float(right[kept].mean()) if kept.any() else None,
            by_label=by_label,
        )


def folds_of(codes: NDArray[np.int64], folds: int) -> NDArray[np.int64]:
    """(n,) the fold of each example: those of one label are spread over as many folds as they can be, at random."""
    random, part = np.random.default_rng(0), np.empty(len(codes), np.int64)
    for code in np.unique(codes):
        rows = random.permutation(np.flatnonzero(codes == code))
        part[rows] = (np.arange(len(rows)) + random.integers(folds)) % folds
    return part


def softmax(scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Rows (n, labels) of scores as probabilities."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float64)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _temperature(scores: NDArray[np.float32], codes: NDArray[np.int64]) -> float:
    """The one of TEMPERATURES under which the right labels are likeliest."""

    def loss(one: float) -> float:
        chances = softmax(scores / one)[np.arange(len(codes)), codes]
        return float(-np.log(np.maximum(chances, 1e-12)).mean())

    return float(min(TEMPERATURES, key=loss))


def label_examples(
    examples: Sequence[tuple[str, str]],
    *,
    encoder: EncoderLike | str = "default",
    folds: int = FOLDS,
    reject: float = REJECT,
    progress: Callable[[int], None] = lambda done: None,
) -> Labeller:
    """A `Labeller` from (text, label) pairs. Its `label` takes vectors (n, d) of the same encoder, role "passage".

    Each example is labelled by those of the other `folds`: `accuracy`. A text that is less like its label than all but
    the share `reject` of these gets the label None. `progress` gets the number of folds that are done. Raises
    UsageError.
    """
    pairs = checked(examples)
    vectors = mining.vectors_of([text for text, _ in pairs], encoder)
    return Labeller(vectors, [label for _, label in pairs], folds=folds, reject=reject, progress=progress)


def checked(examples: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The examples. Raises UsageError for what are no pairs of texts."""
    pairs = several(examples, "label", "examples")
    for one in pairs:
        if not (isinstance(one, tuple | list) and len(one) == 2 and all(isinstance(each, str) for each in one)):
            raise UsageError(f"an example is a text and its label, not {one!r:.60}.", 'Pass [("a text", "label"), …].')
    return pairs


def label_documents(
    reader: StoreReader, space: Space, names: Sequence[str], labeller: Labeller, report: Callable[[Progress], None]
) -> dict[str, Label]:
    """The labels of those of the documents that have a vector. Call it inside a snapshot."""
    labels: dict[str, Label] = {}
    for at, (some, rows) in enumerate(document_vectors.blocks(reader, space, names)):
        report(Progress(at * document_vectors.BLOCK, len(names), "documents"))
        labels |= zip(some, labeller.label(rows), strict=True)
    return labels
