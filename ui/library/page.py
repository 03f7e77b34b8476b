"""Library: the documents of an index, the indexes, and documents that repeat others."""

from __future__ import annotations

import streamlit as st

from semsearch import admin

from ..shared import messages, widgets
from ..shared.adding import panel
from . import copies, documents, indexes

PARTS = {"documents": documents.show, "indexes": indexes.show, "copies": copies.show}


def page() -> None:
    """The page."""
    messages.outcome_of_click()
    row = st.container(horizontal=True, vertical_alignment="center")
    part = widgets.choice("Part of the library", list(PARTS), "shelf", place=row, label_visibility="collapsed")
    if admin.names() or part == "indexes":  # where a dump can be restored
        PARTS[part](row)
    else:
        panel.show()
