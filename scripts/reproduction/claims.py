"""The comparisons that the papers claim, and whether the measured figures confirm them.

Runs of one seed see the same data in the same order and the same pairs, so differences are taken seed by seed. A
difference whose mean is below the pooled sample deviation of the two is left undecided; with three seeds even a
larger one is weak evidence.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from reproduction.tables import Cell, read

HEAD = ("run", "against", "its figure", "the other's", "difference", "pooled deviation", "seeds above", "verdict")

Verdict = Literal["holds", "does not hold", "undecided", "not measured"]
Scores = Callable[[Cell], Sequence[float]]  # one figure per seed; one in all without randomness; [] if there is none


@dataclass(frozen=True, slots=True)
class Comparison:
    """`better` against `than`. `deviation` is pooled over both, `agree`: the seeds in which `better` is better."""

    better: str
    than: str
    means: tuple[float, float] | None
    difference: float
    deviation: float
    agree: int
    seeds: int

    @property
    def verdict(self) -> Verdict:
        if self.means is None:
            return "not measured"
        if not abs(self.difference) > self.deviation:  # NaN too: one seed has no deviation
            return "undecided"
        return "holds" if self.difference > 0 else "does not hold"


@dataclass(frozen=True, slots=True)
class Claim:
    name: str
    source: str
    measure: str
    pairs: tuple[tuple[str, str], ...]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell for each run that it compares."""
        runs = dict.fromkeys(run for pair in self.pairs for run in pair)
        return tuple(Cell(run, "bert", self.measure) for run in runs)


def claims() -> tuple[Claim, ...]:
    """The claims of claims.toml."""
    return tuple(
        Claim(one["name"], one["source"], one["measure"], tuple((better, than) for better, than in one["pairs"]))
        for one in read("claims")["claims"]
    )


def compared(better: str, than: str, ours: Sequence[float], theirs: Sequence[float]) -> Comparison:
    """The comparison of figures by seed.

    >>> compared("a", "b", [71.0, 72.0, 73.0], [70.0, 70.5, 71.0]).verdict
    'holds'
    """
    if not ours or not theirs:
        return Comparison(better, than, None, math.nan, math.nan, 0, 0)
    count = max(len(ours), len(theirs))
    pairs = list(zip(_spread(ours, count), _spread(theirs, count), strict=False))
    differences = [one - other for one, other in pairs]
    spreads = [statistics.variance(side) for side in (ours, theirs) if len(side) > 1]
    return Comparison(
        better,
        than,
        (statistics.fmean(ours), statistics.fmean(theirs)),
        statistics.fmean(differences),
        math.sqrt(statistics.fmean(spreads)) if spreads else math.nan,
        sum(difference > 0 for difference in differences),
        len(differences),
    )


def markdown(scores: Scores) -> str:
    """Every claim with its comparisons."""
    lines = []
    for claim in claims():
        lines += [f"### {claim.name}", "", f"{claim.source}. Measured: {claim.measure}.", ""]
        lines += [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
        for better, than in claim.pairs:
            ours, theirs = (scores(Cell(run, "bert", claim.measure)) for run in (better, than))
            one = compared(better, than, ours, theirs)
            lines.append(f"| {better} | {than} | {_figures(one)} | **{one.verdict}** |")
        lines.append("")
    return "\n".join(lines)


def _figures(one: Comparison) -> str:
    if one.means is None:
        return "– | – | – | – | –"
    figures = f"{one.means[0]:.2f} | {one.means[1]:.2f} | {one.difference:+.2f} | {one.deviation:.2f}"
    return f"{figures} | {one.agree} of {one.seeds}"


def _spread(figures: Sequence[float], count: int) -> Sequence[float]:
    """The figures; a single one, which does not depend on the seed, repeated `count` times."""
    return list(figures) * count if len(figures) == 1 else figures
