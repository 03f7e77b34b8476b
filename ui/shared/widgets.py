"""Widgets that several pages use: buttons with an icon, a choice of one option, rows, splitter fields, paging."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Splitter

from .messages import Place

T = TypeVar("T")
URL: Any = "query-params"  # `bind=URL` writes a widget's value to the query string under its key, and reads it there
SPLITTERS = ("sentences", "markdown", "tokens", "none")
SPLIT_HELP = (
    "sentences: whole sentences, as many as fit. markdown: the same, never across a heading. tokens: a fixed number of "
    "tokens, wherever sentences end. none: each document whole."
)
IN_BACKGROUND = "It runs in the background; you can leave this page and come back."


def row(*, border: bool = False) -> DeltaGenerator:
    """A row for buttons and captions."""
    return st.container(horizontal=True, vertical_alignment="center", border=border)


def choice(
    label: str, options: Sequence[str], key: str, hint: str | None = None, *, place: Place = None, **other: Any
) -> str:
    """Options in a row, of which one is always selected, initially the first; `other` is for st.segmented_control."""
    settings: dict[str, Any] = {"default": options[0], "required": True, "key": key, "help": hint, "bind": URL} | other
    chosen: str | None = (place or st).segmented_control(label, options, **settings)
    return chosen or options[0]


def several(label: str, options: Sequence[T], key: str, *, place: Place = None, **other: Any) -> list[T]:
    """Options of which several can be chosen, one by one: Enter takes the first that fits what is typed.

    `other` is for st.multiselect.
    """
    chosen: list[T] = (place or st).multiselect(label, options, key=key, select_all=False, **other)
    return chosen


def button(
    label: str,
    icon: str,
    click: Callable[..., None],
    args: Sequence[object] = (),
    *,
    place: Place = None,
    key: str | None = None,
    hint: str | None = None,
    kind: Literal["primary", "secondary", "tertiary"] = "secondary",
    off: bool = False,
) -> None:
    """A button with a Material icon, which calls `click` before the page is drawn again."""
    (place or st).button(label, key, hint, click, tuple(args), icon=f":material/{icon}:", type=kind, disabled=off)


def splitter_fields(key: str, splitter: Splitter, *, kind_help: str = SPLIT_HELP, size_help: str | None = None) -> None:
    """How documents are split, in three fields filled in from `splitter`. Their keys begin with `key`."""
    kind, size, overlap = st.columns(3)
    at = SPLITTERS.index(splitter.kind)
    kind.selectbox("Split by (--chunk)", SPLITTERS, at, key=f"{key}.kind", help=kind_help)
    size.number_input("Tokens per passage (--chunk-size)", 1, value=splitter.size, key=f"{key}.size", help=size_help)
    overlap.number_input("Overlap in tokens (--overlap)", 0, value=splitter.overlap, key=f"{key}.overlap")


def splitter_chosen(key: str) -> Splitter:
    """The splitter in these fields. Raises SemsearchError, for example for an overlap as large as the size."""
    state = st.session_state
    return Splitter(state[f"{key}.kind"], int(state[f"{key}.size"]), int(state[f"{key}.overlap"]))


def page_of(items: Sequence[T], size: int, key: str, **options: Any) -> Sequence[T]:
    """The part of a long list that a person pages to; `options` are those of the number field."""
    pages = -(-len(items) // size)
    at = min(int(st.number_input(f"Page, of {pages:,}", 1, pages, 1, key=key, **options)), pages) if pages > 1 else 1
    return items[(at - 1) * size : at * size]
