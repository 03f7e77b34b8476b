"""Search: one box, results under it, all of it in the URL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from semsearch import Hit, Index, Query, SemsearchError

from . import held, hits, marked, narrow
from .chips import Chip, chip

MODES = ("hybrid", "semantic", "keyword")
GROUPS = ("document", "passage")
URL: Any = "query-params"


def page() -> None:
    """The page."""
    st.title("Search")
    names = held.names()
    if not names:
        _no_index()
        return
    text = st.text_input(
        "What are you looking for?", key="q", bind=URL, placeholder="Ask in your own words, then press Enter",
        label_visibility="collapsed", icon=":material/search:",
    )  # fmt: skip
    with st.sidebar:
        chosen = _indexes(names)
        query = _options(text)
        query = replace(query, where=_filters(chosen, query.where))
    query = _pulled(query, chosen)
    if not (query.text.strip() or query.more or query.like):
        st.caption(_summary(chosen))
        return
    with held.told():
        hits.show(query, _answer(query, chosen))


def _no_index() -> None:
    st.info("There is no index yet. Make one from a folder of yours, then reload this page:", icon=":material/info:")
    st.code("semsearch index ~/notes", language="sh")


def _indexes(names: Sequence[str]) -> list[str]:
    if len(names) == 1:
        return list(names)
    chosen = st.multiselect("Indexes", names, key="n", bind=URL, placeholder="All of them", default=[])
    return chosen or list(names)


def _options(text: str) -> Query:
    """What the controls at the side say."""
    mode = st.segmented_control(
        "Search by", MODES, default="hybrid", required=True, key="mode", bind=URL,
        help="semantic: by meaning. keyword: by the words themselves. hybrid: by both.",
    )  # fmt: skip
    alpha = None
    if mode == "hybrid" and st.toggle(
        "Weigh meaning against words", key="weigh", bind=URL,
        help="Off: the two rankings are fused by rank. On: a weighted sum of their scores.",
    ):  # fmt: skip
        alpha = st.slider("Words ↔ meaning", 0.0, 1.0, 0.5, 0.05, key="alpha", bind=URL)
    k = st.number_input("Hits", 1, 200, 10, key="k", bind=URL)
    group = st.segmented_control("Show", GROUPS, default="document", required=True, key="group", bind=URL)
    least = st.slider(
        "Least strength", 0.0, 1.0, 0.0, 0.05, key="min", bind=URL,
        help="How far a hit stands above texts that have nothing to do with each other: 0.5 is where chance ends.",
    )  # fmt: skip
    path = st.text_input("Paths", key="path", bind=URL, placeholder="notes/**/*.md")
    must = st.text_input("Words that have to be there", key="must", bind=URL, placeholder="battery")
    where = st.text_input("Filter", key="where", bind=URL, placeholder="year > 2020 and lang = 'en'")
    chosen: dict[str, Any] = {"mode": mode, "group": group}  # of MODES and GROUPS: `required` leaves none unchosen
    return Query(
        text=text or "", k=int(k), alpha=alpha, min_strength=least, path=path.strip() or None,
        must=tuple(must.split()), where=where.strip() or None, **chosen,
    )  # fmt: skip


def _filters(names: Sequence[str], where: str | None) -> str | None:
    """What is written in the box, and what is chosen below it."""
    conditions = [where or ""]
    with held.told():
        found = narrow.facets(document for name in names for document in _documents(held.index(name)))
        if found:
            st.caption("Kept about the documents")
        conditions += [narrow.condition(facet, _chosen(facet)) for facet in found]
    return narrow.joined(conditions)


def _chosen(facet: narrow.Facet) -> Any:
    key, label = f"f.{facet.key}", held.plain(facet.key)
    if not facet.bounds:
        return st.multiselect(label, [value for value, _ in facet.values], key=key, bind=URL)
    low, high = (int(one) if facet.whole else float(one) for one in facet.bounds)
    return st.slider(label, low, high, (low, high), key=key, bind=URL)


def _documents(index: Index) -> list[dict[str, Any]]:
    return _listed(str(index.path), index.version, index)


@st.cache_data(max_entries=16, show_spinner=False)
def _listed(path: str, version: int, _index: Index) -> list[dict[str, Any]]:
    return _index.documents()


def _pulled(query: Query, names: Sequence[str]) -> Query:
    """The query with the chips under the box."""
    left, right = st.columns(2)
    options: dict[str, Any] = {"accept_new_options": True, "bind": URL, "options": []}
    more = left.multiselect("More like", key="more", placeholder="a text, or #42 of a hit; ^0.5 weighs it", **options)
    less = right.multiselect("Less like", key="less", placeholder="a text, or #42 of a hit; ^0.5 weighs it", **options)
    with held.told():
        pulls, pushes = (tuple(_pull(chip(each), names) for each in chips) for chips in (more, less))
        return replace(query, more=pulls, less=pushes)
    return query


def _pull(each: Chip, names: Sequence[str]) -> tuple[str, float]:
    """A chip as text and weight; a passage's is its text, in the index that it names or in the first that has it."""
    if each.passage is None:
        return each.text, each.weight
    for name in [each.index] if each.index else names:
        try:
            return str(held.index(name).get(each.passage)["text"]), each.weight
        except SemsearchError:
            continue
    where = held.plain(each.index or ", ".join(names))
    raise SemsearchError(f"there is no passage #{each.passage} in {where}.", "Take that chip away.")


def _answer(query: Query, names: Sequence[str]) -> hits.Answer:
    """The hits of all indexes together, the strongest first: strength alone can be compared between encoders."""
    results = {}
    found: list[tuple[str, Hit, str]] = []
    for name in names:
        index = held.index(name)
        results[name] = index.search(query)
        shown = zip(results[name], index.snippets(results[name]), strict=True)
        found += [(name, hit, marked.passage(hit.text, (at.start, at.end), at.words)) for hit, at in shown]
    if len(names) > 1:
        found.sort(key=lambda one: (-(one[1].strength or 0), one[1].rank))
    ranked = tuple(
        hits.Found(name, hit, rank, html, f"#{name}/{hit.id}" if len(names) > 1 else f"#{hit.id}")
        for rank, (name, hit, html) in enumerate(found[: query.k], 1)
    )
    return hits.Answer(ranked, results)


def _summary(names: Sequence[str]) -> str:
    with held.told():
        counts = [held.index(name).info() for name in names]
        documents, passages = (sum(each[part] for each in counts) for part in ("documents", "passages"))
        return f"{documents:,} documents, {passages:,} passages in {held.plain(', '.join(names))}"
    return ""
