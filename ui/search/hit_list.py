"""The hits in the browser: one component draws all of them, with the keys, menus, selection and the reading pane;
another one draws the facets.

It reports what a person does as an event, which may be forged, so that it is checked here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from semsearch.types import JsonObject

FILES = {"hits": ("elements", "card", "menu", "start", "reader", "keys", "list"), "facets": ("elements", "facets")}


def _text(file: str) -> str:
    return (Path(__file__).parent / "browser" / file).read_text(encoding="utf-8")


_drawn = {
    kind: st.components.v2.component(
        f"semsearch {kind}",
        css=_text("hits.css"),
        js="\n".join(_text(f"{file}.js") for file in files),
        isolate_styles=False,  # part of the document, whose style for print and whose keys it shares
    )
    for kind, files in FILES.items()
}


def show(data: JsonObject, act: Callable[[JsonObject], None], kind: str = "hits") -> None:
    """Draw this; `act` is called with an event of the browser: an object whose "event" is a text."""
    written = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
    _drawn[kind](data=written, key=kind, on_told_change=lambda: _tell(kind, act))


def _tell(kind: str, act: Callable[[JsonObject], None]) -> None:
    event = (st.session_state.get(kind) or {}).get("told")
    if isinstance(event, dict) and isinstance(event.get("event"), str):
        act(event)


def text(event: JsonObject, name: str) -> str:
    """A field of an event; "" where it is no text."""
    value = event.get(name)
    return value if isinstance(value, str) else ""


def texts(event: JsonObject, name: str) -> list[str]:
    """A field of an event that is a list of texts; what is no text is left out."""
    value: Any = event.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def split(key: str, names: Sequence[str]) -> tuple[str, int] | None:
    """Index and number of the passage that a key names, where it is one of these indexes.

    >>> split("notes/42", ["notes"]), split("others/42", ["notes"]), split("notes/x", ["notes"])
    (('notes', 42), None, None)
    """
    name, _, number = key.rpartition("/")
    valid = name in names and number.isascii() and number.isdigit() and len(number) <= 18
    return (name, int(number)) if valid else None
