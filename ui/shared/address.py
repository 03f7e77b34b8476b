"""The parameters of a page's URL that nothing on the page uses."""

from __future__ import annotations

import streamlit as st

from semsearch import Index

from . import index_picker, messages
from .messages import Place

USED = "parameters used"


def uses(*names: str) -> None:
    """Parameters that the page itself reads; those of its widgets are known by their keys."""
    st.session_state[USED] = {*st.session_state.get(USED, ()), *names}


def ignored() -> list[str]:
    """The parameters that this run of the page has not used."""
    used = {*st.session_state.pop(USED, ()), index_picker.KEY, index_picker.EARLIER}
    return [name for name in st.query_params if name not in used and name not in st.session_state]


def tell_ignored(place: Place) -> None:
    """Name them, unless the page has shown nothing because its index is missing."""
    names, known = ignored(), Index.names()
    if names and known and all(each in known for each in index_picker.current()):
        what = "parameter" if len(names) == 1 else "parameters"
        messages.warning(f"This page has no use for the {what} {', '.join(names)} of its address.", place)
