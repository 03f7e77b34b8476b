"""Buttons with an icon, and rows of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

IN_BACKGROUND = "It runs in the background; you can leave this page and come back."


def row() -> DeltaGenerator:
    """A row for buttons and captions."""
    return st.container(horizontal=True, vertical_alignment="center")


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
