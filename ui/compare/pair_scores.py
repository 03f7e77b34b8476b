"""Cosines and strengths of pairs, measured a few at a time and cached.

Few pairs are measured while the page is drawn, many by a job beside it. The cache goes by the encoder's fingerprint and
is shared by all sessions: nothing is measured again after a page was left, reloaded or stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from semsearch import Encoder, Progress, sts
from semsearch.evaluation import SentencePair as Pair
from semsearch.evaluation import pearson, rankdata, spearman
from semsearch.utils.quantities import count

from ..shared.encoder_picker import measure_in_job, short_name
from ..shared.messages import plain
from ..shared.work import jobs
from .uploaded_pairs import PairSet

WINDOW = 64  # pairs per batch: between two, a rerun or a stop takes effect
AT_ONCE = 200  # pairs that are measured without a job
MOST_CACHED = 24  # encoders on large sets of pairs
RESUMES = "The results so far stay; the next run continues from there."
Texts = tuple[tuple[str, str], ...]
Row = tuple[float, float | None]  # cosine and strength


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of an encoder on pairs. The correlations are in percent, None where they are undefined.

    `off`: how much higher the encoder ranks a pair than people do, in percent of all ranks; None without a gold score.
    """

    cosines: tuple[float, ...]
    strengths: tuple[float | None, ...]
    spearman: float | None
    pearson: float | None
    off: tuple[float | None, ...]


@dataclass(slots=True)
class Measured:
    """An encoder on a large set of pairs: the rows so far, and the scores once they are complete."""

    rows: list[Row] = field(default_factory=list)
    scored: Scored | None = None


def at_once(encoder: Encoder, pairs: Sequence[Pair]) -> Scored:
    """Every pair's cosine and strength, with a bar that moves."""
    rows: list[Row] = []
    name, bar = plain(short_name(encoder.name)), st.empty()
    for start in range(0, len(pairs), WINDOW):
        if len(pairs) > WINDOW:
            bar.progress(start / len(pairs), f"Comparing with {name}: {start:,} of {len(pairs):,} pairs")
        rows += _window(encoder.fingerprint, _texts(pairs[start : start + WINDOW]), encoder)
    bar.empty()
    return scored(rows, pairs)


def complete(encoder: Encoder, pairs: PairSet) -> Scored | None:
    """The scores that a job has measured; None before it has reached the last pair."""
    return _measured(encoder.fingerprint, pairs.digest).scored


def key(pairs: PairSet) -> jobs.Key:
    """The key of the job for these pairs."""
    return ("Compare", pairs.digest)


def begin(encoders: Mapping[str, Encoder], pairs: PairSet) -> None:
    """Measure the pairs with each of the encoders, one after the other, beside the page."""

    def work(report: jobs.Report) -> jobs.Outcome:
        measure = lambda name, report: _measure(encoders[name], pairs, report)  # noqa: E731
        problems = measure_in_job(encoders, measure, report)
        return jobs.Outcome("The figures are on the page Compare.", tuple(problems))

    jobs.begin(key(pairs), f"Measuring {count(len(pairs.pairs), 'pair')}", work, announced=False, about=RESUMES)


def _measure(encoder: Encoder, pairs: PairSet, report: jobs.Report) -> None:
    measured, every = _measured(encoder.fingerprint, pairs.digest), pairs.pairs
    while (at := len(measured.rows)) < len(every):
        report(Progress(at, len(every), "texts", f"{at:,} of {len(every):,} pairs"))
        measured.rows += _sts(_texts(every[at : at + WINDOW]), encoder)
    measured.scored = measured.scored or scored(measured.rows, every)


@st.cache_resource(max_entries=MOST_CACHED, show_spinner=False)
def _measured(fingerprint: str, digest: str) -> Measured:
    return Measured()


@st.cache_data(max_entries=2048, show_spinner=False)
def _window(fingerprint: str, pairs: Texts, _encoder: Encoder) -> list[Row]:
    return _sts(pairs, _encoder)


def _sts(pairs: Texts, encoder: Encoder) -> list[Row]:
    similarity = sts(pairs, encoder)
    return list(zip(similarity.cosines, similarity.strengths, strict=True))


def _texts(pairs: Sequence[Pair]) -> Texts:
    return tuple((pair.first, pair.second) for pair in pairs)


@st.cache_data(max_entries=64, show_spinner="Comparing …")
def matrix(fingerprint: str, texts: tuple[str, ...], _encoder: Encoder) -> list[list[float]]:
    """The cosine of every text with every other."""
    vectors = _encoder.encode(texts)
    return [[min(1.0, max(-1.0, cosine)) for cosine in row] for row in _encoder.similarity(vectors, vectors).tolist()]


def scored(rows: Sequence[Row], pairs: Sequence[Pair]) -> Scored:
    """The rows with their agreement with human scores."""
    cosines = tuple(cosine for cosine, _ in rows)
    golds = {at: pair.gold for at, pair in enumerate(pairs) if pair.gold is not None}
    off: dict[int, float] = {}
    correlations: list[float | None] = [None, None]
    if len(golds) > 1:
        cosine, gold = [cosines[at] for at in golds], list(golds.values())
        apart = 100 * (rankdata(cosine) - rankdata(gold)) / (len(golds) - 1)
        off = dict(zip(golds, apart.tolist(), strict=True))
        both = (100 * measure(cosine, gold) for measure in (spearman, pearson))
        correlations = [value if value == value else None for value in both]  # NaN where all scores are the same
    strengths = tuple(strength for _, strength in rows)
    return Scored(cosines, strengths, correlations[0], correlations[1], tuple(off.get(at) for at in range(len(rows))))
