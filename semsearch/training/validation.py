"""A slice of the data that a run does not see, as what its checkpoints are chosen by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semsearch.errors import UsageError
from semsearch.training.selection import Paired, Scored, halves

if TYPE_CHECKING:
    from semsearch.training.datasets.dataset import Examples
    from semsearch.training.selection import Dev

MOST, SHARE = 500, 10  # examples that are held out: a tenth, and no more than are scored in seconds
FEW, QUARTER = 20, 4  # of little data a quarter, so that a score is more than a few texts' luck
SEED = 0  # whatever the seed of the run: several are judged by the same slice


def dev_of(examples: Examples, name: str) -> Dev:
    """What these examples can judge: the order of labelled pairs, the finding of pairs, or of halves of texts.

    Raises UsageError where they cannot judge anything: labels that are all one, texts of a few words.
    """
    if "positive" not in examples.columns:
        return halves(examples.columns["anchor"], name)
    pairs = list(zip(examples.columns["anchor"], examples.columns["positive"], strict=True))
    if len(pairs) < 2:
        raise UsageError(f"{name} has {len(pairs)} pairs, and choosing needs two.", "Hold out more.")
    if examples.labels is None:
        return Paired(pairs, name)
    if len(set(examples.labels)) < 2:
        raise UsageError(f"the labels of {name} are all one, and put no pair before another.", "Hold out more.")
    return Scored(pairs, examples.labels, name)


def usual(examples: int) -> int:
    """How many of so many examples are held out where nobody says it.

    >>> [usual(each) for each in (4, 40, 100, 1000, 10**6)]
    [1, 10, 20, 100, 500]
    """
    return max(min(MOST, examples // SHARE), min(FEW, examples // QUARTER))


def held_out(examples: Examples, count: int = 0, *, name: str = "held-out texts") -> tuple[Examples, Dev]:
    """The examples but for `count` of them (0: the usual number), and what those can judge.

    No text that is held out is in an example that is left. Raises UsageError where nothing is left, or nothing can
    judge.
    """
    count = count or usual(len(examples))
    if count >= len(examples):
        raise UsageError(f"{count} of {len(examples)} examples cannot be held out.", "Hold out fewer, or give more.")
    rest, kept = examples.split(count, SEED)
    if len(rest) < 2:
        raise UsageError(
            f"{len(rest)} of {len(examples)} examples share no text with {count} that are held out.",
            "Hold out fewer, or choose by a file of pairs.",
        )
    return rest, dev_of(kept, name)
