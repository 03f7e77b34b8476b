"""Recent and saved searches, each with the query string of its URL.

Recent ones are kept until they are removed, or not at all, as the switch there says.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st

from semsearch.types import JsonObject
from semsearch.utils.untrusted import visible

from ..shared import remembered
from ..shared.messages import one_line
from . import reader

RECENT, SAVED = "recent", "saved"
MOST = {RECENT: 12, SAVED: 100}
LONGEST, LONGEST_URL = 120, 4_000  # letters of a question, and of a query string


def data() -> JsonObject:
    """The lists for the page under an empty box."""
    searches = _sound(remembered.read(remembered.SEARCHES))
    shown = {
        kind: [{"label": visible(one_line(one["text"], LONGEST)), "url": one["url"]} for one in searches[kind]]
        for kind in MOST
    }
    return shown | {"remember": remembered.on(), "switch": remembered.LABEL}


def add(kind: str, text: str) -> None:
    """Put the search of the present URL, with this text in the box, at the top of a list."""
    url = urlencode({**_parameters(), "q": text}, doseq=True)
    if not text.strip() or len(url) > LONGEST_URL or (kind == RECENT and not remembered.on()):
        return

    def added(content: JsonObject) -> JsonObject:
        searches = _sound(content)
        others = [one for one in searches[kind] if one["url"] != url]
        return {**searches, kind: [{"text": text, "url": url}, *others][: MOST[kind]]}

    remembered.change(remembered.SEARCHES, added)


def remove(kind: str, url: str) -> None:
    """Take a search off a list; all of them with ""."""
    if kind not in MOST:
        return

    def removed(content: JsonObject) -> JsonObject:
        searches = _sound(content)
        return {**searches, kind: [one for one in searches[kind] if url and one["url"] != url]}

    remembered.change(remembered.SEARCHES, removed)


def _parameters() -> Mapping[str, list[str]]:
    return {name: st.query_params.get_all(name) for name in st.query_params if name != reader.OPEN}


def _sound(content: JsonObject) -> JsonObject:
    """The content of the file, with the lists as far as they are sound."""
    return content | {kind: _searches(content.get(kind)) for kind in MOST}


def _searches(rows: object) -> list[dict[str, str]]:
    listed = rows if isinstance(rows, list) else []
    kept = [one for one in listed if isinstance(one, dict)]
    return [
        {"text": one["text"], "url": one["url"]}
        for one in kept
        if isinstance(one.get("text"), str) and isinstance(one.get("url"), str)
    ]
