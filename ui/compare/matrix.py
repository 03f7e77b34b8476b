"""Sentences, each compared with every other: a heat map per encoder, differences of encoders, and any two of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from ..shared import charts, encoder_picker, messages
from ..shared.widgets import URL
from . import chart_files, one_pair, pair_scores

MOST = 30
MOST_CHARACTERS = 4_000  # the sentences are part of the URL, which servers limit to some kilobytes
MOST_PAIRS, HALF = 20, 16  # pairs of the chart with all encoders, and letters of a sentence there
EXAMPLE = "A man is playing a guitar.\nSomeone plays an instrument.\nA man is not playing a guitar.\nThe soup is cold."
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


def _maps(matrices: Mapping[str, Cells], texts: Sequence[str]) -> None:
    st.subheader("All pairs of sentences")
    st.caption("A cosine has the same colour in every map, whatever the encoder; point at a cell for its sentences.")
    names = encoder_picker.labels(matrices)
    maps = {
        f"cosines of {names[each]}": (charts.heat(cells, texts, names[each]), cells) for each, cells in matrices.items()
    }
    _side_by_side(maps, texts)
    if len(matrices) < 2:
        return
    _strip(matrices, texts)
    (base, cells), *rest = matrices.items()
    st.subheader("Where encoders differ")
    messages.caption(f"The cosine minus that of {names[base]}: orange is higher, blue is lower.")
    differences = {f"{names[each]} − {names[base]}": np.subtract(others, cells).tolist() for each, others in rest}
    apart = {title: (charts.apart(one, texts, title), one) for title, one in differences.items()}
    _side_by_side(apart, texts, half=True)


def _strip(matrices: Mapping[str, Cells], texts: Sequence[str]) -> None:
    """Every two sentences with a mark for each encoder; of many those about which the encoders differ most."""
    names = encoder_picker.labels(matrices)
    every = [
        (y, x, [cells[y][x] for cells in matrices.values()])
        for y in range(len(texts))
        for x in range(y + 1, len(texts))
    ]
    apart = sorted(every, key=lambda pair: min(pair[2]) - max(pair[2]))[:MOST_PAIRS]
    shown = [each for each in every if each in apart] if len(every) > MOST_PAIRS else every
    rows = [
        {"pair": f"{y + 1} – {x + 1}  {_both(texts[y], texts[x])}", "first": texts[y], "second": texts[x]}
        | {"encoder": name, "cosine": round(cosine, 4)}
        for y, x, cosines in shown
        for name, cosine in zip(names.values(), cosines, strict=True)
    ]
    st.subheader("All encoders, pair by pair")
    if len(shown) < len(every):
        st.caption(f"The {len(shown)} pairs about which the encoders differ most, of {len(every):,}.")
    chart_files.show(charts.strip(rows, list(names.values())), "strip", "cosines by pair", rows)


def _both(first: str, second: str) -> str:
    return " · ".join(messages.one_line(each, HALF) for each in (first, second))


def _side_by_side(drawn: Mapping[str, tuple[charts.Chart, Cells]], texts: Sequence[str], *, half: bool = False) -> None:
    """Two charts per row, by the names of their files; a single one takes the whole width, or `half` of it."""
    every = list(drawn.items())
    for start in range(0, len(every), 2):
        places = st.columns(2) if half or len(every) > 1 else [st.container()]
        for at, (place, (name, (chart, cells))) in enumerate(
            zip(places, every[start : start + 2], strict=False), start
        ):
            key = f"{'apart' if half else 'map'}-{at}"
            chart_files.show(chart, key, name, chart_files.matrix_rows(cells, texts), place=place)


def _two(texts: Sequence[str]) -> tuple[str, str]:
    """Two sentences that a person chooses."""
    st.subheader("Two sentences")
    left, right = st.columns(2)
    first = one_pair.number(left, "First", "x", len(texts), 1)
    second = one_pair.number(right, "Second", "y", len(texts), 2)
    return texts[first - 1], texts[second - 1]
