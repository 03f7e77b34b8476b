"""Cosines and strengths of pairs, measured a few at a time and kept.

Few pairs are measured while the page is drawn, many by a job beside it. What was measured is kept by the encoder's
fingerprint, for all who look: what was there before a page was left, reloaded or stopped is not measured again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from semsearch import Encoder, Progress, SemsearchError, sts
from semsearch.evaluation import pearson, rankdata, spearman

from ..shared import jobs, pool
from ..shared.encoder_picker import said, short
from ..shared.pairs import Pair
from .uploaded_pairs import Given

WINDOW = 64  # pairs between two looks at whether a person wants something else
AT_ONCE = 200  # pairs that are measured without a job
KEPT = 24  # encoders on large sets of pairs
STAYS = "What was measured by then stays; the next run goes on from there."
LOG = logging.getLogger(__name__)
Texts = tuple[tuple[str, str], ...]
Row = tuple[float, float | None]  # cosine and strength


@dataclass(frozen=True, slots=True)
class Scored:
    """What an encoder says of pairs. The correlations are in percent, None where there are none.

    `off`: by how many places of a hundred the encoder ranks a pair higher than people do; None without a score.
    """

    cosines: tuple[float, ...]
    strengths: tuple[float | None, ...]
    spearman: float | None
    pearson: float | None
    off: tuple[float | None, ...]


@dataclass(slots=True)
class Measured:
    """An encoder on a large set of pairs: the rows so far, and all that follows from them once they are there."""

    rows: list[Row] = field(default_factory=list)
    scored: Scored | None = None


def at_once(encoder: Encoder, pairs: Sequence[Pair]) -> Scored:
    """Every pair's cosine and strength, with a bar that moves."""
    rows: list[Row] = []
    said = pool.plain(short(encoder.name))
    bar = st.progress(0.0, text=f"Comparing with {said} …") if len(pairs) > WINDOW else None
    for start in range(0, len(pairs), WINDOW):
        rows += _window(encoder.fingerprint, _texts(pairs[start : start + WINDOW]), encoder)
        if bar is not None:
            bar.progress(len(rows) / len(pairs), text=f"Comparing with {said}: {len(rows):,} of {len(pairs):,} pairs")
    if bar is not None:
        bar.empty()
    return against(rows, pairs)


def before(encoder: Encoder, given: Given) -> Scored | None:
    """What a job has measured of all these pairs; None where none has come to their end."""
    known = _store().get((encoder.fingerprint, given.digest))
    return known.scored if known else None


def key(given: Given) -> jobs.Key:
    """What the job for these pairs goes by."""
    return ("Compare", given.digest)


def begin(encoders: Mapping[str, Encoder], given: Given) -> None:
    """Measure the pairs with each of the encoders, one after the other, beside the page."""
    many = len(given.pairs)

    def work(told: jobs.Told) -> jobs.Outcome:
        problems = []
        for at, (name, encoder) in enumerate(encoders.items()):
            try:
                _measure(encoder, given, told, at * many, len(encoders) * many, short(name))
            except jobs.Stopped:
                raise
            except SemsearchError as error:
                problems.append(f"{short(name)}: {said(error)}")
            except Exception as error:  # one that fails must not keep the others from their turn
                if jobs.ending():
                    raise jobs.Stopped from None
                LOG.exception("the encoder %r failed", name)
                problems.append(f"{short(name)} does not work: {type(error).__name__}. Check its files.")
        return jobs.Outcome("The figures are on the page Compare.", tuple(problems))

    jobs.begin(key(given), f"Measuring {many:,} pairs", work, told=False, about=STAYS)


def _measure(encoder: Encoder, given: Given, told: jobs.Told, done: int, total: int, name: str) -> None:
    store, pairs = _store(), given.pairs
    known = store.pop((encoder.fingerprint, given.digest), None) or Measured()
    store[encoder.fingerprint, given.digest] = known  # the newest stands last
    while len(store) > KEPT:
        store.pop(next(iter(store)), None)
    while len(known.rows) < len(pairs):
        at = len(known.rows)
        told(Progress(done + at, total, "texts", f"{name}: {at:,} of {len(pairs):,} pairs"))
        known.rows += _sts(_texts(pairs[at : at + WINDOW]), encoder)
    known.scored = known.scored or against(known.rows, pairs)


@st.cache_resource(show_spinner=False)
def _store() -> dict[tuple[str, str], Measured]:
    return {}


@st.cache_data(max_entries=2048, show_spinner=False)
def _window(fingerprint: str, pairs: Texts, _encoder: Encoder) -> list[Row]:
    return _sts(pairs, _encoder)


def _sts(pairs: Texts, encoder: Encoder) -> list[Row]:
    found = sts(pairs, encoder)
    return list(zip(found.cosines, found.strengths, strict=True))


def _texts(pairs: Sequence[Pair]) -> Texts:
    return tuple((pair.first, pair.second) for pair in pairs)


@st.cache_data(max_entries=64, show_spinner="Comparing …")
def matrix(fingerprint: str, texts: tuple[str, ...], _encoder: Encoder) -> list[list[float]]:
    """The cosine of every text with every other."""
    vectors = _encoder.encode(texts)
    return [[min(1.0, max(-1.0, cosine)) for cosine in row] for row in _encoder.similarity(vectors, vectors).tolist()]


def against(rows: Sequence[Row], pairs: Sequence[Pair]) -> Scored:
    """The rows held against the scores of people."""
    cosines = tuple(cosine for cosine, _ in rows)
    known = [(at, pair.gold) for at, pair in enumerate(pairs) if pair.gold is not None]
    off: list[float | None] = [None] * len(cosines)
    correlations: list[float | None] = [None, None]
    if len(known) > 1:
        said, wanted = [cosines[at] for at, _ in known], [score for _, score in known]
        apart = 100 * (rankdata(said) - rankdata(wanted)) / (len(known) - 1)
        for (at, _), places in zip(known, apart.tolist(), strict=True):
            off[at] = places
        both = (100 * measure(said, wanted) for measure in (spearman, pearson))
        correlations = [value if value == value else None for value in both]  # NaN where all scores are the same
    strengths = tuple(strength for _, strength in rows)
    return Scored(cosines, strengths, correlations[0], correlations[1], tuple(off))
