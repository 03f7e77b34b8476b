"""The end of a search: filters to loosen where nothing was found, times and device."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from semsearch import Query
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import examples, messages, pool, widgets
from . import filters, hits, results
from .hits import Shown
from .results import Answer

LOOSER: dict[str, tuple[JsonObject, JsonObject]] = {  # fields of the query, and values of its widgets
    "the minimum strength": ({"min_strength": 0.0}, {"min": 0.0}),
    "the filters": ({"where": None, "path": None}, {"where": "", "path": ""}),
    "the required words": ({"must": (), "grep": None}, {"must": "", "grep": ""}),
    "the limit to keywords": ({"mode": "hybrid"}, {"mode": "hybrid"}),
}


def nothing_found(query: Query, names: Sequence[str], warnings: Sequence[str]) -> Shown | None:
    """The condition that excludes every hit, with a button that drops it. Returns the best hit without it."""
    if not any(pool.index(name).info()["documents"] for name in names):
        examples.empty(names)
        return None
    if query.path and not any(pool.index(name).matching(path=query.path) for name in names):
        messages.info(f"No document has a path that matches {query.path}.", *warnings, icon="search_off")
    else:
        messages.info("Nothing was found.", *warnings, icon="search_off")
    fields, values = (dict(ChainMap(*parts)) for parts in zip(*LOOSER.values(), strict=True))
    for what, (looser, reset) in {**LOOSER, "all of these": (fields, values)}.items():
        other = replace(query, **looser)
        if other == query:
            continue
        if loosened := results.search(replace(other, k=1), names).hits:
            row = widgets.row()
            row.markdown(f"Without {what} this would be the best hit:", width="content")
            row.button(f"Search without {what}", icon=":material/filter_alt_off:", on_click=_reset, args=(reset, names))
            return Shown(other, tuple(names), loosened[:1], hits.BEST)
    st.caption("Try other words, or search by meaning." if query.mode == "keyword" else "Try other words.")
    return None


def _reset(values: JsonObject, names: Sequence[str]) -> None:
    st.session_state.update(values)
    if "where" in values:
        filters.clear(names)


def summary(answer: Answer) -> str:
    """Number of hits with the time for all, times and device."""
    times = [_encoding(answer), f"searched in {_took(answer, 'search')}", *_second_reading(answer)]
    hits = f"{count(len(answer.hits), 'hit')} in {_took(answer, 'encode', 'search', 'rerank')}"
    return " · ".join([hits, *times, *_devices(answer)])


def _took(answer: Answer, *parts: str) -> str:
    """The time that these parts took: milliseconds below a second."""
    ms = sum(each.took_ms.get(part, 0.0) for each in answer.results.values() for part in parts)
    return f"{max(1, round(ms))} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def _second_reading(answer: Answer) -> list[str]:
    """The time that the reranker took, and what it read."""
    pairs = sum(each.plan["rerank"]["pairs"] for each in answer.results.values() if "rerank" in each.plan)
    return [f"{count(pairs, 'hit')} read again in {_took(answer, 'rerank')}"] if pairs else []


def _encoding(answer: Answer) -> str:
    """The time that encoding took, if the query was encoded at all."""
    if any(each.plan.get("encoded") for each in answer.results.values()):
        return f"query encoded in {_took(answer, 'encode')}"
    by_meaning = any(each.query.mode != "keyword" for each in answer.results.values())
    return "query encoded in an earlier search, not again" if by_meaning else "nothing encoded in a keyword search"


def _devices(answer: Answer) -> list[str]:
    """The devices of the encoders of these indexes."""
    names = [name for name, each in answer.results.items() if each.query.mode != "keyword"]
    return list(dict.fromkeys(str(pool.index(name).encoder.info.get("device", "cpu")) for name in names))
