"""Accuracy of `semsearch label` on the intents of banking77 and CLINC150, as a Markdown table.

    python -m scripts.bench.labels [-m MODEL]... [--choose]                 needs: $SEMSEARCH_DATA, pip install '.[cpu]'

Trained on 5, 10 and all examples of each label of the train split. The table is measured on the test split of banking77
and on what the copy of CLINC150 calls valid: 30 texts of each label, and 1,000 of no label (out of scope), which have
to get none. With --choose nothing but train splits are read: their held-out accuracy by the number of nearest examples,
from which NEAREST in semsearch/analysis/labeller.py was chosen.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semsearch import Encoder
from semsearch.analysis.labeller import Labeller
from semsearch.settings import data_folder

if TYPE_CHECKING:
    from semsearch.types import Vectors

NEAREST = (1, 2, 3, 5, 10)
SHOTS = (5, 10, None)  # examples of each label; None: all
NONE = "42"  # the label of out-of-scope texts in this copy of CLINC150


class Texts(NamedTuple):
    texts: Sequence[str]
    labels: Sequence[str]

    def some(self, most: int | None) -> Texts:
        """The first `most` examples of each label."""
        seen: dict[str, int] = {}
        kept = []
        for at, label in enumerate(self.labels):
            seen[label] = seen.get(label, 0) + 1
            if most is None or seen[label] <= most:
                kept.append(at)
        return Texts([self.texts[at] for at in kept], [self.labels[at] for at in kept])

    def where(self, options: Callable[[str], bool]) -> Texts:
        kept = [pair for pair in zip(self.texts, self.labels, strict=True) if options(pair[1])]
        return Texts([text for text, _ in kept], [label for _, label in kept])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", action="append", help="encoder; repeatable")
    parser.add_argument("--choose", action="store_true", help="compare settings on train splits alone")
    options = parser.parse_args()
    data = data_folder(None)
    for model in options.model or ["minilm"]:
        (choose if options.choose else measure)(Encoder.load(model), data)
    return 0


def choose(encoder: Encoder, data: Path) -> None:
    for name, texts in {"banking77": banking(data, "train"), "CLINC150": clinc(data, "train").where(in_scope)}.items():
        for shots in SHOTS[:2]:
            some = texts.some(shots)
            vectors = encoded(encoder, some.texts)
            results = {k: Labeller(vectors, some.labels, nearest=k).accuracy.accuracy for k in NEAREST}
            print(f"{encoder.name}, {name}, {shots} a label:", {k: f"{one:.4f}" for k, one in results.items()})


def measure(encoder: Encoder, data: Path) -> None:
    sets = {
        "banking77": (banking(data, "train"), banking(data, "test")),
        "CLINC150": (clinc(data, "train").where(in_scope), clinc(data, "valid")),
    }
    print(
        f"| {encoder.name} | examples | k-fold accuracy | accuracy | labelled | of these right | foreign texts left |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, (train, test) in sets.items():
        own, foreign = test.where(in_scope), test.where(lambda label: not in_scope(label))
        tried, strange = encoded(encoder, own.texts), encoded(encoder, foreign.texts)
        for shots in SHOTS:
            some = train.some(shots)
            labeller = Labeller(encoded(encoder, some.texts), some.labels)
            row = _row(labeller, tried, own.labels, strange)
            print(f"| {name} | {shots or 'all'} a label | " + " | ".join(row) + " |", flush=True)


def _row(labeller: Labeller, tried: Vectors, gold: Sequence[str], strange: Vectors) -> list[str]:
    results = labeller.label(tried)
    right = [one.nearest == label for one, label in zip(results, gold, strict=True)]
    kept = [one.label is not None for one in results]
    of_these = np.mean([each for each, there in zip(right, kept, strict=True) if there])
    left = [one.label is None for one in labeller.label(strange)]
    figures = (labeller.accuracy.accuracy or 0, np.mean(right), np.mean(kept), of_these)
    return [f"{100 * float(one):.1f}" for one in figures] + [f"{100 * float(np.mean(left)):.1f}" if left else "-"]


def encoded(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    if not texts:
        return np.empty((0, encoder.dim), np.float32)
    return np.asarray(encoder.encode(list(texts)), np.float32)


def in_scope(label: str) -> bool:
    return label != f"clinc {NONE}"


def banking(data: Path, split: str) -> Texts:
    rows = _rows(data / "banking77" / "banking_data" / f"{split}.csv")
    return Texts([row["text"] for row in rows], [row["category"] for row in rows])


def clinc(data: Path, split: str) -> Texts:
    rows = [row for row in _rows(data / "clinc" / "clinc-data.csv") if row["split"] == split]
    return Texts([row["text"] for row in rows], [f"clinc {row['label']}" for row in rows])


def _rows(file: Path) -> list[Mapping[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


if __name__ == "__main__":
    sys.exit(main())
