"""The comparisons that the papers claim, and whether the measured figures confirm them.

Runs of one seed see the same data in the same order and the same pairs, so differences are taken seed by seed. A
difference whose mean is below the pooled sample deviation of the two is left undecided; with three seeds even a
larger one is weak evidence. Two untrained models have no seeds: their pairs are drawn again with replacement, and the
difference has to exceed half of the interval that holds 95 % of the drawn differences.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from scripts.papers.tables import Cell, read
from semsearch.evaluation import spearman

DRAWS, DRAWN = 1000, 2024  # of the pairs, and the seed of the drawing
MEASURED = {"stsb-dev": ("pairs", "STS-B dev"), "snli": ("labelled", "SNLI test")}
REAL_HEAD = ("model", "run", "against", "published", "ours", "difference", "margin", "seeds above", "verdict")
HEAD = ("run", "against", "its figure", "the other's", "difference", "pooled deviation", "seeds above", "verdict")

Verdict = Literal["holds", "does not hold", "undecided", "not measured"]
# of two cells: a figure per seed that both have, or one in all for a cell without randomness; [] if there is none
Scores = Callable[[Cell, Cell], tuple[Sequence[float], Sequence[float]]]
Margin = Callable[[Cell, Cell], float]  # of two untrained models; NaN for others


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
    """`pairs` of runs on each of `bases`, and the `published` figures of each pair as text, "" where there are none."""

    name: str
    source: str
    measure: str
    pairs: tuple[tuple[str, str], ...]
    published: tuple[str, ...] = ()
    bases: tuple[str, ...] = ("bert",)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell for each run that it compares, model by model."""
        runs = dict.fromkeys(run for pair in self.pairs for run in pair)
        return tuple(Cell(run, base, self.measure) for base in self.bases for run in runs)


def claims() -> tuple[Claim, ...]:
    """The claims of claims.toml."""
    return tuple(
        Claim(one["name"], one["source"], one["measure"], tuple((better, than) for better, than in one["pairs"]))
        for one in read("claims")["claims"]
    )


def real_claims() -> tuple[Claim, ...]:
    """The claims of real.toml, what needs no training first."""
    return tuple(
        Claim(
            one["name"],
            one["source"],
            one["measure"],
            tuple((pair["better"], pair["than"]) for pair in one["pairs"]),
            tuple(pair.get("published", "") for pair in one["pairs"]),
            tuple(one["bases"]),
        )
        for one in read("real")["claims"]
    )


def compared(
    better: str, than: str, ours: Sequence[float], theirs: Sequence[float], margin: float = math.nan
) -> Comparison:
    """The comparison of figures by seed. `margin` is that of two figures that do not depend on one.

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
        math.sqrt(statistics.fmean(spreads)) if spreads else margin,
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
            one = compared(better, than, *scores(*(Cell(run, "bert", claim.measure) for run in (better, than))))
            lines.append(f"| {better} | {than} | {_figures(one)} | **{one.verdict}** |")
        lines.append("")
    return "\n".join(lines)


def real_markdown(scores: Scores, margin: Margin) -> str:
    """Every claim about models with real weights, with the published figures beside ours; what is not measured last."""
    sizes, lines = read("runs")["real"], []
    missing: dict[str, list[str]] = {}
    for claim in real_claims():
        rows = []
        for base, (better, than), published in _comparisons(claim):
            cells = Cell(better, base, claim.measure), Cell(than, base, claim.measure)
            one = compared(better, than, *scores(*cells), margin(*cells))
            named = f"{base} | {_title(better)} | {_title(than)} | {published or '–'}"
            if one.means is None:
                missing.setdefault(claim.name, []).append(base)
            else:
                rows.append(f"| {named} | {_real_figures(one)} | **{one.verdict}** |")
        if rows:
            size, of = MEASURED[claim.measure]
            lines += [f"### {claim.name}", "", f"{claim.source}. Measured: Spearman, {sizes[size]} pairs of {of}.", ""]
            lines += [f"| {' | '.join(REAL_HEAD)} |", f"|{'---|' * len(REAL_HEAD)}", *rows, ""]
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


def _title(run: str) -> str:
    return str(read("real")["titles"].get(run, run))


def _real_figures(one: Comparison) -> str:
    ours = "–" if one.means is None else f"{one.means[0]:.2f} / {one.means[1]:.2f}"
    seeds = f"{one.agree} of {one.seeds}" if one.seeds > 1 else "–"
    spread = "–" if math.isnan(one.deviation) else f"{one.deviation:.2f}"
    return f"{ours} | {one.difference:+.2f} | {spread} | {seeds}"


def margin_of(ours: Sequence[float], theirs: Sequence[float], gold: Sequence[float]) -> float:
    """Half of the interval that holds 95 % of the differences of two Spearman correlations, in percent.

    `ours` and `theirs` are the cosines of the same pairs, which are drawn with replacement.
    """
    rng, judged = np.random.default_rng(DRAWN), np.asarray(gold)
    sides = np.asarray(ours), np.asarray(theirs)
    drawn = [rng.integers(len(judged), size=len(judged)) for _ in range(DRAWS)]
    differences = [spearman(sides[0][at], judged[at]) - spearman(sides[1][at], judged[at]) for at in drawn]
    low, high = np.quantile(differences, (0.025, 0.975))
    return float(100 * (high - low) / 2)


def _figures(one: Comparison) -> str:
    if one.means is None:
        return "– | – | – | – | –"
    figures = f"{one.means[0]:.2f} | {one.means[1]:.2f} | {one.difference:+.2f} | {one.deviation:.2f}"
    return f"{figures} | {one.agree} of {one.seeds}"


def _spread(figures: Sequence[float], count: int) -> Sequence[float]:
    """The figures; a single one, which does not depend on the seed, repeated `count` times."""
    return list(figures) * count if len(figures) == 1 else figures
