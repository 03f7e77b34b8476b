"""Compare: how alike sentences are, for one or several encoders side by side."""

from __future__ import annotations

from typing import Any

import streamlit as st

from . import encoders, rated, sentences

KINDS = {"sentences": sentences.show, "pairs": rated.show}
URL: Any = "query-params"


def page() -> None:
    """The page."""
    st.title("Compare")
    kind = st.segmented_control(
        "What is compared", list(KINDS), default="sentences", required=True, key="kind", bind=URL,
        label_visibility="collapsed",
        help="Sentences: every one with every other. Pairs: two by two, also against scores that people gave.",
    )  # fmt: skip
    KINDS[kind or "sentences"](encoders.chosen())
