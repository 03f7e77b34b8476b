"""Groups: documents that repeat others, clusters of documents and how they change over time, labels by examples."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ..shared import index_picker, messages, pool, widgets
from . import clusters, copies, labels

KINDS = {"copies": copies.show, "clusters": clusters.show, "labels": labels.show}


def page() -> None:
    """The page."""
    messages.outcome_of_click()
    row = st.container(horizontal=True, vertical_alignment="top")
    name = index_picker.index()
    with messages.errors():
        if name is not None:
            _show(name, row)


def _show(name: str, row: DeltaGenerator) -> None:
    hint = (
        "Copies: documents that repeat others. Clusters: what the documents are about. Labels: documents labelled as "
        "in your examples."
    )
    kind = widgets.choice("Find", list(KINDS), "kind", hint, place=row)
    if not pool.index(name).info()["documents"]:
        messages.info("This index contains no document yet. Add a folder on the page Documents.")
    else:
        KINDS[kind](name, row)
