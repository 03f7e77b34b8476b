"""What a method needs, made of what the data has: triplets of labelled pairs, pairs of scored ones, texts of pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from semsearch.errors import UsageError
from semsearch.training.datasets._columns import ANCHOR, NEGATIVE, POSITIVE
from semsearch.training.datasets.dataset import Examples

ALIKE = 0.8  # of the range of scores: STS-B's 4 of 5, "mostly equivalent", as alignment is measured above
Labels = Literal["none", "score", "class", "teacher"]
Uses = Callable[[tuple[str, ...]], Sequence[str]]  # columns that there are -> those that the method reads


def fitted(examples: Examples, uses: Uses, labels: Labels) -> tuple[Examples, str]:
    """The examples as a method wants them, and what was done, in words; "" for nothing.

    `uses` says which columns the method reads of those there are, `labels` what it wants of those. What there is no way
    to make is left for the trainer to refuse.
    """
    if labels in ("score", "class"):
        if examples.labels is None and NEGATIVE in examples.columns:
            return scored(examples), "each triplet is two pairs, labelled 1 and 0"
        if labels == "class":
            _check_classes(examples)
        return examples, ""
    if POSITIVE not in examples.columns:
        return examples, ""
    read = set(uses((ANCHOR, POSITIVE, NEGATIVE)))
    if read == {ANCHOR}:
        return texts(examples), "each text stands alone: the method reads no pairs"
    if examples.labels is None or labels == "teacher":
        return _unlabelled(examples), "" if examples.labels is None else "labels are not read"
    if NEGATIVE in examples.columns:
        return _unlabelled(examples), "labels are not read"
    if NEGATIVE in read and (found := _triplets(examples)) is not None:
        return found, "triplets: a text with one that is most and one that is least like it, by the labels"
    return pairs(examples), "pairs that are most alike by the labels; the others are not read"


def nli(examples: Examples) -> Examples:
    """Triplets of labelled pairs: premise, an entailed text, a contradicted one (Gao et al. 2021, section 4).

    The highest label stands for entailment and the lowest for contradiction. A premise with several of either has a
    triplet for each entailed text, and its contradicted ones take turns. Raises UsageError where no premise has both.
    """
    found = _triplets(examples)
    if found is None:
        raise UsageError(
            f"{examples.source}: no text has both a pair of the highest and one of the lowest label.",
            "Triplets need premises that are both entailed and contradicted.",
        )
    return found


def pairs(examples: Examples) -> Examples:
    """The pairs whose label lies in the highest fifth of the range of labels."""
    least, most = min(examples.labels or (0,)), max(examples.labels or (0,))
    enough = least + ALIKE * (most - least)
    kept = [at for at, label in enumerate(examples.labels or ()) if label >= enough]
    rows = examples.rows(kept)
    skipped = {"a label that says unlike": len(examples) - len(kept)} if len(kept) < len(examples) else {}
    return Examples(rows.columns, None, examples.source, {**examples.skipped, **skipped})


def scored(examples: Examples) -> Examples:
    """Triplets as labelled pairs: anchor and positive 1, anchor and negative 0."""
    anchors, positives, negatives = (examples.columns[name] for name in (ANCHOR, POSITIVE, NEGATIVE))
    columns = {ANCHOR: [*anchors, *anchors], POSITIVE: [*positives, *negatives]}
    labels = [1.0] * len(examples) + [0.0] * len(examples)
    return Examples(columns, labels, examples.source, examples.skipped)


def texts(examples: Examples) -> Examples:
    """Every different text of every column, alone."""
    flat = list(dict.fromkeys(text for column in examples.columns.values() for text in column))
    return Examples({ANCHOR: flat}, None, examples.source, examples.skipped)


def _triplets(examples: Examples) -> Examples | None:
    labels = examples.labels or ()
    least, most = min(labels, default=0.0), max(labels, default=0.0)
    entailed: dict[str, list[str]] = {}
    contradicted: dict[str, list[str]] = {}
    rows = zip(examples.columns[ANCHOR], examples.columns[POSITIVE], labels, strict=True)
    for premise, text, label in rows:
        if least < most and label in (least, most):
            (entailed if label == most else contradicted).setdefault(premise, []).append(text)
    both = [premise for premise in entailed if premise in contradicted]
    if not both:
        return None
    found = [
        (premise, text, contradicted[premise][at % len(contradicted[premise])])
        for premise in both
        for at, text in enumerate(entailed[premise])
    ]
    columns = {name: [row[at] for row in found] for at, name in enumerate((ANCHOR, POSITIVE, NEGATIVE))}
    alone = len({*entailed, *contradicted}) - len(both)
    skipped = {"a premise that is not both entailed and contradicted": alone} if alone else {}
    return Examples(columns, None, examples.source, {**examples.skipped, **skipped})


def _unlabelled(examples: Examples) -> Examples:
    return Examples(examples.columns, None, examples.source, examples.skipped)


def _check_classes(examples: Examples) -> None:
    for label in examples.labels or ():
        if label < 0 or label != int(label):
            raise UsageError(
                f"{examples.source} has the label {label:g}: a class is 0, 1, 2 …",
                "Choose a method for scores: cosent; or name a column of classes: --columns label=NAME",
            )
