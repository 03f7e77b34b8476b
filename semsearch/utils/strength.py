"""Strength of a hit: the chance that it is better than the best hit of a question that the index cannot answer.

A cosine of 0.4 is a strong match for one encoder and collection and noise for another, and so is a word in common. Each
index is therefore asked some hundred questions on subjects from daily life to law and physics, in each of its
languages, most of which it cannot answer. What their best hits reach is its null distribution: the cosine, and the
evidence of meaning and words together,

    evidence = cosine + WORDS * scale of the cosines * share of the query's information that the hit's words cover

The maximum of many such numbers follows an extreme-value law, the Gumbel distribution:

    strength = exp(-exp(-(evidence - location) / scale))

Location and scale come from the lower 40 % of the best hits, taken to be the lower half of those that the index cannot
answer: a question that it happens to answer lies above them and changes nothing. Subjects of daily life and those of
science, technology and law are measured apart: a collection on the one is nearer to all of them, and what is between
the groups is no spread. The location is measured for two lengths of questions, in tokens, and interpolated between,
since cosines depend on length; it grows with the logarithm of the number of passages, as that of a maximum does. An
index of few passages is judged as one of LEAST_PASSAGES: that nothing nearer is among a dozen notes says little.

A hit is `strong` where fewer than one in a hundred unanswerable questions reach its strength, `likely` where fewer than
one in ten do, else `weak`. There is no good match where no hit is at least likely.

Source: Gumbel 1958, "Statistics of Extremes", chapters 5 and 6. What it reaches: docs/strength.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, NamedTuple

from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Match

STRONG, LIKELY = 0.99, 0.9
PRIOR = 20  # questions with strengths of every size, which stand for the null distribution beside those of a person
NEXT = 0.0001  # to the strength above one, as strengths are shown
CHANCE = 0.5  # below, a question without an answer here finds something as near more often than not
ALL_WORDS = 0.95  # the least strength of a passage with all telling words of the query, whatever its cosine
ABSENT = 0.49  # the most where no passage has the number that the query is about: weak, whatever is accepted
WORDS = 6.0  # what all words of a query count for, in scales of the cosine; chosen as docs/strength.md says
LEAST_PASSAGES = 60  # chosen on dozens of man pages in eight languages: docs/strength.md
LOW, HIGH = 0.1, 0.4  # the quantiles that location and scale are read from
FOREIGN = 0.83  # of the questions an index cannot answer
LEAST_SCALE = 0.005  # an index of one text gives every question nearly the same cosine
ROW = 9  # numbers of a language, as a store records them
MEASURED_ANEW = ("ja", "ko", "zh")  # in small letters, from when the best passage covered every query in these


class Null(NamedTuple):
    """Of one language: for keywords and for sentences the logarithm of their length in tokens, and the location of the
    Gumbel distribution; its scale. First that of cosines alone, then that of the evidence.
    """

    language: str
    lengths: tuple[float, float]
    cosine: tuple[float, float, float]
    evidence: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class NullDistribution:
    """What the best hits of unanswerable questions reach, measured when the index had `passages` passages."""

    nulls: tuple[Null, ...]
    passages: int

    @property
    def numbers(self) -> tuple[float, ...]:
        """As a store records it: the row of each language, its code as a number first."""
        return tuple(
            number
            for each in self.nulls
            for number in (float(_number(each.language)), *each.lengths, *each.cosine, *each.evidence)
        )

    @classmethod
    def recorded(cls, numbers: Sequence[float], passages: int) -> NullDistribution | None:
        """One from a store. None where it was not measured, or in another way by another version."""
        nulls = _recorded(tuple(numbers))
        return cls(nulls, passages) if nulls else None

    @property
    def languages(self) -> tuple[str, ...]:
        """Those that the questions were asked in."""
        return tuple(each.language for each in self.nulls)

    def joined(self, other: NullDistribution) -> NullDistribution:
        """With the languages of another one of the same index, as if they had been measured together."""
        shift = log(max(1, self.passages) / max(1, other.passages))
        return NullDistribution((*self.nulls, *(_moved(each, shift) for each in other.nulls)), self.passages)

    def strengths(
        self,
        cosines: NDArray[np.floating],
        coverage: NDArray[np.floating] | None,
        *,
        tokens: int,
        passages: int,
        languages: Collection[str] = (),
    ) -> NDArray[np.float64]:
        """The strength in 0 … 1 of each hit (n,) for a query of so many tokens in an index of so many passages.

        `coverage` (n,) is that of `Lexical`, None where no words were searched for. `languages`: those that the query
        may be in, of which the most cautious one counts; all that were measured where it may be in any.
        """
        grown = log(max(LEAST_PASSAGES, passages) / max(1, self.passages))
        chosen = [each for each in self.nulls if each.language in languages] or self.nulls
        values = []
        for null in chosen:
            evidence, row = np.asarray(cosines, np.float64), null.cosine
            if coverage is not None:
                evidence, row = evidence + WORDS * null.cosine[-1] * np.asarray(coverage), null.evidence
            location = float(np.interp(log(max(1, tokens)), null.lengths, row[:2])) + row[2] * grown
            values.append(np.exp(-np.exp(-(evidence - location) / row[2])))
        return np.asarray(np.min(values, axis=0))


def null(
    language: str, tokens: NDArray[np.integer], cosines: NDArray[np.floating], coverage: NDArray[np.floating]
) -> Null:
    """From the questions of a language, n as keywords and as a sentence: their lengths (n, 2), and the cosines and
    coverage (n, 2, hits) of their hits. A hit that is none has a cosine of -inf. Two groups of subjects take turns.
    """
    lengths = np.sort(np.log(np.maximum(tokens, 1).mean(axis=0)))
    cosine = _tail(cosines.max(axis=2))
    evidence = _tail((cosines + WORDS * cosine[-1] * coverage).max(axis=2))
    return Null(language, (float(lengths[0]), float(lengths[1])), cosine, evidence)


def match(strength: float | None, likely: float = LIKELY) -> Match:
    """The word for a strength, within an answer that has a good match. A hit without a strength is weak.

    `likely`: the least strength of a likely match.
    """
    if strength is None or strength < likely:
        return "weak"
    return "strong" if strength >= max(STRONG, likely) else "likely"


def tightened(abstain: float, rejected: Sequence[float]) -> float:
    """The share of unanswerable questions to accept where a person found no answer in hits so strong, one a question.

    At most `abstain`: the least level above which no larger share of them is, together with PRIOR unanswerable
    questions, whose strengths are spread evenly. Hits that are strong are accepted in any case.

    >>> tightened(0.1, []), tightened(0.1, [0.97] * 3), tightened(0.1, [0.4] * 3)
    (0.1, 0.0299, 0.1)
    """
    number = PRIOR + len(rejected)
    steps = enumerate(pairwise([0.0, *sorted(rejected), 1.0]))  # between two strengths, the share grows evenly
    levels = ((max(low + NEXT, ((1 - abstain) * number - at) / PRIOR), high) for at, (low, high) in steps)
    level = next((level for level, high in levels if level < high), 1.0)
    return min(abstain, round(1 - min(level, STRONG), 6))


@lru_cache(maxsize=64)  # an index asks for its own at every search
def _recorded(numbers: tuple[float, ...]) -> tuple[Null, ...]:
    return tuple(_rows(numbers)) if len(numbers) % ROW == 0 else ()


def _rows(numbers: tuple[float, ...]) -> Iterator[Null]:
    for at in range(0, len(numbers), ROW):
        number, first, second, *rest = numbers[at : at + ROW]
        cosine, evidence = (rest[0], rest[1], rest[2]), (rest[3], rest[4], rest[5])
        code = int(number).to_bytes(2).decode("ascii")
        if code not in MEASURED_ANEW:
            yield Null(code.lower(), (first, second), cosine, evidence)


def _moved(each: Null, by: float) -> Null:
    """The locations as they are in an index that is larger by the factor e to the power of `by`."""
    cosine, evidence = ((row[0] + by * row[2], row[1] + by * row[2], row[2]) for row in (each.cosine, each.evidence))
    return each._replace(cosine=cosine, evidence=evidence)


def _number(language: str) -> int:
    return int.from_bytes(language.upper().encode("ascii"))


def _tail(best: NDArray[np.floating]) -> tuple[float, float, float]:
    """Locations of the Gumbel distribution of (n, 2) best hits, one for each column, and its scale, from both together.

    Every second subject is of one group (`null_queries`): a location is the mean of both, and the scale is that within.

    >>> _tail(np.zeros((5, 2)))[-1]
    0.005
    """
    parts = [np.sort(best[group::2, form]) for form in (0, 1) for group in (0, 1)]
    low, middle = (np.array([_quantile(part, p) for part in parts]) for p in (LOW, (LOW + HIGH) / 2))
    around = np.sort(np.concatenate([part - least for part, least in zip(parts, low, strict=True)]))
    spread = _quantile(around, HIGH) - _quantile(around, LOW)
    scale = max(spread / (_reduced(HIGH / FOREIGN) - _reduced(LOW / FOREIGN)), LEAST_SCALE)
    locations = middle.reshape(2, 2).mean(axis=1) - _reduced((LOW + HIGH) / 2 / FOREIGN) * scale
    first, second = locations.tolist()
    return first, second, scale


def _quantile(ascending: NDArray[np.floating], p: float) -> float:
    """As np.quantile, which takes 25 ms to import what it needs."""
    return float(np.interp(p * (len(ascending) - 1), np.arange(len(ascending)), ascending))


def _reduced(p: float) -> float:
    """The quantile p of the standard Gumbel distribution."""
    return -log(-log(p))
