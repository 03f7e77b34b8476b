"""Recent and saved searches, each with the query string of its URL: a file in the home of indexes, for its owner alone.

Recent ones are kept until they are removed, or not at all, as the switch there says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from urllib.parse import urlencode

import streamlit as st

from semsearch.types import JsonObject
from semsearch.utils.untrusted import visible

from ..shared import pool
from ..shared.messages import one_line
from . import reader

FILE = ".searches.json"
RECENT, SAVED, REMEMBER = "recent", "saved", "remember"
MOST = {RECENT: 12, SAVED: 100}
LONGEST, LONGEST_URL = 120, 4_000  # letters of a question, and of a query string
_LOCK = Lock()


def data() -> JsonObject:
    """The lists for the page under an empty box."""
    found = _read()
    shown = {
        kind: [{"label": visible(one_line(one["text"], LONGEST)), "url": one["url"]} for one in found[kind]]
        for kind in MOST
    }
    return shown | {REMEMBER: found[REMEMBER]}


def add(kind: str, text: str) -> None:
    """Put the search of the present URL, with this text in the box, at the top of a list."""
    url = urlencode({**_parameters(), "q": text}, doseq=True)
    if not text.strip() or len(url) > LONGEST_URL:
        return
    with _LOCK:
        found = _read()
        if found[kind][:1] == [{"text": text, "url": url}] or (kind == RECENT and not found[REMEMBER]):
            return
        others = [one for one in found[kind] if one["url"] != url]
        _write({**found, kind: [{"text": text, "url": url}, *others][: MOST[kind]]})


def remove(kind: str, url: str) -> None:
    """Take a search off a list; all of them with ""."""
    if kind in MOST:
        with _LOCK:
            found = _read()
            _write({**found, kind: [one for one in found[kind] if url and one["url"] != url]})


def remember(on: bool) -> None:
    """Keep recent searches from now on, or none, with those that are there."""
    with _LOCK:
        found = _read()
        _write({**found, REMEMBER: on, RECENT: found[RECENT] if on else []})


def _parameters() -> Mapping[str, list[str]]:
    return {name: st.query_params.get_all(name) for name in st.query_params if name != reader.OPEN}


def _file() -> Path:
    return pool.home() / FILE


def _read() -> JsonObject:
    """The file, as far as it is sound."""
    found: object = None
    with suppress(OSError, ValueError):
        found = json.loads(_file().read_text(encoding="utf-8"))
    known = found if isinstance(found, dict) else {}
    return {kind: _sound(known.get(kind)) for kind in MOST} | {REMEMBER: known.get(REMEMBER) is not False}


def _sound(rows: object) -> list[dict[str, str]]:
    listed = rows if isinstance(rows, list) else []
    kept = [one for one in listed if isinstance(one, dict)]
    return [
        {"text": one["text"], "url": one["url"]}
        for one in kept
        if isinstance(one.get("text"), str) and isinstance(one.get("url"), str)
    ]


def _write(content: JsonObject) -> None:
    """Replace the file; a disk that takes none costs the lists, not the search."""
    with suppress(OSError):
        made = _file().with_name(f"{FILE}.{os.getpid()}")
        made.touch(0o600)  # before anything is in it
        made.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        made.replace(_file())
