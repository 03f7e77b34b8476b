"""Recent and saved searches, each with the query string of its URL.

Recent ones are kept until they are removed, or not at all, as the switch there says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs, urlencode

import streamlit as st

from semsearch import admin
from semsearch.types import JsonObject
from semsearch.utils.untrusted import visible

from ..shared import index_picker
from ..shared.messages import one_line
from . import reader, remembered

RECENT, SAVED = "recent", "saved"
MOST = {RECENT: 12, SAVED: 100}
PLAIN = {"q", index_picker.KEY, "k"}  # parameters that restrict nothing
LONGEST, LONGEST_URL = 120, 4_000  # letters of a question, and of a query string


def data(names: Sequence[str]) -> JsonObject:
    """The lists for the page under an empty box: the searches of these indexes, each with what restricts it."""
    searches, existing = _sound(remembered.read()), admin.names()
    shown = {kind: [_row(one, existing) for one in searches[kind] if _is_of(one, names)] for kind in MOST}
    return shown | {"remember": remembered.on(), "switch": remembered.LABEL}


def _row(one: Mapping[str, str], existing: list[str]) -> JsonObject:
    url = {index_picker.KEY: existing, **parse_qs(one["url"]), "k": []}
    restricted = [f"{name.split('.', 1)[-1]}: {', '.join(url[name])}" for name in url.keys() - PLAIN]
    label, more = one.get("name") or one["text"], [*([one["text"]] if one.get("name") else []), *sorted(restricted)]
    return {
        "label": visible(one_line(label, LONGEST)),
        "more": visible(one_line(" · ".join(more), LONGEST)),
        "url": one["url"],
        "same": urlencode(sorted(url.items()), doseq=True),
    }


def _is_of(one: Mapping[str, str], names: Sequence[str]) -> bool:
    """Whether a search was in one of these indexes; one without any was in all."""
    named = parse_qs(one["url"]).get(index_picker.KEY, [])
    return not named or not set(names).isdisjoint(named)


def add(kind: str, text: str, name: str = "") -> None:
    """Put the search of the present URL, with this text in the box, at the top of a list, if wanted under a name.

    The beginning of the text, which was searched for while it was typed, is no search of its own.
    """
    url = _url(text)
    if not text.strip() or len(url) > LONGEST_URL or (kind == RECENT and not remembered.on()):
        return

    def added(content: JsonObject) -> JsonObject:
        searches = _sound(content)
        others = [one for one in searches[kind] if one["url"] != url]
        if kind == RECENT and others and text.startswith(others[0]["text"]):
            others = others[others[0]["url"] == _url(others[0]["text"]) :]
        new = {"text": text, "url": url, **({"name": name.strip()[:LONGEST]} if name.strip() else {})}
        return {**searches, kind: [new, *others][: MOST[kind]]}

    remembered.change(added)


def remove(kind: str, url: str) -> None:
    """Take a search off a list; all of them with ""."""
    if kind not in MOST:
        return

    def removed(content: JsonObject) -> JsonObject:
        searches = _sound(content)
        return {**searches, kind: [one for one in searches[kind] if url and one["url"] != url]}

    remembered.change(removed)


def _url(text: str) -> str:
    """The present URL with this text in the box, whatever the order in which its parameters were set."""
    named = {name: st.query_params.get_all(name) for name in st.query_params if name != reader.OPEN}
    return urlencode(sorted({**named, "q": [text]}.items()), doseq=True)


def _sound(content: JsonObject) -> JsonObject:
    """The content of the file, with the lists as far as they are sound."""
    return content | {kind: _searches(content.get(kind)) for kind in MOST}


def _searches(rows: object) -> list[dict[str, str]]:
    listed = rows if isinstance(rows, list) else []
    texts = [
        {name: one[name] for name in ("text", "url", "name") if isinstance(one.get(name), str)}
        for one in listed
        if isinstance(one, dict)
    ]
    return [one for one in texts if {"text", "url"} <= one.keys()]
