"""Form fields for how documents are split into passages: kind, size and overlap, in the words of `semsearch index`."""

from __future__ import annotations

import streamlit as st

from semsearch import Splitter

KINDS = ("sentences", "markdown", "tokens", "none")
HELP = (
    "sentences: whole sentences, as many as fit. markdown: the same, never across a heading. tokens: a fixed number of "
    "tokens, wherever sentences end. none: each document whole."
)


def fields(key: str, splitter: Splitter, *, kind_help: str = HELP, size_help: str | None = None) -> None:
    """Three fields in a row, filled in from `splitter`. Their keys begin with `key`."""
    kind, size, overlap = st.columns(3)
    at = KINDS.index(splitter.kind)
    kind.selectbox("Split by (--chunk)", KINDS, at, key=f"{key}.kind", help=kind_help)
    size.number_input("Tokens per passage (--chunk-size)", 1, value=splitter.size, key=f"{key}.size", help=size_help)
    overlap.number_input("Overlap in tokens (--overlap)", 0, value=splitter.overlap, key=f"{key}.overlap")


def chosen(key: str) -> Splitter:
    """What the fields say. Raises SemsearchError, for example where the overlap is no smaller than the size."""
    state = st.session_state
    return Splitter(state[f"{key}.kind"], int(state[f"{key}.size"]), int(state[f"{key}.overlap"]))
