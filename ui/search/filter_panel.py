"""The filters at the side: a control for each thing that tells the documents of the chosen indexes apart."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st

from semsearch import Facet, Index

from ..shared import pool
from ..shared.urls import URL
from . import facet_filters as narrow

PATIENCE = 20  # times as long as they took to find, facets serve a while although the index has changed since
LABELS = {"loader": "Kind of file", "date": "Date"}
HELP = {"date": "The document's own date where it has one, else that of its file."}


def controls(names: Sequence[str], written: str | None) -> str | None:
    """What is written in the box, and what is chosen below it, as one filter."""
    conditions = [written]
    with pool.told():
        found = narrow.merged([_facets(pool.index(name)) for name in names])
        named, texts = ([each for each in found if (each.kind == "text") is text] for text in (False, True))
        if found:
            st.caption("What the documents tell of themselves")
        conditions += [narrow.condition(each, _chosen(each)) for each in named]
        if texts:
            with st.expander("Words in their fields"):
                conditions += [narrow.condition(each, _chosen(each)) for each in texts]
    return narrow.joined(conditions)


def clear(names: Sequence[str]) -> None:
    """Choose nothing in all of them: what a button does."""
    for each in narrow.merged([_facets(pool.index(name)) for name in names]):
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
    """Of its control, in the URL too."""
    return f"{'b' if facet.builtin else 'f'}.{facet.key}"


def _bounds(facet: Facet) -> tuple[Any, Any]:
    if facet.kind == "date":
        return date.fromisoformat(facet.low), date.fromisoformat(facet.high)
    number = int if facet.whole else float
    return number(facet.low), number(facet.high)


def _chosen(facet: Facet) -> Any:
    """The control of a facet, and what is chosen there."""
    label = LABELS.get(facet.key, facet.key) if facet.builtin else facet.key
    told: dict[str, Any] = {"label": pool.plain(label), "key": _key(facet), "bind": URL}
    if facet.builtin and facet.key in HELP:
        told["help"] = HELP[facet.key]
    match facet.kind:
        case "number":
            low, high = _bounds(facet)
            return st.slider(min_value=low, max_value=high, value=(low, high), **told)
        case "date":
            low, high = _bounds(facet)
            return st.date_input(min_value=low, max_value=high, value=(low, high), format="YYYY-MM-DD", **told)
        case "flag":
            return st.segmented_control(options=("yes", "no"), **told)
        case "text":
            return st.text_input(placeholder="contains …", **told)
        case _:
            return st.multiselect(options=[value for value, _ in facet.values], placeholder="any", **told)


@dataclass(slots=True)
class _Known:
    """The facets of an index at a version, and when they are looked for again although they serve."""

    version: int = -1
    facets: list[Facet] = field(default_factory=list)
    until: float = 0.0


@st.cache_resource(show_spinner=False)
def _known() -> WeakKeyDictionary[Index, _Known]:
    """What is known of each open index, for all who look."""
    return WeakKeyDictionary()


def _facets(index: Index) -> list[Facet]:
    """The facets. While another process writes all the time they may lag a little behind, so that a page does not."""
    known, version, now = _known().setdefault(index, _Known()), index.version, time.monotonic()
    if known.version != version and now >= known.until:
        known.facets, known.version = index.facets(), version
        known.until = time.monotonic() + PATIENCE * (time.monotonic() - now)
    return known.facets
