"""Compare: how similar sentences are, for one or several encoders side by side."""

from __future__ import annotations

import streamlit as st

from ..shared import encoder_picker
from ..shared.urls import URL
from . import matrix, pair_table

KINDS = {"sentences": matrix.show, "pairs": pair_table.show}


def page() -> None:
    """The page."""
    st.title("Compare")
    kind = st.segmented_control(
        "Compare",
        list(KINDS),
        default="sentences",
        required=True,
        key="kind",
        bind=URL,
        label_visibility="collapsed",
        help="Sentences: each with every other. Pairs: two by two, also with human scores.",
    )
    KINDS[kind or "sentences"](encoder_picker.chosen())
