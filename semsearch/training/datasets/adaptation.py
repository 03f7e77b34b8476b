"""Adaptation of a dataset to a method: triplets from labelled pairs, pairs from scored ones, texts from pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from semsearch.errors import UsageError
from semsearch.training.datasets.dataset import ANCHOR, NEGATIVE, POSITIVE, Dataset, Labels

SIMILAR = 0.8  # of the range of scores: STS-B's 4 of 5, "mostly equivalent", also the threshold of alignment
ColumnsRead = Callable[[tuple[str, ...]], Sequence[str]]  # columns of the data -> those that the method reads


def adapt(dataset: Dataset, columns_read: ColumnsRead, labels: Labels) -> tuple[Dataset, str]:
    """The dataset in the form that a method reads, and a description of the change; "" for none.

    `columns_read` and `labels` describe the method. A dataset that cannot be adapted is returned as it is; the trainer
    refuses it.
    """
    if labels in ("score", "class"):
        if dataset.labels is None and NEGATIVE in dataset.columns:
            return _labelled_pairs(dataset), "each triplet is two pairs, labelled 1 and 0"
        if labels == "class":
            dataset.class_count()  # raises for labels that are not classes
        return dataset, ""
    if POSITIVE not in dataset.columns:
        return dataset, ""
    read = set(columns_read((ANCHOR, POSITIVE, NEGATIVE)))
    if read == {ANCHOR}:
        return _texts(dataset), "single texts: the method reads no pairs"
    if dataset.labels is None:
        return dataset, ""
    if labels == "teacher" or NEGATIVE in dataset.columns:
        return replace(dataset, labels=None), "labels are ignored"
    if NEGATIVE in read and (triplets := _triplets(dataset)) is not None:
        return triplets, "triplets: a text with its most and its least similar one by the labels"
    return _similar_pairs(dataset), "the most similar pairs by the labels; the others are ignored"


def nli_triplets(dataset: Dataset) -> Dataset:
    """Triplets from labelled pairs: premise, an entailed text, a contradicted one (Gao et al. 2021, section 4).

    The highest label stands for entailment and the lowest for contradiction. A premise with several texts of either
    kind has a triplet for each entailed text, cycling through the contradicted ones. Raises UsageError where no premise
    has both.
    """
    triplets = _triplets(dataset)
    if triplets is None:
        raise UsageError(
            f"{dataset.source}: no text has pairs with both the highest and the lowest label.",
            "Triplets need premises that are both entailed and contradicted.",
        )
    return triplets


def _similar_pairs(dataset: Dataset) -> Dataset:
    """The pairs whose label lies in the highest fifth of the range of labels."""
    least, most = min(dataset.labels or (0,)), max(dataset.labels or (0,))
    enough = least + SIMILAR * (most - least)
    similar = [at for at, label in enumerate(dataset.labels or ()) if label >= enough]
    rows = dataset.select(similar)
    skipped = {"a label of dissimilar texts": len(dataset) - len(similar)} if len(similar) < len(dataset) else {}
    return replace(rows, labels=None, skipped={**dataset.skipped, **skipped})


def _labelled_pairs(dataset: Dataset) -> Dataset:
    """Triplets as labelled pairs: anchor and positive 1, anchor and negative 0."""
    anchors, positives, negatives = (dataset.columns[name] for name in (ANCHOR, POSITIVE, NEGATIVE))
    columns = {ANCHOR: [*anchors, *anchors], POSITIVE: [*positives, *negatives]}
    labels = [1.0] * len(dataset) + [0.0] * len(dataset)
    return Dataset(columns, labels, dataset.source, dataset.skipped)


def _texts(dataset: Dataset) -> Dataset:
    """Every distinct text of every column, on its own."""
    flat = list(dict.fromkeys(text for column in dataset.columns.values() for text in column))
    return Dataset({ANCHOR: flat}, None, dataset.source, dataset.skipped)


def _triplets(dataset: Dataset) -> Dataset | None:
    labels = dataset.labels or ()
    least, most = min(labels, default=0.0), max(labels, default=0.0)
    entailed: dict[str, list[str]] = {}
    contradicted: dict[str, list[str]] = {}
    rows = zip(dataset.columns[ANCHOR], dataset.columns[POSITIVE], labels, strict=True)
    for premise, text, label in rows:
        if least < most and label in (least, most):
            (entailed if label == most else contradicted).setdefault(premise, []).append(text)
    both = [premise for premise in entailed if premise in contradicted]
    if not both:
        return None
    triplets = [
        (premise, text, contradicted[premise][at % len(contradicted[premise])])
        for premise in both
        for at, text in enumerate(entailed[premise])
    ]
    columns = {name: [row[at] for row in triplets] for at, name in enumerate((ANCHOR, POSITIVE, NEGATIVE))}
    alone = len({*entailed, *contradicted}) - len(both)
    skipped = {"a premise that is not both entailed and contradicted": alone} if alone else {}
    return Dataset(columns, None, dataset.source, {**dataset.skipped, **skipped})
