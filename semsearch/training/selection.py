"""What a checkpoint is chosen by: pairs with gold scores, pairs that belong together, or the halves of held-out texts.

STS-B dev is the usual one of the papers. Where nobody has labels, a text of one's own is cut in two, and the second
half has to be found by the first among those of all held-out texts (the inverse cloze task of Lee et al. 2019,
https://arxiv.org/abs/1906.00300, without the rest of the passage).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from semsearch.errors import UsageError
from semsearch.evaluation import sts
from semsearch.utils.writing_systems import IDEOGRAPHIC

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

Encode = Callable[[Sequence[str]], "Vectors"]
FEWEST_WORDS = 6  # of a text that is cut in two
AT_ONCE = 1024  # searches
_WORD = re.compile(rf"[{IDEOGRAPHIC}]|[^\s{IDEOGRAPHIC}]+")
ROUNDING = 1e-6  # of the cosine of two float32 rows: what is nearer than this is as near


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
        found = 100 * sts.spearman(sts.pair_cosines(self.pairs, encode), self.gold)
        return 0.0 if math.isnan(found) else found  # all cosines equal: the encoder tells nothing apart


@dataclass(frozen=True, slots=True)
class Paired:
    """MRR@10 of each second text among all different second texts, searched by the first.

    Where several are as near, the own is the last of them: an encoder that gives all texts one vector finds nothing.
    """

    pairs: Sequence[tuple[str, str]]
    name: str

    @property
    def measure(self) -> str:
        return f"MRR@10 on {self.name}"

    def score(self, encode: Encode) -> float:
        places = {text: at for at, text in enumerate(dict.fromkeys(second for _, second in self.pairs))}
        firsts, seconds = encode([first for first, _ in self.pairs]), encode(list(places))
        own = np.array([places[second] for _, second in self.pairs])
        some = [slice(at, at + AT_ONCE) for at in range(0, len(own), AT_ONCE)]
        ranks = np.concatenate([_ranks(firsts[each] @ seconds.T, own[each]) for each in some])
        return float(100 * np.where(ranks <= 10, 1 / ranks, 0).mean())


def _ranks(cosines: Vectors, own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of the second text at `own` (n,) in each row of (n, m) cosines, counted from 1."""
    mine = cosines[np.arange(len(own)), own]
    return np.asarray((cosines >= mine[:, None] - ROUNDING).sum(axis=1))


def halves(texts: Sequence[str], name: str) -> Paired:
    """The first and the second half of each text that is long enough, by words. Raises UsageError without two such.

    Of Chinese and Japanese, which part no words, a letter counts as a word.

    >>> halves(["one two three four five six", "short", "a b c d e f g"], "notes").pairs
    [('one two three', 'four five six'), ('a b c', 'd e f g')]
    """
    starts = {text: [word.start() for word in _WORD.finditer(text)] for text in texts}
    long = {text: words[len(words) // 2] for text, words in starts.items() if len(words) >= FEWEST_WORDS}
    if len(long) < 2:
        raise UsageError(
            f"of {name}, {len(long)} texts have {FEWEST_WORDS} words or more, and choosing by their halves needs two.",
            "Hold out more texts, or name pairs with gold scores.",
        )
    parts = [(text[:middle], text[middle:]) for text, middle in long.items()]
    return Paired([(" ".join(one.split()), " ".join(other.split())) for one, other in parts], f"halves of {name}")
