"""Sentences, every one against every other: a heat map an encoder, what encoders disagree on, and any two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import streamlit as st

from ..shared import charts, encoder_picker, pool
from ..shared.urls import URL
from . import one_pair, pair_scores

MOST = 30
LETTERS = 4_000  # the sentences are part of the URL, and a server takes an address of some kilobytes
ACROSS = 2
LEAST_APART = 0.01  # a difference of cosines that has the full colour where none is larger
EXAMPLE = "A man is playing a guitar.\nSomeone plays an instrument.\nA man is not playing a guitar.\nThe soup is cold."
Cells = list[list[float]]


def show(names: Sequence[str]) -> None:
    """The box, and what is found under it."""
    text = st.text_area(
        "Sentences, one a line", EXAMPLE, key="s", bind=URL, height=140, max_chars=LETTERS,
        help="Two or more. Ctrl+Enter compares them.",
    )  # fmt: skip
    texts = tuple(line.strip() for line in (text or "").splitlines() if line.strip())
    if len(texts) < 2:
        st.info("Write two sentences or more, one a line.", icon=":material/info:")
        return
    if len(texts) > MOST:
        st.warning(f"The first {MOST} of {len(texts)} sentences are compared.", icon=":material/warning:")
        texts = texts[:MOST]
    chosen = encoder_picker.loaded(names)
    if len(texts) == 2 and chosen:
        one_pair.show(chosen, *texts)
    found = dict(encoder_picker.each(chosen, lambda encoder: pair_scores.matrix(encoder.fingerprint, texts, encoder)))
    if found:
        _maps(found, texts)
    if len(texts) > 2 and found:
        first, second = _two(texts)
        one_pair.show(chosen, texts[first], texts[second])


def _maps(found: Mapping[str, Cells], texts: Sequence[str]) -> None:
    st.subheader("Every sentence with every other")
    low = min(0.0, *(value for cells in found.values() for row in cells for value in row))
    _side_by_side([charts.heat(cells, texts, encoder_picker.short(name), low=low) for name, cells in found.items()])
    if len(found) < 2:
        return
    base, cells = next(iter(found.items()))
    st.subheader("Where encoders differ")
    said = f"The cosine less that of {encoder_picker.short(base)}: orange is more likeness, blue is less."
    st.caption(pool.plain(said))
    less = {
        f"{encoder_picker.short(name)} − {encoder_picker.short(base)}": [
            [b - a for a, b in zip(row, other, strict=True)] for row, other in zip(cells, others, strict=True)
        ]
        for name, others in islice(found.items(), 1, None)
    }
    most = max(LEAST_APART, *(abs(value) for one in less.values() for row in one for value in row))
    _side_by_side([charts.apart(one, texts, title, most=most) for title, one in less.items()], half=True)


def _side_by_side(drawn: Sequence[Any], *, half: bool = False) -> None:
    """Two charts a row; a single one over the whole width, unless `half` of it is asked for."""
    for start in range(0, len(drawn), ACROSS):
        places = st.columns(ACROSS) if half or len(drawn) > 1 else [st.container()]
        for place, chart in zip(places, drawn[start : start + ACROSS], strict=False):
            place.altair_chart(chart)


def _two(texts: Sequence[str]) -> tuple[int, int]:
    """Which two sentences are looked at."""
    st.subheader("Two of them")
    places = st.columns(2)
    sides = [
        one_pair.number(place, label, key, len(texts), at)
        for at, (place, label, key) in enumerate(zip(places, ("First", "Second"), ("x", "y"), strict=True), 1)
    ]
    return sides[0] - 1, sides[1] - 1
