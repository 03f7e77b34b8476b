"""The end of a search: filters to loosen where nothing was found, times and device, downloads."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from semsearch import Query
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import messages, pool, tables, widgets
from . import filters, hits, results
from .results import Answer, Found

FIELDS = ("id", "document", "path", "line", "page", "heading", "strength", "score", "rerank", "text")
COLUMNS = ("rank", "index", "id", "title", *FIELDS[1:8], "cosine", "bm25", "rerank", "text")

LOOSER: dict[str, tuple[JsonObject, JsonObject]] = {  # fields of the query, and values of its widgets
    "the minimum strength": ({"min_strength": 0.0}, {"min": 0.0}),
    "the filters": ({"where": None, "path": None}, {"where": "", "path": ""}),
    "the required words": ({"must": ()}, {"must": ""}),
    "the limit to keywords": ({"mode": "hybrid"}, {"mode": "hybrid"}),
}


def nothing_found(query: Query, names: Sequence[str]) -> None:
    """The condition that excludes every hit, a button that drops it, and the best hit without it."""
    if not any(pool.index(name).info()["documents"] for name in names):
        messages.info("There is no document in here yet. Add some on the page Documents.")
        return
    messages.info("Nothing was found.", icon="search_off")
    fields, values = (dict(ChainMap(*parts)) for parts in zip(*LOOSER.values(), strict=True))
    for what, (looser, reset) in {**LOOSER, "all of these": (fields, values)}.items():
        other = replace(query, **looser)
        if other == query:
            continue
        if found := results.search(replace(other, k=1), names).found:
            row = widgets.row()
            row.markdown(f"Without {what} this would be the best hit:", width="content")
            row.button(f"Search without {what}", icon=":material/filter_alt_off:", on_click=_reset, args=(reset, names))
            hits.card(found[0], other, "Best:", several=len(names) > 1)
            return
    st.caption("Try other words, or search by meaning.")


def _reset(values: JsonObject, names: Sequence[str]) -> None:
    st.session_state.update(values)
    if "where" in values:
        filters.clear(names)


def show(answer: Answer) -> None:
    """Number of hits, times and device; the hits as files."""
    hit_count, took = count(len(answer.found), "hit"), _took(answer, "search")
    row = widgets.row()
    times = [_encoding(answer), f"searched in {took:.1f} ms", *_second_reading(answer)]
    row.caption(" · ".join([hit_count, *times, *_devices(answer)]))
    rows = [record(rank, each) for rank, each in enumerate(answer.found, 1)]
    tables.downloads("hits", rows, rows, COLUMNS, row)


def _took(answer: Answer, part: str) -> float:
    return sum(each.took_ms.get(part, 0.0) for each in answer.results.values())


def _second_reading(answer: Answer) -> list[str]:
    """The time that the reranker took, and what it read."""
    pairs = sum(each.plan["rerank"]["pairs"] for each in answer.results.values() if "rerank" in each.plan)
    return [f"{count(pairs, 'hit')} read again in {_took(answer, 'rerank'):.1f} ms"] if pairs else []


def _encoding(answer: Answer) -> str:
    """The time that encoding took, if the query was encoded at all."""
    if any(each.plan.get("encoded") for each in answer.results.values()):
        return f"query encoded in {_took(answer, 'encode'):.1f} ms"
    by_meaning = any(each.query.mode != "keyword" for each in answer.results.values())
    return "query encoded in an earlier search, not again" if by_meaning else "nothing encoded in a keyword search"


def _devices(answer: Answer) -> list[str]:
    """The devices of the encoders of these indexes."""
    names = [name for name, each in answer.results.items() if each.query.mode != "keyword"]
    return list(dict.fromkeys(str(pool.index(name).encoder.info.get("device", "cpu")) for name in names))


def record(rank: int, each: Found) -> JsonObject:
    """A hit as a record of a download."""
    fields = {name: getattr(each.hit, name) for name in FIELDS}
    scores = {name: each.hit.scores.get(name) for name in ("cosine", "bm25")}
    place = {"rank": rank, "index": each.index, "title": each.title}
    return {**place, **fields, **scores, "metadata": dict(each.hit.metadata)}
