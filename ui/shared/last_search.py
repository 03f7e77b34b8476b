"""The last search of a session, for other pages that show its hits."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from semsearch import Query

LAST = "last search"


def remember(query: Query) -> None:
    """This is the search whose hits are on the screen."""
    st.session_state[LAST] = query


def text() -> str:
    """Its question; "" where nothing was searched yet."""
    last = st.session_state.get(LAST)
    return last.text if isinstance(last, Query) else ""


def again(question: str, k: int) -> Query:
    """A search for the `k` best passages: with the conditions of the last one where the question is the same."""
    last = st.session_state.get(LAST)
    return matching(last if isinstance(last, Query) else None, question, k)


def matching(last: Query | None, question: str, k: int) -> Query:
    """The query for this question, after the last one of the session."""
    query = last if last is not None and last.text == question else Query(question)
    return replace(query, k=k, group="passage", rerank=None, offset=0)
