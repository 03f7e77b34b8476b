"""Sentences, each compared with every other: a heat map per encoder, differences of encoders, and any two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from ..shared import charts, encoder_picker, messages
from ..shared.widgets import URL
from . import one_pair, pair_scores

MOST = 30
MOST_CHARACTERS = 4_000  # the sentences are part of the URL, which servers limit to some kilobytes
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
    cosines = lambda encoder: pair_scores.matrix(encoder.fingerprint, texts, encoder)  # noqa: E731
    found = dict(encoder_picker.measure_each(chosen, cosines))
    if found:
        _maps(found, texts)
    if len(texts) > 2 and found:
        one_pair.show(chosen, *_two(texts))


def _maps(found: Mapping[str, Cells], texts: Sequence[str]) -> None:
    st.subheader("All pairs of sentences")
    low = min(0.0, *(value for cells in found.values() for row in cells for value in row))
    name = encoder_picker.short_name
    _side_by_side([charts.heat(cells, texts, name(each), low=low) for each, cells in found.items()])
    if len(found) < 2:
        return
    (base, cells), *rest = found.items()
    st.subheader("Where encoders differ")
    messages.caption(f"The cosine minus that of {name(base)}: orange is higher, blue is lower.")
    differences = {f"{name(each)} − {name(base)}": np.subtract(others, cells).tolist() for each, others in rest}
    most = max(LEAST_APART, *(float(np.abs(one).max()) for one in differences.values()))
    _side_by_side([charts.apart(one, texts, title, most=most) for title, one in differences.items()], half=True)


def _side_by_side(drawn: Sequence[charts.Chart], *, half: bool = False) -> None:
    """Two charts per row; a single one takes the whole width, or `half` of it."""
    for start in range(0, len(drawn), 2):
        places = st.columns(2) if half or len(drawn) > 1 else [st.container()]
        for place, chart in zip(places, drawn[start : start + 2], strict=False):
            place.altair_chart(chart)


def _two(texts: Sequence[str]) -> tuple[str, str]:
    """Two sentences that a person chooses."""
    st.subheader("Two sentences")
    left, right = st.columns(2)
    first = one_pair.number(left, "First", "x", len(texts), 1)
    second = one_pair.number(right, "Second", "y", len(texts), 2)
    return texts[first - 1], texts[second - 1]
