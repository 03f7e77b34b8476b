"""The end of a search: filters to loosen where nothing was found, times and device, downloads."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from semsearch import Query

from ..shared import messages, pool, tables, widgets
from ..shared.format import count
from ..shared.types import JsonObject
from . import filter_panel, hits, results
from .results import Answer, Found

FIELDS = ("id", "document", "path", "line", "page", "heading", "strength", "score", "text")
COLUMNS = ("rank", "index", "id", "title", *FIELDS[1:8], "cosine", "bm25", "text")


def nothing_found(query: Query, names: Sequence[str]) -> None:
    """The condition that is in the way, with a button that drops it, and the best hit without it."""
    if not any(pool.index(name).info()["documents"] for name in names):
        messages.info("There is no document in here yet. Add some on the page Documents.")
        return
    messages.info("Nothing was found.", icon="search_off")
    for what, (other, drop) in _looser(query, names).items():
        if other == query:
            continue
        if found := results.search(replace(other, k=1), names).found:
            row = widgets.row()
            row.markdown(f"Without {what} this would be the best hit:", width="content")
            row.button(f"Search without {what}", icon=":material/filter_alt_off:", on_click=drop)
            hits.card(found[0], other, several=len(names) > 1, lead="Best:")
            return
    st.caption("Try other words, or search by meaning.")


def _looser(query: Query, names: Sequence[str]) -> dict[str, tuple[Query, Callable[[], None]]]:
    """What can be left out: the query without it, and what resets its widgets."""

    def strength() -> None:
        st.session_state["min"] = 0.0

    def filters() -> None:
        st.session_state["where"] = st.session_state["path"] = ""
        filter_panel.clear(names)

    def words() -> None:
        st.session_state["must"] = ""

    def mode() -> None:
        st.session_state["mode"] = "hybrid"

    def everything() -> None:
        for reset in (strength, filters, words, mode):
            reset()

    hybrid = replace(query, mode="hybrid")
    return {
        "the minimum strength": (replace(query, min_strength=0.0), strength),
        "the filters": (replace(query, where=None, path=None), filters),
        "the required words": (replace(query, must=()), words),
        "the limit to keywords": (hybrid, mode),
        "all of these": (replace(hybrid, min_strength=0.0, where=None, path=None, must=()), everything),
    }


def show(answer: Answer) -> None:
    """Number of hits, times and device; the hits as files."""
    hit_count, took = count(len(answer.found), "hit"), _took(answer, "search")
    row = widgets.row()
    row.caption(" · ".join([hit_count, _encoding(answer), f"searched in {took:.1f} ms", *_devices(answer)]))
    rows = [record(each) for each in answer.found]
    row.download_button("JSON", json.dumps(rows, ensure_ascii=False, indent=1), "hits.json", "application/json")
    row.download_button("CSV", tables.to_csv(rows, COLUMNS), "hits.csv", "text/csv")


def _took(answer: Answer, part: str) -> float:
    return sum(each.took_ms.get(part, 0.0) for each in answer.results.values())


def _encoding(answer: Answer) -> str:
    """How long encoding took, if the query was encoded at all."""
    if any(each.plan.get("encoded") for each in answer.results.values()):
        return f"query encoded in {_took(answer, 'encode'):.1f} ms"
    by_meaning = any(each.query.mode != "keyword" for each in answer.results.values())
    return "query encoded in an earlier search, not again" if by_meaning else "nothing encoded in a keyword search"


def _devices(answer: Answer) -> list[str]:
    """Where the encoders of these indexes compute."""
    names = [name for name, each in answer.results.items() if each.query.mode != "keyword"]
    return list(dict.fromkeys(str(getattr(pool.index(name).encoder, "device", "cpu")) for name in names))


def record(each: Found) -> JsonObject:
    """A hit as downloads have it."""
    hit = each.hit
    fields = {name: getattr(hit, name) for name in FIELDS}
    scores = {name: hit.scores.get(name) for name in ("cosine", "bm25")}
    place = {"rank": each.rank, "index": each.index, "title": each.title}
    return {**place, **fields, **scores, "metadata": dict(hit.metadata)}
