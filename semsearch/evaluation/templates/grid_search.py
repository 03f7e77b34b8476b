"""Search for a template: Spearman on sentence pairs for each of a grid of prefixes, relations and endings.

Source: Jiang et al. 2022, PromptBERT, https://arxiv.org/abs/2201.04337, section 4.2: greedy, first the tokens that
relate [X] to [MASK], then those that wrap [X]; its table 4 is the grid below, on bert-base-uncased 39.34 for
"[X] [MASK] ." and 73.44 for the best. Endings come third: Zhang et al. 2024, https://arxiv.org/abs/2404.03921, table 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from semsearch.errors import UsageError
from semsearch.evaluation.sts import Pair, Subset, compared, spearman
from semsearch.prompts import MASK, SLOT, Prompt, parse

if TYPE_CHECKING:
    from semsearch.prompts.library import Template
    from semsearch.types import Vectors

Stage = Literal["relation", "prefix", "ending", "grid"]
Score = Callable[[str], float]


class Embeds(Protocol):
    """What reads texts under any prompt: an engine."""

    def embed(self, texts: Sequence[str], prompt: Prompt) -> Vectors: ...


@dataclass(frozen=True, slots=True)
class Grid:
    """Pieces of templates: prefix + relation + ending, with a blank between. A relation without [MASK] gets one."""

    prefixes: tuple[str, ...]
    relations: tuple[str, ...]
    endings: tuple[str, ...]
    masks: bool = True  # whether the method reads [MASK]s

    def __post_init__(self) -> None:
        for name in ("prefixes", "relations", "endings"):
            if not getattr(self, name):
                raise UsageError(f"there are no {name} to search among.", "Write one a line, or leave the option out.")
        for prefix in self.prefixes:
            if prefix.count(SLOT) != 1:
                raise UsageError(f"the prefix {prefix!r} does not hold {SLOT} once.",
                                 f"A prefix wraps the sentence, for example: This sentence : \"{SLOT}\"")  # fmt: skip

    def text(self, prefix: str, relation: str, ending: str) -> str:
        """
        >>> Grid(("[X]",), ("means",), (".",)).text("[X]", "means", ".")
        '[X] means [MASK] .'
        """
        mask = MASK if self.masks and MASK not in relation else ""
        return " ".join(part for part in (prefix, relation, mask, ending) if part)

    def all(self) -> Iterator[str]:
        """Every template of the grid."""
        for prefix in self.prefixes:
            for relation in self.relations:
                for ending in self.endings:
                    yield self.text(prefix, relation, ending)


TABLE_4 = Grid(
    ("[X]", "This [X]", "This sentence of [X]", 'This sentence of "[X]"', 'This sentence : "[X]"'),
    ("", "is", "mean", "means"),
    (".", "!", "?"),
)
GRIDS = {
    "bert": TABLE_4,
    "roberta": Grid(  # its tokens hold blanks, and its papers quote by '
        tuple(prefix.replace('"[X]"', "' [X] '") for prefix in TABLE_4.prefixes),
        TABLE_4.relations,
        TABLE_4.endings,
    ),
    "causal": Grid(
        ('This sentence : "[X]"', 'After thinking step by step , this sentence : "[X]"'),
        ('means in one word:"', "means something", "can be summarized as"),
        ("",),
        masks=False,
    ),
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A template, its Spearman in percent (NaN where all its cosines are one), and when it was tried."""

    text: str
    spearman: float
    stage: Stage


def search(grid: Grid, score: Score, *, full: bool = False, report: Callable[[int, int, str], None] | None = None
           ) -> list[Candidate]:  # fmt: skip
    """What was tried, best first: greedily, or the `full` grid. `report` hears (done, total, template) before each."""
    trial = _Trial(score, _steps(grid, full), report)
    if full:
        trial.best(grid.all(), "grid")
        return trial.ranked()
    prefix, ending = min(grid.prefixes, key=len), grid.endings[0]
    relation = trial.best_of(grid.relations, lambda each: grid.text(prefix, each, ending), "relation")
    prefix = trial.best_of((prefix, *grid.prefixes), lambda each: grid.text(each, relation, ending), "prefix")
    trial.best_of(grid.endings, lambda each: grid.text(prefix, relation, each), "ending")
    return trial.ranked()


def scorer(engine: Embeds, template: Template, subset: Subset) -> Score:
    """Spearman in percent on `subset` of any text, read by `engine` under the rules of `template`."""

    def score(text: str) -> float:
        prompt = parse(text, **template.rules)
        return 100 * spearman(compared(subset.pairs, lambda texts: engine.embed(texts, prompt)), subset.gold)

    return score


def thinned(subset: Subset, limit: int) -> Subset:
    """At most `limit` pairs, evenly spread: files of pairs are sorted by where they come from."""
    size = len(subset.pairs)
    kept = range(size) if limit >= size else [at * size // limit for at in range(limit)]
    pairs: Sequence[Pair] = [subset.pairs[at] for at in kept]
    return Subset(tuple(pairs), tuple(subset.gold[at] for at in kept))


class _Trial:
    """Scores each template once."""

    def __init__(self, score: Score, total: int, report: Callable[[int, int, str], None] | None) -> None:
        self._score, self._total, self._report = score, total, report
        self._known: dict[str, Candidate] = {}

    def best_of(self, pieces: Sequence[str], text: Callable[[str], str], stage: Stage) -> str:
        """The piece whose template scores best; the first of equals."""
        return max(pieces, key=lambda piece: _order(self._try(text(piece), stage)))

    def best(self, texts: Iterator[str], stage: Stage) -> None:
        for text in texts:
            self._try(text, stage)

    def ranked(self) -> list[Candidate]:
        return sorted(self._known.values(), key=_order, reverse=True)

    def _try(self, text: str, stage: Stage) -> Candidate:
        if text not in self._known:
            if self._report is not None:
                self._report(len(self._known), self._total, text)
            self._known[text] = Candidate(text, self._score(text), stage)
        return self._known[text]


def _order(candidate: Candidate) -> float:
    return -math.inf if math.isnan(candidate.spearman) else candidate.spearman


def _steps(grid: Grid, full: bool) -> int:
    sizes = len(set(grid.prefixes)), len(set(grid.relations)), len(set(grid.endings))
    return math.prod(sizes) if full else sum(sizes) - 2
