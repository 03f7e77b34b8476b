"""Dataset: columns of texts side by side, optionally with a label for each row; and counts of skipped records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from semsearch.errors import UsageError

ANCHOR, POSITIVE, NEGATIVE = "anchor", "positive", "negative"
Labels = Literal["none", "score", "class", "teacher"]  # kinds of labels that a training method reads


@dataclass(frozen=True, slots=True)
class Dataset:
    """`columns` by name, each with one text per row: anchor, and positive and negative where the data has pairs.

    `labels` are similarities (in any range), or classes 0, 1, …; `source` names the origin of the data, `skipped` has
    the number of unusable records by reason. Raises UsageError without an anchor, or for columns of different lengths.
    """

    columns: Mapping[str, Sequence[str]]
    labels: Sequence[float] | None = None
    source: str = ""
    skipped: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = {name: len(texts) for name, texts in self.columns.items()}
        sizes |= {} if self.labels is None else {"labels": len(self.labels)}
        if ANCHOR not in sizes:
            raise UsageError(
                f"the dataset has columns {', '.join(sizes) or '(none)'}.", f"One has to be called {ANCHOR}."
            )
        if len(set(sizes.values())) > 1:
            listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise UsageError(
                f"the dataset has columns of different lengths: {listed}.", "Each row needs a text in each column."
            )

    def __len__(self) -> int:
        return len(self.columns[ANCHOR])

    def select(self, rows: Sequence[int]) -> Dataset:
        """The rows at these indices, in this order."""
        return replace(
            self,
            columns={name: [texts[row] for row in rows] for name, texts in self.columns.items()},
            labels=None if self.labels is None else [self.labels[row] for row in rows],
        )

    def subsample(self, size: int) -> Dataset:
        """At most `size` random rows, in their original order; always the same ones."""
        if size >= len(self):
            return self
        return self.select(np.sort(np.random.default_rng(0).permutation(len(self))[:size]).tolist())

    def split(self, held_out: int, seed: int) -> tuple[Dataset, Dataset]:
        """The dataset without `held_out` random rows, and those rows. The two have no text in common."""
        order = np.random.default_rng([seed, len(self)]).permutation(len(self)).tolist()
        second = self.select(order[:held_out])
        seen = {text for texts in second.columns.values() for text in texts}
        rest = [at for at in sorted(order[held_out:]) if not any(texts[at] in seen for texts in self.columns.values())]
        return self.select(rest), second

    def class_count(self) -> int:
        """The number of classes 0, 1, … among the labels. Raises UsageError for labels that are not classes.

        >>> Dataset({"anchor": ["a", "b", "c"]}, [0, 2, 1]).class_count()
        3
        """
        labels = self.labels or ()
        wrong = next((label for label in labels if label < 0 or label != int(label)), None)
        if wrong is not None:
            raise UsageError(
                f"{self.source or 'the data'} has the label {wrong:g}: a class is 0, 1, 2 …",
                "Choose a method for scores: cosent; or name a column of classes as `label`.",
            )
        return 1 + int(max(labels, default=-1))


@dataclass(slots=True)
class SkipCounts:
    """The skipped records: the count of each reason, and the place of its first record."""

    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, place: str = "") -> None:
        self.counts[reason] = self.counts.get(reason, 0) + 1
        if place:
            self.places.setdefault(reason, place)

    def as_dict(self) -> dict[str, int]:
        """As `Dataset.skipped`: each reason with its first place, and the count."""
        places = {reason: f" (first: {place})" for reason, place in self.places.items()}
        return {reason + places.get(reason, ""): count for reason, count in self.counts.items()}

    def nothing_left(self, source: str) -> UsageError:
        """The error for data without a usable example."""
        why = "; ".join(f"{count:,} × {reason}" for reason, count in self.as_dict().items())
        return UsageError(
            f"{source} has no usable example{f': {why}' if why else ''}.", "Check the file, or name its columns."
        )
