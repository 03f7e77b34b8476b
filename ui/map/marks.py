"""The hits of a search on the map: the box for the question, and the points that are ringed."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Index, Query, Results
from semsearch.types import JsonObject
from semsearch.utils.quantities import count, rounded_down
from semsearch.utils.strength import CHANCE

from ..shared import index_picker, last_search, messages, navigation, pool
from ..shared.widgets import URL
from .points import Points

QUESTION = "q"  # as on the page Search
HITS, SOME = 50, 10


def box(place: DeltaGenerator) -> str:
    """The question, at first that of the last search of this session."""
    if QUESTION not in st.session_state and QUESTION not in st.query_params and last_search.text():
        st.session_state[QUESTION] = last_search.text()
    hint = f"Rings the {HITS} best passages, with the filters of your last search if the question is the same."
    text = place.text_input(
        "Show the hits of a search", key=QUESTION, bind=URL, placeholder="A question", help=hint, width=260
    )
    return (text or "").strip()


def hits(name: str, index: Index, on: Points, question: str) -> list[JsonObject]:
    """A mark for each hit that is a point of the map, the best first: its row, rank and strength."""
    if not question:
        return []
    results = worthwhile(_search(pool.state(index), last_search.again(question, HITS), index))
    rows = {int(passage): row for row, passage in enumerate(on.sample.ids)}
    marks = [
        {"row": rows[hit.id], "rank": rank, "match": hit.match, "strength": _strength(hit.strength)}
        for rank, hit in enumerate(results, 1)
        if hit.id in rows
    ]
    _caption(name, question, results, len(marks))
    return marks


@st.cache_data(max_entries=8, show_spinner="Searching …", scope="session")
def _search(state: tuple[str, int, int], query: Query, _index: Index) -> Results:
    return _index.search(query)


def worthwhile(results: Results) -> Results:
    """The hits that are better than chance, or of unknown strength; the best SOME where none is."""
    better = tuple(hit for hit in results if hit.strength is None or hit.strength >= CHANCE)
    return replace(results, hits=better or results.hits[:SOME])


def _strength(value: float | None) -> str:
    return "" if value is None else f"{rounded_down(value):.2f}"


def _caption(name: str, question: str, results: Results, shown: int) -> None:
    """How many hits there are, and how many of them the map shows."""
    row = st.container(horizontal=True, vertical_alignment="center")
    sentence = f"{count(len(results), 'hit')} for “{messages.one_line(question, 60)}”"
    if shown < len(results):
        sentence += f", {shown} of them among the points of the map"
    messages.caption(f"{sentence}: ringed, the best ten with their ranks." if shown else f"{sentence}.", row)
    navigation.link(index_picker.SEARCH, {QUESTION: question, index_picker.KEY: name}, label="Search", place=row)
