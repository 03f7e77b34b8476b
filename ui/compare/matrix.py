"""Sentences, each compared with every other: a heat map per encoder, differences of encoders, and any two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import streamlit as st

from ..shared import charts, encoder_picker, messages
from ..shared.widgets import URL
from . import one_pair, pair_scores

MOST = 30
MOST_CHARACTERS = 4_000  # the sentences are part of the URL, which servers limit to some kilobytes
ACROSS = 2
LEAST_APART = 0.01  # the difference of cosines with full colour where all are smaller
EXAMPLE = "A man is playing a guitar.\nSomeone plays an instrument.\nA man is not playing a guitar.\nThe soup is cold."
Cells = list[list[float]]


def show(names: Sequence[str]) -> None:
    """The box, and the results below it."""
    label, hint = "Sentences, one per line", "Two or more. Ctrl+Enter compares them."
    text = st.text_area(label, EXAMPLE, 140, MOST_CHARACTERS, "s", hint, bind=URL)
    texts = tuple(line.strip() for line in (text or "").splitlines() if line.strip())
    if len(texts) < 2:
        messages.info("Type two sentences or more, one per line.")
        return
    if len(texts) > MOST:
        messages.warning(f"Only the first {MOST} of {len(texts)} sentences are compared.")
        texts = texts[:MOST]
    chosen = encoder_picker.load(names)
    if len(texts) == 2 and chosen:
        one_pair.show(chosen, *texts)
    found = dict(
        encoder_picker.measure_each(chosen, lambda encoder: pair_scores.matrix(encoder.fingerprint, texts, encoder))
    )
    if found:
        _maps(found, texts)
    if len(texts) > 2 and found:
        first, second = _two(texts)
        one_pair.show(chosen, texts[first], texts[second])


def _maps(found: Mapping[str, Cells], texts: Sequence[str]) -> None:
    st.subheader("All pairs of sentences")
    low = min(0.0, *(value for cells in found.values() for row in cells for value in row))
    _side_by_side(
        [charts.heat(cells, texts, encoder_picker.short_name(name), low=low) for name, cells in found.items()]
    )
    if len(found) < 2:
        return
    base, cells = next(iter(found.items()))
    st.subheader("Where encoders differ")
    messages.caption(f"The cosine minus that of {encoder_picker.short_name(base)}: orange is higher, blue is lower.")
    differences = {
        f"{encoder_picker.short_name(name)} − {encoder_picker.short_name(base)}": [
            [b - a for a, b in zip(row, other, strict=True)] for row, other in zip(cells, others, strict=True)
        ]
        for name, others in islice(found.items(), 1, None)
    }
    most = max(LEAST_APART, *(abs(value) for one in differences.values() for row in one for value in row))
    _side_by_side([charts.apart(one, texts, title, most=most) for title, one in differences.items()], half=True)


def _side_by_side(drawn: Sequence[charts.Chart], *, half: bool = False) -> None:
    """Two charts per row; a single one takes the whole width, or `half` of it."""
    for start in range(0, len(drawn), ACROSS):
        places = st.columns(ACROSS) if half or len(drawn) > 1 else [st.container()]
        for place, chart in zip(places, drawn[start : start + ACROSS], strict=False):
            place.altair_chart(chart)


def _two(texts: Sequence[str]) -> tuple[int, int]:
    """The places of two sentences that a person chooses."""
    st.subheader("Two of them")
    places = st.columns(2)
    sides = [
        one_pair.number(place, label, key, len(texts), at)
        for at, (place, label, key) in enumerate(zip(places, ("First", "Second"), ("x", "y"), strict=True), 1)
    ]
    return sides[0] - 1, sides[1] - 1
