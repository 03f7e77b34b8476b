"""The first hits read again by a reranker: the switch in the sidebar, and the answer in its new order.

Hits of the search are shown at once; the page is drawn again when the second reading is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Query, Reranker

from ..shared import pool
from ..shared.widgets import URL
from . import results
from .results import Answer, State

DONE = "second reading"
FIELDS = ("rerank", "rerank_depth", "rerank_weight")  # of a query, that the switch decides
HINT = "A reranker reads the first hits again, each together with the query. The hits of the search stand meanwhile."
NONE = (
    "There is no reranker on this machine. To download one: semsearch models pull ms-marco-MiniLM-L6-v2. Or name a "
    "folder: SEMSEARCH_RERANKER=DIR."
)
Asked = tuple[Query, tuple[tuple[str, State], ...]]


def switch(query: Query) -> Query:
    """The query with a reranker where the switch is on, else as it is."""
    rerankers = Reranker.on_this_machine()
    hint = HINT if rerankers else NONE
    on = st.toggle("Read the first hits again", key="rerank", bind=URL, help=hint, disabled=not rerankers)
    if not (on and rerankers):
        return query
    model = rerankers[0]
    if len(rerankers) > 1:
        model = st.selectbox("Reranker", rerankers, key="reranker", bind=URL) or model
    depth = st.number_input("Hits to read again", 1, 200, query.rerank_depth, key="depth", bind=URL)
    label, hint = "Order of the search ↔ reranker", "0 keeps the order of the search, 1 replaces it."
    weight = st.slider(label, 0.0, 1.0, query.rerank_weight, 0.05, key="reweigh", bind=URL, help=hint)
    return replace(query, rerank=model, rerank_depth=int(depth), rerank_weight=weight)


def done(query: Query, names: Sequence[str]) -> Answer | None:
    """The answer of a second reading that has been made; None where there is none, or an index has changed since."""
    asked, answer = st.session_state.get(DONE, (None, None))
    return answer if query.rerank is not None and asked == _asked(query, names) else None


def read(query: Query, names: Sequence[str], place: DeltaGenerator) -> None:
    """Make it, while `place` says so. Raises SemsearchError."""
    asked = _asked(query, names)
    with place, st.spinner(f"Reading the first {query.rerank_depth} hits again …"):
        st.session_state[DONE] = asked, results.search(query, names)


def _asked(query: Query, names: Sequence[str]) -> Asked:
    return query, tuple((name, pool.state(pool.index(name))) for name in names)
