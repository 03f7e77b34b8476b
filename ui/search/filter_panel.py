"""The filters in the sidebar: a widget for each facet of the chosen indexes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st

from semsearch import Index
from semsearch.types import Facet

from ..shared import messages, pool
from ..shared.messages import plain
from ..shared.widgets import URL
from . import facet_filters

REUSED = 20  # facets of a changed index are reused for so many times the seconds that computing them took
LABELS = {"loader": "Kind of file", "date": "Date"}
HELP = {"date": "The document's own date where it has one, else that of its file."}


def controls(names: Sequence[str], written: str | None) -> str | None:
    """The condition written in the box and the choices below it, as one filter."""
    conditions = [written]
    with messages.errors():
        found = facet_filters.merged([_facets(pool.index(name)) for name in names])
        named, texts = ([each for each in found if (each.kind == "text") is text] for text in (False, True))
        if found:
            st.caption("Document metadata")
        conditions += [facet_filters.condition(each, _chosen(each)) for each in named]
        if texts:
            with st.expander("Text fields"):
                conditions += [facet_filters.condition(each, _chosen(each)) for each in texts]
    return facet_filters.joined(conditions)


def clear(names: Sequence[str]) -> None:
    """Reset all of them: the body of a click."""
    for each in facet_filters.merged([_facets(pool.index(name)) for name in names]):
        match each.kind:
            case "number" | "date":
                none: Any = _bounds(each)
            case "flag":
                none = None
            case kind:
                none = "" if kind == "text" else []
        if _key(each) in st.session_state:
            st.session_state[_key(each)] = none


def _key(facet: Facet) -> str:
    """The key of its widget, also in the URL."""
    return f"{'b' if facet.builtin else 'f'}.{facet.key}"


def _bounds(facet: Facet) -> tuple[Any, Any]:
    if facet.kind == "date":
        return date.fromisoformat(facet.low), date.fromisoformat(facet.high)
    number = int if facet.whole else float
    return number(facet.low), number(facet.high)


def _chosen(facet: Facet) -> facet_filters.Choice:
    """The widget of a facet, and the choice there."""
    label = LABELS.get(facet.key, facet.key) if facet.builtin else facet.key
    hint = HELP.get(facet.key) if facet.builtin else None
    common: dict[str, Any] = {"label": plain(label), "key": _key(facet), "bind": URL, "help": hint}
    match facet.kind:
        case "number":
            low, high = _bounds(facet)
            return st.slider(min_value=low, max_value=high, value=(low, high), **common)
        case "date":
            low, high = _bounds(facet)
            return st.date_input(min_value=low, max_value=high, value=(low, high), format="YYYY-MM-DD", **common)
        case "flag":
            return st.segmented_control(options=("yes", "no"), **common)
        case "text":
            return st.text_input(placeholder="contains …", **common)
        case _:
            return st.multiselect(options=[value for value, _ in facet.values], placeholder="any", **common)


@dataclass(slots=True)
class _Known:
    """The facets of an index at a version, and how long they are reused after a change."""

    version: int = -1
    facets: list[Facet] = field(default_factory=list)
    until: float = 0.0


@st.cache_resource(show_spinner=False)
def _known() -> WeakKeyDictionary[Index, _Known]:
    """The facets of each open index, shared by all sessions."""
    return WeakKeyDictionary()


def _facets(index: Index) -> list[Facet]:
    """The facets. While another process writes they may lag a little behind, so that the page does not."""
    known, version, now = _known().setdefault(index, _Known()), index.version, time.monotonic()
    if known.version != version and now >= known.until:
        known.facets, known.version = index.facets(), version
        known.until = time.monotonic() + REUSED * (time.monotonic() - now)
    return known.facets
