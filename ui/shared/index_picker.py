"""The index that a page is about: never another one than the URL names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Index

from . import messages
from .widgets import URL

KEY = "index"


def names() -> list[str]:
    """The indexes of the home, sorted; where there is none, the page says what to do."""
    found = Index.names()
    if not found:
        messages.info("There is no index yet. Create one on the page Indexes & models.")
    return found


def index(
    place: DeltaGenerator | None = None, on_change: Callable[[], None] | None = None, width: int | None = None
) -> str | None:
    """The chosen index of the home, by default the first; None, with a note, where there is none."""
    known = names()
    if not known:
        return None
    wanted = st.session_state.get(KEY, st.query_params.get(KEY))
    if isinstance(wanted, str) and wanted not in known:
        st.session_state[KEY] = None
        _warn_of([wanted])
    chosen: str | None = (place or st).selectbox(
        "Index", known, key=KEY, bind=URL, placeholder="Choose one", on_change=on_change, width=width or "stretch"
    )
    if chosen is None:
        messages.info("Choose an index.")
    return chosen


def warn_of_missing(key: str, names: Sequence[str]) -> None:
    """Name the indexes under `key` in the URL that no longer exist; the page shows the others."""
    _warn_of(each for each in dict.fromkeys(st.query_params.get_all(key)) if each and each not in names)


def _warn_of(names: Iterable[str]) -> None:
    for each in names:
        messages.warning(f"There is no index {each} any more.")
