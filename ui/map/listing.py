"""The passages chosen on the map, and links that search for similar ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch.analysis import group_names
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, navigation, widgets
from ..shared.messages import plain
from ..shared.texts import highlight, markup
from . import actions, points
from .points import BY_KEY, Points
from .selection import Selection

LISTED = 25  # passages at a time
MOST_STARTS = 3  # of many passages, those that a search starts from
READ = 2_000  # of many passages, those whose words are counted


def chosen(name: str, on: Points, rows: Sequence[int], heading: str, selection: Selection) -> None:
    """The passages of these rows and what can be done with them; of those that lie together distinctive words."""
    st.header(plain(heading), anchor=False)
    counted, alike = count(len(rows), "passage"), not selection.points
    words = _words(on, tuple(rows)) if alike else ""
    if alike or len(rows) > 1:
        order = ", the most central first" if alike else ""
        messages.caption(f"{counted}{order}" + (f". Distinctive words: {words}" if words else ""))
    row = widgets.row()
    if alike:
        hint = f"Searches for passages like the {min(MOST_STARTS, len(rows))} most central ones."
        _search_link(row, name, on, rows[:MOST_STARTS], "Search for similar passages", hint)
    actions.show(name, on, rows, selection, row)
    for one in widgets.page_of(rows, LISTED, f"page {heading} {len(rows)}", width=160):
        _passage(name, on, one)


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=BY_KEY)
def _words(on: Points, rows: tuple[int, ...]) -> str:
    """The words that are more frequent in these passages than in the others."""
    inside = np.zeros(len(on), np.int64)
    inside[list(rows)] = 1
    if inside.all():
        return ""
    read = [part[:: -(-len(part) // READ)] for part in (np.flatnonzero(inside == 0), np.flatnonzero(inside))]
    texts = [on.sample.texts[row] for part in read for row in part.tolist()]
    return group_names(texts, np.repeat([0, 1], [len(part) for part in read]))[1]


def _passage(name: str, on: Points, row: int) -> None:
    text, cut = _read(on, row), len(on.sample.texts[row]) >= points.LETTERS
    with st.container(border=True):
        top = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
        top.caption(plain(f"{on.sample.documents[row]} · #{on.sample.ids[row]}"), width="content")
        there = {index_picker.KEY: name, "open": f"{name}/{on.sample.ids[row]}"}
        navigation.link("", there, label="Open", icon="chrome_reader_mode", place=top)
        _search_link(top, name, on, [row], "Search for more like this", "")
        st.html(highlight.passage(f"{text[: highlight.shown(text, 0)[1]]} …" if cut else text))


def _read(on: Points, row: int) -> str:
    """The text of a point without the signs of its markup."""
    return "".join(markup.letters(on.sample.texts[row], on.sample.documents[row]))


def _search_link(place: DeltaGenerator, name: str, on: Points, rows: Sequence[int], label: str, hint: str) -> None:
    """A link to the search page, with these passages as chips."""
    params = {"more": [f"#{on.sample.ids[row]}" for row in rows], index_picker.KEY: name}
    navigation.link(index_picker.SEARCH, params, label=label, place=place, hint=hint)
