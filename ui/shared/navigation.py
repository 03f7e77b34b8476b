"""The pages by their addresses: titles, icons and groups, links between them, the way on after a click, and parameters
of the URL that nothing on the page uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from semsearch import admin

from . import index_picker, messages
from .messages import Place

GO_ON = "go on to"  # the address at which the next run of the app continues, and parameters
USED = "parameters used"
Parameters = Mapping[str, str | Sequence[str]]


class Entry(NamedTuple):
    """A page: its title and Material icon."""

    title: str
    icon: str


GROUPS: Mapping[str, Mapping[str, Entry]] = {
    "Find": {
        "": Entry("Search", "search"),
        "library": Entry("Library", "library_books"),
        "map": Entry("Explore", "scatter_plot"),
    },
    "Lab": {
        "compare": Entry("Compare", "compare_arrows"),
        "evaluate": Entry("Evaluate", "monitoring"),
        "templates": Entry("Templates", "edit_note"),
        "models": Entry("Models", "neurology"),
    },
}
PAGES: Mapping[str, Entry] = {path: entry for group in GROUPS.values() for path, entry in group.items()}


def link(
    path: str, parameters: Parameters, *, label: str = "", icon: str = "", place: Place = None, hint: str = ""
) -> None:
    """A link to a page, as wide as its label."""
    entry = PAGES[path]
    said, sign = label or entry.title, f":material/{icon or entry.icon}:"
    query = {name: value if isinstance(value, str) else list(value) for name, value in parameters.items()}
    (place or st).page_link(target(path), label=said, icon=sign, query_params=query, width="content", help=hint or None)


def target(path: str) -> StreamlitPage:
    """The page as Streamlit's links know it: by its address alone."""
    return st.Page(lambda: None, title=PAGES[path].title, url_path=path, default=not path)


def go_on(path: str, **parameters: str) -> None:
    """Continue on another page, with the current index and these parameters: the end of a click."""
    st.session_state[GO_ON] = path, parameters


def next_page() -> tuple[str, dict[str, str]] | None:
    """The address that the last click leads to, and its parameters, once."""
    page: tuple[str, dict[str, str]] | None = st.session_state.pop(GO_ON, None)
    return page


def uses(*names: str) -> None:
    """Parameters that the page itself reads; those of its widgets are known by their keys."""
    st.session_state[USED] = {*st.session_state.get(USED, ()), *names}


def ignored() -> list[str]:
    """The parameters that this run of the page has not used."""
    used = {*st.session_state.pop(USED, ()), index_picker.KEY}
    return [name for name in st.query_params if name not in used and name not in st.session_state]


def tell_ignored(place: Place) -> None:
    """Name them, unless the page has shown nothing because its index is missing."""
    names, existing = ignored(), admin.names()
    if names and existing and all(each in existing for each in index_picker.current()):
        what = "parameter" if len(names) == 1 else "parameters"
        messages.warning(f"This page has no use for the {what} {', '.join(names)} of its address.", place=place)
