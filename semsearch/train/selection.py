"""What a checkpoint is chosen by: pairs with gold scores, pairs that belong together, or the halves of held-out texts.

STS-B dev is the usual one of the papers. Where nobody has labels, a text of one's own is cut in two, and the second
half has to be found by the first among those of all held-out texts (the inverse cloze task of Lee et al. 2019,
https://arxiv.org/abs/1906.00300, without the rest of the passage).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from semsearch.evaluation import sts

if TYPE_CHECKING:
    from semsearch.types import Vectors

Encode = Callable[[Sequence[str]], "Vectors"]
FEWEST_WORDS = 6  # of a text that is cut in two


class Dev(Protocol):
    """Scores an encoder in percent; more is better. `measure` names the score and what it was taken on."""

    @property
    def measure(self) -> str: ...
    def score(self, encode: Encode) -> float: ...


@dataclass(frozen=True, slots=True)
class Scored:
    """Spearman's correlation of cosines with gold scores."""

    pairs: Sequence[tuple[str, str]]
    gold: Sequence[float]
    name: str = "STS-B dev"

    @property
    def measure(self) -> str:
        return f"Spearman on {self.name}"

    def score(self, encode: Encode) -> float:
        return 100 * sts.spearman(sts.compared(self.pairs, encode), self.gold)


@dataclass(frozen=True, slots=True)
class Paired:
    """MRR@10 of each second text among all second texts, searched by the first."""

    pairs: Sequence[tuple[str, str]]
    name: str

    @property
    def measure(self) -> str:
        return f"MRR@10 on {self.name}"

    def score(self, encode: Encode) -> float:
        firsts, seconds = (encode([pair[side] for pair in self.pairs]) for side in (0, 1))
        scores = firsts @ seconds.T
        ranks = (scores > np.diagonal(scores)[:, None]).sum(axis=1) + 1
        return float(100 * np.where(ranks <= 10, 1 / ranks, 0).mean())


def halves(texts: Sequence[str], name: str) -> Paired:
    """The first and the second half of each text that is long enough, by words.

    >>> halves(["one two three four five six"], "notes").pairs
    [('one two three', 'four five six')]
    """
    words = [text.split() for text in dict.fromkeys(texts)]
    long = [each for each in words if len(each) >= FEWEST_WORDS]
    return Paired([(" ".join(w[: len(w) // 2]), " ".join(w[len(w) // 2 :])) for w in long], f"halves of {name}")
