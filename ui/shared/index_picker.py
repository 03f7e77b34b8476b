"""The index that a page is about: never another one than the URL names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from semsearch import Index

from . import messages
from .messages import Place
from .widgets import URL

KEY = "index"
MISSING = "There is no index {} any more."


def names() -> list[str]:
    """The indexes of the home, sorted; where there is none, the page explains what to do."""
    found = Index.names()
    if not found:
        messages.info("There is no index yet. Create one on the page Indexes & models.")
    return found


def index(place: Place = None, **other: Any) -> str | None:
    """The chosen index of the home, by default the first; None, with a note, for none. `other` is for st.selectbox."""
    known = names()
    if not known:
        return None
    wanted = st.session_state.get(KEY, st.query_params.get(KEY))
    if isinstance(wanted, str) and wanted not in known:
        st.session_state[KEY] = None
        messages.warning(MISSING.format(wanted))
    settings: dict[str, Any] = {"key": KEY, "bind": URL, "placeholder": "Choose one"} | other
    chosen: str | None = (place or st).selectbox("Index", known, **settings)
    if chosen is None:
        messages.info("Choose an index.")
    return chosen


def warn_of_missing(key: str, names: Sequence[str]) -> None:
    """Name the indexes under `key` in the URL that no longer exist; the page shows the others."""
    for each in dict.fromkeys(st.query_params.get_all(key)):
        if each and each not in names:
            messages.warning(MISSING.format(each))
