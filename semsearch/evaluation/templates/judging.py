"""The score of a template: on scored pairs, or without any label by alignment and uniformity.

Without labels: Wang and Isola 2020, https://arxiv.org/abs/2005.10242, who minimise the sum of alignment and uniformity.
A text and the same text without one word are taken as similar, "delete one word" in table 1 of SimCSE, Gao et al. 2021,
https://arxiv.org/abs/2104.08821. A template that puts all texts into a narrow cone has good alignment alone.

Each seed draws half of the pairs or texts, and other words to leave out; a score is then the mean over the seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import numpy as np

from semsearch.encoders.base import EncoderBackend
from semsearch.errors import UsageError
from semsearch.evaluation import geometry
from semsearch.evaluation.encoding_windows import WINDOW, in_windows, lookup
from semsearch.evaluation.sts import pair_cosines, spearman
from semsearch.evaluation.sts_benchmarks import Subset
from semsearch.prompts import parse
from semsearch.prompts.library import Template

if TYPE_CHECKING:
    from semsearch.types import Vectors

FEWEST = 4  # different texts: half of them have a uniformity


@dataclass(frozen=True, slots=True)
class Judgement:
    """Spearman in percent (NaN if all cosines are equal), or without labels alignment and uniformity, lower is better.

    `by_seed` has the score of each seed, if there are any.
    """

    spearman: float = math.nan
    alignment: float = math.nan
    uniformity: float = math.nan
    by_seed: tuple[float, ...] = ()

    @property
    def score(self) -> float:
        """What templates are ranked by, higher is better: Spearman, or minus the sum of alignment and uniformity."""
        return -(self.alignment + self.uniformity) if math.isnan(self.spearman) else self.spearman

    @property
    def deviation(self) -> float:
        """The sample deviation of the scores over the seeds; NaN for fewer than two."""
        return stdev(self.by_seed) if len(self.by_seed) > 1 else math.nan

    @property
    def figures(self) -> dict[str, float]:
        """What it was judged by, by name; with seeds also the deviation."""
        names = ("spearman",) if math.isnan(self.alignment) else ("alignment", "uniformity")
        return {name: getattr(self, name) for name in (*names, *(("deviation",) if self.by_seed else ()))}


Judge = Callable[[str], Judgement]
Report = Callable[[int], None]  # texts embedded so far


@dataclass(frozen=True, slots=True)
class Reader:
    """Embeds texts in any template text, under the rules of `template`. `report` is called before every `window`."""

    backend: EncoderBackend
    template: Template
    report: Report = lambda done: None
    window: int = WINDOW

    def embed(self, text: str, texts: Sequence[str]) -> Vectors:
        """The vectors (n, d) of n texts in the template `text`."""
        prompt = parse(text, **self.template.rules)
        return in_windows(lambda some: self.backend.embed(some, prompt), texts, self.report, self.window)


def on_pairs(reader: Reader, subset: Subset, seeds: Sequence[int] = ()) -> Judge:
    """Judges by the Spearman of cosines with the scores of pairs."""
    gold = np.asarray(subset.gold)
    chosen = [_half(len(gold), seed) for seed in seeds]

    def judge(text: str) -> Judgement:
        cosines = pair_cosines(subset.pairs, lambda texts: reader.embed(text, texts))
        if not chosen:
            return Judgement(100 * spearman(cosines, gold))
        scores = tuple(100 * spearman(cosines[rows], gold[rows]) for rows in chosen)
        return Judgement(fmean(scores), by_seed=scores)

    return judge


def without_labels(reader: Reader, texts: Sequence[str], seeds: Sequence[int] = ()) -> Judge:
    """Judges by alignment and uniformity of `texts`. Raises UsageError for fewer than four different ones."""
    whole = list(dict.fromkeys(texts))
    if len(whole) < FEWEST:
        raise UsageError(f"there are {len(whole)} different texts.", f"Pass {FEWEST} or more.")
    drawn = {seed: [whole[at] for at in _half(len(whole), seed)] for seed in seeds} or {0: whole}
    views = {seed: [without_a_word(text, seed) for text in some] for seed, some in drawn.items()}
    every = list(dict.fromkeys([*whole, *(view for some in views.values() for view in some)]))

    def judge(text: str) -> Judgement:
        vectors = lookup(every, reader.embed(text, every))
        rows = {seed: geometry.unit(vectors(some)) for seed, some in drawn.items()}
        alignments = [geometry.alignment(rows[seed], geometry.unit(vectors(views[seed]))) for seed in drawn]
        uniformities = [geometry.uniformity(each) for each in rows.values()]
        scores = tuple(-(one + other) for one, other in zip(alignments, uniformities, strict=True))
        return Judgement(alignment=fmean(alignments), uniformity=fmean(uniformities), by_seed=scores if seeds else ())

    return judge


def without_a_word(text: str, seed: int = 0) -> str:
    """The text without one of its words, which the seed and the text choose; a text of one word stays as it is.

    >>> without_a_word("a man plays the guitar", 1)
    'a man plays guitar'
    """
    words = text.split()
    if len(words) < 2:
        return text
    rng = np.random.default_rng([seed, *text.encode()])
    del words[int(rng.integers(len(words)))]
    return " ".join(words)


def _half(count: int, seed: int) -> list[int]:
    """Half of `count` rows, two at least, in their order."""
    drawn: list[int] = np.random.default_rng(seed).permutation(count)[: max(2, count // 2)].tolist()
    return sorted(drawn)
