"""Validation, which chooses the best checkpoint: by pairs with gold scores, related pairs, or halves of texts.

The papers use STS-B dev. Without labels, a held-out text is split in two, and its first half has to retrieve the second
among the second halves of all held-out texts (the inverse cloze task of Lee et al. 2019,
https://arxiv.org/abs/1906.00300, without the rest of the passage).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import UsageError
from semsearch.evaluation import sts
from semsearch.training.datasets.dataset import ANCHOR, POSITIVE, Dataset
from semsearch.utils.languages.writing_systems import EAST_ASIAN

if TYPE_CHECKING:
    from semsearch.types import Vectors

Encode = Callable[[Sequence[str]], "Vectors"]
MIN_WORDS = 6  # of a text that is split in two
QUERIES_AT_ONCE = 1024
ROUNDING = 1e-6  # of the cosine of two float32 rows: smaller differences are ties
MAX_HELD_OUT, FRACTION = 500, 10  # a tenth of the examples, at most as many as can be scored in seconds
SMALL, SMALL_FRACTION = 20, 4  # of small data a quarter, so that a score depends on more than a few texts
SEED = 0  # independent of the run's seed, so that several seeds are scored on the same examples
_WORD = re.compile(rf"[{EAST_ASIAN}]|[^\s{EAST_ASIAN}]+")


class Validation(Protocol):
    """Scores an encoder in percent; higher is better. `measure` names the metric and the data."""

    @property
    def measure(self) -> str: ...
    def score(self, encode: Encode) -> float: ...


@dataclass(frozen=True, slots=True)
class SimilarityValidation:
    """Spearman's correlation of cosines with gold scores."""

    pairs: Sequence[tuple[str, str]]
    gold: Sequence[float]
    name: str = "STS-B dev"

    @property
    def measure(self) -> str:
        return f"Spearman on {self.name}"

    def score(self, encode: Encode) -> float:
        percent = 100 * sts.spearman(sts.pair_cosines(self.pairs, encode), self.gold)
        return 0.0 if math.isnan(percent) else percent  # all cosines are equal: no correlation


@dataclass(frozen=True, slots=True)
class RetrievalValidation:
    """MRR@10 of the second text of each pair among all distinct second texts, with the first as query.

    Ties count as misses: an encoder that maps all texts to one vector scores 0 beyond ten texts.
    """

    pairs: Sequence[tuple[str, str]]
    name: str

    @property
    def measure(self) -> str:
        return f"MRR@10 on {self.name}"

    def score(self, encode: Encode) -> float:
        places = {text: at for at, text in enumerate(dict.fromkeys(second for _, second in self.pairs))}
        queries, passages = encode([first for first, _ in self.pairs]), encode(list(places))
        relevant = np.array([places[second] for _, second in self.pairs])
        parts = [slice(at, at + QUERIES_AT_ONCE) for at in range(0, len(relevant), QUERIES_AT_ONCE)]
        ranks = np.concatenate([_ranks(queries[part] @ passages.T, relevant[part]) for part in parts])
        return float(100 * np.where(ranks <= 10, 1 / ranks, 0).mean())


def _ranks(cosines: Vectors, relevant: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rank, from 1, of column `relevant` (n,) in each row of (n, m) cosines: (n,)."""
    own = cosines[np.arange(len(relevant)), relevant]
    return np.asarray((cosines >= own[:, None] - ROUNDING).sum(axis=1))


def split_halves(texts: Sequence[str], name: str) -> RetrievalValidation:
    """The first and second half, by words, of each text that is long enough. Raises UsageError with fewer than two.

    Chinese and Japanese do not separate words; there each character counts as a word.

    >>> split_halves(["one two three four five six", "short", "a b c d e f g"], "notes").pairs
    [('one two three', 'four five six'), ('a b c', 'd e f g')]
    """
    starts = {text: [word.start() for word in _WORD.finditer(text)] for text in texts}
    middles = {text: words[len(words) // 2] for text, words in starts.items() if len(words) >= MIN_WORDS}
    if len(middles) < 2:
        raise UsageError(
            f"{len(middles)} of the texts of {name} have {MIN_WORDS} words or more, and validation needs two.",
            "Hold out more texts, or name pairs with gold scores.",
        )
    halves = [(text[:middle], text[middle:]) for text, middle in middles.items()]
    return RetrievalValidation(
        [(" ".join(one.split()), " ".join(two.split())) for one, two in halves], f"halves of {name}"
    )


def validation_of(dataset: Dataset, name: str) -> Validation:
    """The validation that a dataset allows: correlation with labels, retrieval of pairs, or of halves of texts.

    Raises UsageError where it allows none: fewer than two pairs, identical labels, texts of a few words.
    """
    if POSITIVE not in dataset.columns:
        return split_halves(dataset.columns[ANCHOR], name)
    pairs = list(zip(dataset.columns[ANCHOR], dataset.columns[POSITIVE], strict=True))
    if len(pairs) < 2:
        raise UsageError(f"{name} has {len(pairs)} pairs, and validation needs two.", "Hold out more.")
    if dataset.labels is None:
        return RetrievalValidation(pairs, name)
    if len(set(dataset.labels)) < 2:
        raise UsageError(
            f"all labels of {name} are the same, so that they rank no pair above another.", "Hold out more."
        )
    return SimilarityValidation(pairs, dataset.labels, name)


def default_held_out(examples: int) -> int:
    """The number of examples to hold out by default.

    >>> [default_held_out(each) for each in (4, 40, 100, 1000, 10**6)]
    [1, 10, 20, 100, 500]
    """
    return max(min(MAX_HELD_OUT, examples // FRACTION), min(SMALL, examples // SMALL_FRACTION))


def hold_out(dataset: Dataset, count: int = 0) -> tuple[Dataset, Validation]:
    """The dataset without `count` of its examples (0: the default number), and a validation by those.

    No held-out text is in a remaining example. Raises UsageError where nothing remains, or no validation is possible.
    """
    count = count or default_held_out(len(dataset))
    if count >= len(dataset):
        raise UsageError(f"{count} of {len(dataset)} examples cannot be held out.", "Hold out fewer, or add data.")
    rest, held_out = dataset.split(count, SEED)
    if len(rest) < 2:
        raise UsageError(
            f"{len(rest)} of {len(dataset)} examples share no text with the {count} that are held out.",
            "Hold out fewer, or validate on a file of pairs.",
        )
    return rest, validation_of(held_out, "held-out texts")
