"""Widgets that several pages use: buttons with an icon, choices of one among a few, rows, links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

URL: Any = "query-params"  # `bind=URL` writes a widget's value to the query string under its key, and reads it there
IN_BACKGROUND = "It runs in the background; you can leave this page and come back."


def row() -> DeltaGenerator:
    """A row for buttons and captions."""
    return st.container(horizontal=True, vertical_alignment="center")


def choice(
    label: str,
    options: Sequence[str],
    key: str,
    hint: str | None = None,
    *,
    place: DeltaGenerator | None = None,
    bind: Any = URL,
    titled: bool = True,
    on_change: Callable[[], None] | None = None,
) -> str:
    """One of a few options in a row, at first the first: one is always chosen."""
    chosen = (place or st).segmented_control(
        label,
        options,
        default=options[0],
        required=True,
        key=key,
        bind=bind,
        help=hint,
        label_visibility="visible" if titled else "collapsed",
        on_change=on_change,
    )
    return chosen or options[0]


def search_page() -> StreamlitPage:
    """The page Search as the target of a link: Streamlit tells pages apart by their path alone, "" here."""
    return st.Page(lambda: None, title="Search", default=True)


def button(
    label: str,
    icon: str,
    click: Callable[..., None],
    args: Sequence[object] = (),
    *,
    place: DeltaGenerator | None = None,
    key: str | None = None,
    hint: str | None = None,
    kind: Literal["primary", "secondary", "tertiary"] = "secondary",
    off: bool = False,
) -> None:
    """A button with a Material icon, which calls `click` before the page is drawn again."""
    (place or st).button(label, key, hint, click, tuple(args), icon=f":material/{icon}:", type=kind, disabled=off)
