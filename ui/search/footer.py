"""Under the hits: what to loosen where there are none, the times and the device, downloads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from semsearch import Query

from ..shared import csv_export, pool
from . import filter_panel, hits
from . import results as answering
from .results import Answer, Found

COLUMNS = (
    "rank", "index", "id", "title", "document", "path", "line", "page", "heading", "strength", "score", "cosine",
    "bm25", "text",
)  # fmt: skip


def nothing(query: Query, names: Sequence[str]) -> None:
    """What to loosen, with a button that does it, and what would be nearest then."""
    if not any(pool.index(name).info()["documents"] for name in names):
        st.info("There is no document in here yet. Add some on the page Documents.", icon=":material/info:")
        return
    st.info("Nothing was found.", icon=":material/search_off:")
    for what, (other, loosen) in _looser(query, names).items():
        if other == query:
            continue
        nearest = _nearest(other, names)
        if nearest:
            row = st.container(horizontal=True, vertical_alignment="center")
            row.markdown(f"Without {what} the nearest would be this:", width="content")
            row.button(f"Search without {what}", icon=":material/filter_alt_off:", on_click=loosen)
            hits.card(nearest, other, several=len(names) > 1, lead="Nearest:")
            return
    st.caption("Try other words, or search by meaning.")


def _looser(query: Query, names: Sequence[str]) -> dict[str, tuple[Query, Callable[[], None]]]:
    """What can be left out: the query without it, and what takes it out of the controls."""

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
        for each in (strength, filters, words, mode):
            each()

    hybrid = replace(query, mode="hybrid")
    return {
        "the least strength": (replace(query, min_strength=0.0), strength),
        "the filters": (replace(query, where=None, path=None), filters),
        "the words that have to be there": (replace(query, must=()), words),
        "keeping to the words": (hybrid, mode),
        "all of these": (replace(hybrid, min_strength=0.0, where=None, path=None, must=()), everything),
    }


def _nearest(query: Query, names: Sequence[str]) -> Found | None:
    found = answering.asked(replace(query, k=1), names).found
    return found[0] if found else None


def foot(answer: Answer) -> None:
    """How many hits, how long it took and where; the hits as files."""
    many = len(answer.found)
    told = [f"{many} hit{'' if many == 1 else 's'}", _encoded(answer), f"searched in {_took(answer, 'search'):.1f} ms"]
    row = st.container(horizontal=True, vertical_alignment="center")
    row.caption(" · ".join([*told, *_devices(answer)]))
    rows = [record(each) for each in answer.found]
    row.download_button("JSON", json.dumps(rows, ensure_ascii=False, indent=1), "hits.json", "application/json")
    row.download_button("CSV", table(rows), "hits.csv", "text/csv")


def _took(answer: Answer, part: str) -> float:
    return sum(results.took_ms.get(part, 0.0) for results in answer.results.values())


def _encoded(answer: Answer) -> str:
    """How long that took, if the encoder was asked at all."""
    if any(results.plan.get("encoded") for results in answer.results.values()):
        return f"query encoded in {_took(answer, 'encode'):.1f} ms"
    by_meaning = any(results.query.mode != "keyword" for results in answer.results.values())
    return "query encoded in an earlier search, not again" if by_meaning else "nothing encoded in a search by words"


def _devices(answer: Answer) -> list[str]:
    """Where the encoders of these indexes compute."""
    asked = [name for name, results in answer.results.items() if results.query.mode != "keyword"]
    return list(dict.fromkeys(str(getattr(pool.index(name).encoder, "device", "cpu")) for name in asked))


def record(each: Found) -> dict[str, Any]:
    """A hit as downloads have it."""
    hit = each.hit
    named = ("id", "document", "path", "line", "page", "heading", "strength", "score", "text")
    told = {name: getattr(hit, name) for name in named}
    scores = {name: hit.scores.get(name) for name in ("cosine", "bm25")}
    metadata = dict(hit.metadata)
    return {"rank": each.rank, "index": each.index, "title": each.title, **told, **scores, "metadata": metadata}


def table(rows: Iterable[dict[str, Any]]) -> str:
    """CSV that a spreadsheet opens without running any cell: what could be a formula is led by an apostrophe."""
    return csv_export.table(rows, COLUMNS)
