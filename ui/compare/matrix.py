"""Sentences, each compared with every other: a heat map per encoder, differences of encoders, and any two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from semsearch.types import JsonObject

from ..shared import charts, encoder_picker, messages
from ..shared.widgets import URL
from . import chart_files, one_pair, pair_scores

MOST = 30
MOST_CHARACTERS = 4_000  # the sentences are part of the URL, which servers limit to some kilobytes
EXAMPLE = "A man is playing a guitar.\nSomeone plays an instrument.\nA man is not playing a guitar.\nThe soup is cold."
SENTENCES = {"x": ("First", 1), "y": ("Second", 2)}  # of the pair: key, label, and number at first
Cells = Sequence[Sequence[float]]


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
    matrices = dict(encoder_picker.measure_each(chosen, cosines))
    if matrices:
        _maps(matrices, texts)
    if len(texts) > 2 and matrices:
        one_pair.show(chosen, *_two(texts))
    if len(matrices) > 1:
        _differences(matrices, texts)


def _maps(matrices: Mapping[str, Cells], texts: Sequence[str]) -> None:
    st.caption("Click a cell to look at its two sentences. A cosine has the same colour whatever the encoder.")
    names = encoder_picker.labels(matrices)
    maps = {
        f"cosines of {names[each]}": (charts.heat(cells, texts, names[each]), cells) for each, cells in matrices.items()
    }
    _side_by_side(maps, texts)


def _differences(matrices: Mapping[str, Cells], texts: Sequence[str]) -> None:
    names = encoder_picker.labels(matrices)
    (base, cells), *rest = matrices.items()
    st.header("Where encoders differ")
    messages.caption(f"The cosine minus that of {names[base]}: orange is higher, blue is lower.")
    differences = {f"{names[each]} − {names[base]}": np.subtract(others, cells).tolist() for each, others in rest}
    apart = {title: (charts.apart(one, texts, title), one) for title, one in differences.items()}
    _side_by_side(apart, texts, half=True)


def _side_by_side(drawn: Mapping[str, tuple[charts.Chart, Cells]], texts: Sequence[str], *, half: bool = False) -> None:
    """Two charts per row, by the names of their files; a single one takes the whole width, or `half` of it."""
    every = list(drawn.items())
    for start in range(0, len(every), 2):
        places = st.columns(2) if half or len(every) > 1 else [st.container()]
        row = zip(places, every[start : start + 2], strict=False)
        for at, (place, (name, (chart, cells))) in enumerate(row, start):
            key = f"{'apart' if half else 'map'}-{at}"
            chart_files.show(chart, key, name, chart_files.matrix_rows(cells, texts), place=place, clicked=_choose)


def _choose(cell: JsonObject) -> None:
    """The sentences of a cell become the two that are looked at."""
    for key in SENTENCES:
        st.session_state[key] = int(cell[key])


def _two(texts: Sequence[str]) -> tuple[str, str]:
    """Two sentences that a person chooses, by a click on a cell or by their numbers."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    row.header("Two sentences", width="content")
    first, second = (
        one_pair.number(row, label, key, len(texts), usual, width=110) for key, (label, usual) in SENTENCES.items()
    )
    return texts[first - 1], texts[second - 1]
