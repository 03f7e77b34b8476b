"""The comparisons that the papers claim, and whether the measured figures confirm them.

Runs of one seed see the same data in the same order and the same pairs, so differences are taken seed by seed. Within a
seed the pairs are drawn again with replacement: the difference has to exceed half of the interval that holds 95 % of
the drawn differences. A comparison of trained runs is decided if that is so in three seeds or more, and all of them
agree; two untrained models have no seeds, and need it once. What is not decided is "undecided".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from scripts.papers.tables import Cell, read
from semsearch.evaluation import spearman

DRAWS, DRAWN = 1000, 2024  # of the pairs, and the seed of the drawing
MEASURED = {"stsb-dev": ("pairs", "STS-B dev"), "snli": ("labelled", "SNLI test")}
SEEDS = 3  # that have to agree on a trained run
HEAD = ("model", "run", "against", "published", "ours", "difference", "margin", "seeds above", "verdict")

Verdict = Literal["holds", "does not hold", "undecided", "not measured"]
Judged = tuple[Sequence[float], Sequence[float], Sequence[float]]  # cosines of both runs, and the pairs' judgements


class Seed(NamedTuple):
    """The figures of two runs with one seed, or of two untrained models, in percent.

    `margin` is that of their difference by the pairs, NaN where their cosines were not kept.
    """

    ours: float
    theirs: float
    margin: float = math.nan

    @property
    def difference(self) -> float:
        return self.ours - self.theirs

    @property
    def decided(self) -> bool:
        return abs(self.difference) > self.margin


# of two cells: the seeds that both have, one in all where neither run is trained
Scores = Callable[[Cell, Cell], Sequence[Seed]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, seed by seed. `trained`: whether the figures depend on the seed."""

    seeds: tuple[Seed, ...]
    trained: bool = True

    @property
    def means(self) -> tuple[float, float]:
        return statistics.fmean(one.ours for one in self.seeds), statistics.fmean(one.theirs for one in self.seeds)

    @property
    def difference(self) -> float:
        return statistics.fmean(one.difference for one in self.seeds)

    @property
    def margin(self) -> float:
        """The largest margin of a seed, NaN if one has none."""
        margins = [one.margin for one in self.seeds]
        return math.nan if any(map(math.isnan, margins)) else max(margins)

    @property
    def above(self) -> int:
        """The seeds in which the first run is above the second."""
        return sum(one.difference > 0 for one in self.seeds)

    @property
    def verdict(self) -> Verdict:
        """
        >>> Comparison((Seed(71, 70, 0.5), Seed(72, 70.5, 0.5), Seed(73, 71, 0.5))).verdict
        'holds'
        """
        if not self.seeds:
            return "not measured"
        enough = not self.trained or len(self.seeds) >= SEEDS
        if not enough or self.above not in (0, len(self.seeds)) or not all(one.decided for one in self.seeds):
            return "undecided"
        return "holds" if self.above else "does not hold"


@dataclass(frozen=True, slots=True)
class Claim:
    """`pairs` of runs on each of `bases`, and the `published` figures of each pair as text, "" where there are none."""

    name: str
    source: str
    measure: str
    pairs: tuple[tuple[str, str], ...]
    published: tuple[str, ...]
    bases: tuple[str, ...]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell for each run that it compares, model by model."""
        runs = dict.fromkeys(run for pair in self.pairs for run in pair)
        return tuple(Cell(run, base, self.measure) for base in self.bases for run in runs)


def claims(setting: str) -> tuple[Claim, ...]:
    """The claims of real.toml for the real setting, what needs no training first; of claims.toml for the others."""
    return tuple(
        Claim(
            one["name"],
            one["source"],
            one["measure"],
            tuple((pair["better"], pair["than"]) for pair in one["pairs"]),
            tuple(pair.get("published", "") for pair in one["pairs"]),
            tuple(one.get("bases", ("bert",))),
        )
        for one in read("real" if setting == "real" else "claims")["claims"]
    )


def markdown(setting: str, scores: Scores, trained: Callable[[Cell], bool]) -> str:
    """Every claim with its comparisons, the published figures beside ours; what is not measured last."""
    lines = []
    missing: dict[str, list[str]] = {}
    for claim in claims(setting):
        rows = []
        for base, (better, than), published in _comparisons(claim):
            cells = Cell(better, base, claim.measure), Cell(than, base, claim.measure)
            one = Comparison(tuple(scores(*cells)), any(map(trained, cells)))
            if not one.seeds:
                missing.setdefault(claim.name, []).append(base)
            else:
                models = f"{base} | {_title(better)} | {_title(than)}"
                rows.append(f"| {models} | {published or '–'} | {_figures(one)} | **{one.verdict}** |")
        if rows:
            measure = _measure(claim.measure, setting)
            lines += [f"### {claim.name}", "", f"{claim.source}. Measured: {measure}.", ""]
            lines += [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}", *rows, ""]
    if missing:
        those = [f"{name} ({', '.join(dict.fromkeys(bases))})" for name, bases in missing.items()]
        lines += [
            f"Comparisons not measured: {sum(map(len, missing.values()))}, of these claims: {'; '.join(those)}.",
            "",
        ]
    return "\n".join(lines)


def _comparisons(claim: Claim) -> Iterator[tuple[str, tuple[str, str], str]]:
    """Model, pair of runs and published figures."""
    for base in claim.bases:
        for pair, published in zip(claim.pairs, claim.published, strict=True):
            yield base, pair, published


def _measure(name: str, setting: str) -> str:
    """A measure, in the real setting with the number of its pairs."""
    if setting != "real":
        return name
    size, task = MEASURED[name]
    return f"Spearman, {read('runs')[setting][size]} pairs of {task}"


def _title(run: str) -> str:
    return str(read("real")["titles"].get(run, run))


def _figures(one: Comparison) -> str:
    ours, theirs = one.means
    seeds = f"{one.above} of {len(one.seeds)}" if one.trained else "–"
    margin = "–" if math.isnan(one.margin) else f"{one.margin:.2f}"
    return f"{ours:.2f} / {theirs:.2f} | {one.difference:+.2f} | {margin} | {seeds}"


def margin_of(tasks: Sequence[Judged]) -> float:
    """Half of the interval that holds 95 % of the differences of two Spearman correlations, in percent.

    The pairs of each task are drawn with replacement; several tasks give the mean of their differences.
    """
    rng = np.random.default_rng(DRAWN)
    drawn = np.mean([_drawn_differences(task, rng) for task in tasks], axis=0)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(100 * (high - low) / 2)


def _drawn_differences(task: Judged, rng: np.random.Generator) -> list[float]:
    ours, theirs, gold = map(np.asarray, task)
    drawn = [rng.integers(len(gold), size=len(gold)) for _ in range(DRAWS)]
    return [spearman(ours[at], gold[at]) - spearman(theirs[at], gold[at]) for at in drawn]
