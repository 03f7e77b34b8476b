"""Groups: documents that repeat others, clusters of documents with their names, and how these change over time."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ..shared import index_picker, messages, pool, widgets
from . import clusters, copies

COPIES, CLUSTERS = "copies", "clusters"


def page() -> None:
    """The page."""
    st.title("Groups")
    row = st.container(horizontal=True, vertical_alignment="top")
    name = index_picker.index()
    with messages.errors():
        if name is not None:
            _show(name, row)


def _show(name: str, row: DeltaGenerator) -> None:
    hint = "Copies: documents that repeat others. Clusters: what the documents are about."
    kind = widgets.choice("Find", (COPIES, CLUSTERS), "kind", hint, place=row)
    if not pool.index(name).info()["documents"]:
        messages.info("This index contains no document yet. Add a folder on the page Documents.")
    elif kind == COPIES:
        copies.show(name, row)
    else:
        clusters.show(name, row)
