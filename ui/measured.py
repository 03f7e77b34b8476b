"""Cosines and strengths of pairs, measured a few at a time and kept.

Every window of pairs is kept by the encoder's fingerprint, for all who look. So what was measured before a page was
left, reloaded or told to do something else is not measured again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from semsearch import Encoder, pearson, ranks, spearman, sts

from . import held
from .encoders import short
from .pairs import Pair

WINDOW = 64  # pairs between two looks at whether a person wants something else
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


def scored(encoder: Encoder, pairs: Sequence[Pair]) -> Scored:
    """Every pair's cosine and strength, with a bar that moves."""
    rows: list[Row] = []
    said = held.plain(short(encoder.name))
    bar = st.progress(0.0, text=f"Comparing with {said} …") if len(pairs) > WINDOW else None
    for start in range(0, len(pairs), WINDOW):
        window = tuple((pair.first, pair.second) for pair in pairs[start : start + WINDOW])
        rows += _window(encoder.fingerprint, window, encoder)
        if bar is not None:
            bar.progress(len(rows) / len(pairs), text=f"Comparing with {said}: {len(rows):,} of {len(pairs):,} pairs")
    if bar is not None:
        bar.empty()
    return _against([cosine for cosine, _ in rows], [strength for _, strength in rows], [pair.gold for pair in pairs])


@st.cache_data(max_entries=2048, show_spinner=False)
def _window(fingerprint: str, pairs: Texts, _encoder: Encoder) -> list[Row]:
    found = sts(pairs, _encoder)
    return list(zip(found.cosines, found.strengths, strict=True))


@st.cache_data(max_entries=64, show_spinner="Comparing …")
def matrix(fingerprint: str, texts: tuple[str, ...], _encoder: Encoder) -> list[list[float]]:
    """The cosine of every text with every other."""
    vectors = _encoder.encode(texts)
    return [[min(1.0, max(-1.0, cosine)) for cosine in row] for row in _encoder.similarity(vectors, vectors).tolist()]


def _against(cosines: Sequence[float], strengths: Sequence[float | None], gold: Sequence[float | None]) -> Scored:
    known = [(at, score) for at, score in enumerate(gold) if score is not None]
    off: list[float | None] = [None] * len(cosines)
    correlations: list[float | None] = [None, None]
    if len(known) > 1:
        said, wanted = [cosines[at] for at, _ in known], [score for _, score in known]
        apart = 100 * (ranks(said) - ranks(wanted)) / (len(known) - 1)
        for (at, _), places in zip(known, apart.tolist(), strict=True):
            off[at] = places
        both = (100 * measure(said, wanted) for measure in (spearman, pearson))
        correlations = [value if value == value else None for value in both]  # NaN where all scores are the same
    return Scored(tuple(cosines), tuple(strengths), correlations[0], correlations[1], tuple(off))
