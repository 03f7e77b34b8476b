"""The current index of all pages: chosen in the bar, kept in the session, and in the URL as `n`.

A page never shows another one than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from semsearch import SemsearchError, admin

from . import messages, pool, widgets
from .work import jobs

KEY = "n"  # the parameter of the URL, also the key of the widget
CURRENT, DEFAULT, SEEN, PAGE = "current indexes", "default index", "indexes of the URL", "address of the page"
SLOT = "place of the index in the bar"
SHOWN: Any = {"key": KEY, "label_visibility": "collapsed"}  # of the widget
MISSING = "There is no index {} any more."
COMING = "The index {} is being created."
SEARCH = ""  # the address of the one page that without a choice shows all indexes


def reserve() -> None:
    """Keep a place in the bar for the choice, which a page that shows an index draws."""
    st.session_state[SLOT] = st.container(width=240)


def settle(path: str) -> None:
    """Put the index that the page at this address shows into its URL, under its present name."""
    names = current() or parameters(path).get(KEY, [])
    if names and names != current():
        choose(names)


def _place() -> Any:
    """Where the choice stands; a page that is drawn alone has no bar."""
    return st.session_state.pop(SLOT, None) or st


def names() -> list[str]:
    """The indexes of the home, sorted; where there is none, the page explains what to do."""
    existing = admin.names()
    if not existing:
        messages.info("There is no index yet. Add documents, which makes one.")
    return existing


def current() -> list[str]:
    """The chosen indexes, which need not exist: those of a new URL, else the last choice on any page.

    A page that is entered without them in the URL leaves the choice as it is.
    """
    state, params = st.session_state, st.query_params
    named = [each for each in params.get_all(KEY) if each]
    page, seen = state.get(SEEN, ("", []))
    entered = page != state.get(PAGE, "")
    if named if entered else named != seen:
        state[CURRENT] = named
    state[SEEN] = (state.get(PAGE, ""), named)
    return list(state.get(CURRENT, []))


def choose(chosen: Sequence[str]) -> None:
    """Make these the current indexes of all pages: the body of a click."""
    st.session_state[CURRENT] = list(chosen)
    if chosen:
        st.query_params[KEY] = list(chosen)
    else:
        st.query_params.pop(KEY, None)


def parameters(path: str) -> dict[str, list[str]]:
    """The current indexes as parameters of a link to this page; without a choice the one that the page would show."""
    chosen = current()
    if not chosen and path != SEARCH and (existing := admin.names()):
        chosen = [_default(existing)]
    return {KEY: chosen} if chosen else {}


def index(on_change: Callable[[], None] = lambda: None) -> str | None:
    """The current index, by default the first with documents; None, with a note, for a missing one."""
    existing = names()
    if not existing:
        return None
    warn_of_missing(existing)
    chosen = _one(existing, on_change)
    if chosen is None and not any(jobs.busy(each) for each in current()):
        messages.info("Choose an index.")
    return chosen


def _one(existing: Sequence[str], on_change: Callable[[], None]) -> str | None:
    def changed() -> None:
        choose([st.session_state[KEY]])
        on_change()

    name = (current() or [_default(existing)])[0]
    st.session_state[KEY] = name if name in existing else None
    chosen: str | None = _place().selectbox("Index", existing, on_change=changed, placeholder="Choose one", **SHOWN)
    return chosen


def several(existing: Sequence[str], place: Any = None, *, all_of_them: bool = False, **other: Any) -> list[str]:
    """The current indexes that exist; with no choice `all_of_them`, or the first with documents.

    None where only missing ones are chosen, which a note names. `other` is for st.multiselect.
    """
    chosen_before = current()
    st.session_state[KEY] = [
        each for each in chosen_before or ([] if all_of_them else [_default(existing)]) if each in existing
    ]
    changed = lambda: choose(st.session_state[KEY])  # noqa: E731
    place = place or _place()
    chosen = widgets.several("Indexes", existing, place=place, on_change=changed, **SHOWN, **other)
    return list(existing) if all_of_them and not chosen_before else chosen


def warn_of_missing(existing: Sequence[str]) -> None:
    """Name the current indexes that do not exist."""
    for each in dict.fromkeys(current()):
        if each not in existing:
            text, show = (COMING, messages.info) if jobs.busy(each) else (MISSING, messages.warning)
            show(text.format(each))


def _default(existing: Sequence[str]) -> str:
    """The first index with documents, and the same one for the rest of the session."""
    if st.session_state.get(DEFAULT) not in existing:
        st.session_state[DEFAULT] = next((name for name in existing if _documents(name)), existing[0])
    return str(st.session_state[DEFAULT])


def _documents(name: str) -> int:
    try:
        return int(pool.index(name).info()["documents"])
    except SemsearchError:
        return 0
