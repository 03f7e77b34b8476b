"""Which index a page is about: never another one than was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import streamlit as st

from . import pool
from .urls import URL

KEY = "index"


def index(names: Sequence[str], place: Any = st, **options: Any) -> str | None:
    """The chosen one of `names`, the first where none was asked for; None, and said so, where it is there no more."""
    asked = st.session_state.get(KEY, st.query_params.get(KEY))
    if isinstance(asked, str) and asked not in names:
        st.session_state[KEY] = None
        _gone([asked])
    chosen: str | None = place.selectbox("Index", names, key=KEY, bind=URL, placeholder="Choose one", **options)
    if chosen is None:
        st.info("Choose an index.", icon=":material/info:")
    return chosen


def told_of(key: str, names: Sequence[str]) -> None:
    """Say which indexes a URL asks for, under `key`, that are not there; the page goes on with the others."""
    if gone := [each for each in dict.fromkeys(st.query_params.get_all(key)) if each and each not in names]:
        _gone(gone)


def _gone(names: Iterable[str]) -> None:
    for each in names:
        st.warning(pool.plain(f"There is no index {each} any more."), icon=":material/warning:")
