"""A hit in its document."""

from __future__ import annotations

import streamlit as st

from semsearch import Hit

from . import held, marked

AROUND = 6_000  # letters shown before and behind the passage: a book of a megabyte would stop the browser
OPEN = "open hit"


def ask(index: str, hit: Hit) -> None:
    """Open a hit, or close it where it is open."""
    now = (index, hit.id)
    st.session_state[OPEN] = None if st.session_state.get(OPEN) == now else now


def show(index: str, hit: Hit) -> None:
    """The document of an open hit, with the passage marked."""
    if st.session_state.get(OPEN) != (index, hit.id):
        return
    with held.told():
        text = held.index(index).get(hit.document)["text"]
        first, last = max(0, hit.start - AROUND), min(len(text), hit.end + AROUND)
        part = text[first:last]
        with st.container(height=420):
            st.caption(held.plain(hit.path) + (f" · page {hit.page}" if hit.page else ""))
            st.html(marked.passage(part, (0, 0), [(hit.start - first, hit.end - first)], whole=True))
