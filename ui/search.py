"""Search: one box, results under it, all of it in the URL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from semsearch import Hit, Index, Query, Results, SemsearchError

from . import context, held, marked, narrow, spreadsheet
from .chips import chip

MODES = ("hybrid", "semantic", "keyword")
GROUPS = ("document", "passage")
URL: Any = "query-params"
COLUMNS = ("rank", "index", "id", "path", "line", "page", "heading", "strength", "score", "cosine", "bm25", "text")


@dataclass(frozen=True, slots=True)
class Found:
    """A hit, the index that it is from, and its rank among all of them."""

    index: str
    hit: Hit
    rank: int
    html: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What every index gave."""

    found: tuple[Found, ...]
    results: dict[str, Results]


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
    query = _pulled(query)
    if not (query.text.strip() or query.more or query.like):
        st.caption(_summary(chosen))
        return
    with held.told():
        _show(query, _answer(query, chosen))


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
    return Query(
        text=text or "", k=int(k), mode=mode or "hybrid", alpha=alpha, group=group or "document", min_strength=least,
        path=path.strip() or None, must=tuple(must.split()), where=where.strip() or None,
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


def _pulled(query: Query) -> Query:
    """The query with the chips under the box."""
    left, right = st.columns(2)
    options: dict[str, Any] = {"accept_new_options": True, "bind": URL, "options": []}
    more = left.multiselect("More like", key="more", placeholder="a text, or #42 of a hit; ^0.5 weighs it", **options)
    less = right.multiselect("Less like", key="less", placeholder="a text, or #42 of a hit; ^0.5 weighs it", **options)
    with held.told():
        told = {"more": [chip(each) for each in more], "less": [chip(each) for each in less]}
        return replace(query, **{name: tuple(map(_pull, each)) for name, each in told.items()})
    return query


def _pull(each: Any) -> tuple[str, float]:
    """A chip as text and weight; a passage's number is its text, wherever it is."""
    if each.passage is None:
        return each.text, each.weight
    for name in held.names():
        try:
            return str(held.index(name).get(each.passage)["text"]), each.weight
        except SemsearchError:
            continue
    raise SemsearchError(f"no index has a passage #{each.passage}.", "Take that chip away.")


def _answer(query: Query, names: Sequence[str]) -> Answer:
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
    ranked = tuple(Found(name, hit, rank, html) for rank, (name, hit, html) in enumerate(found[: query.k], 1))
    return Answer(ranked, results)


def _show(query: Query, answer: Answer) -> None:
    for name, results in answer.results.items():
        for warning in results.warnings:
            st.warning(held.plain(f"{name}: {warning}"), icon=":material/warning:")
    if not answer.found:
        _nothing(query, list(answer.results))
    for each in answer.found:
        _hit(each, several=len(answer.results) > 1)
    _foot(query, answer)


def _hit(each: Found, *, several: bool) -> None:
    hit = each.hit
    with st.container(border=True):
        left, right = st.columns([5, 2], vertical_alignment="center")
        place = f"{hit.path}{f' · line {hit.line}' if hit.line else ''}{f' · page {hit.page}' if hit.page else ''}"
        left.markdown(f"**{each.rank}. {held.plain(_title(hit))}**")
        left.caption(held.plain((f"{each.index} · " if several else "") + place))
        if hit.strength is not None:
            right.progress(min(1.0, max(0.0, hit.strength)), text=f"strength {hit.strength:.2f}")
        right.caption(" · ".join(f"{name} {value:.3f}" for name, value in hit.scores.items()))
        st.html(each.html)
        _more(each)


def _title(hit: Hit) -> str:
    return hit.heading or str(hit.metadata.get("title") or hit.path.rsplit("/", 1)[-1])


def _more(each: Found) -> None:
    """What can be done with a hit."""
    hit, key = each.hit, f"{each.index}/{each.hit.id}"
    row = st.container(horizontal=True, vertical_alignment="center")
    row.button("Open", key=f"open {key}", icon=":material/open_in_full:", type="tertiary",
               on_click=context.ask, args=(each.index, hit), help="The document, with the passage marked.")  # fmt: skip
    for kind, icon in (("more", "add"), ("less", "remove")):
        row.button(f"{kind.capitalize()} like this", key=f"{kind} {key}", icon=f":material/{icon}:", type="tertiary",
                   on_click=_add_chip, args=(kind, hit.id))  # fmt: skip
    told = [f"#{hit.id}"]
    told += [f"{hit.more_in_document} more in this document"] if hit.more_in_document else []
    told += [f"{len(hit.near_copies)} near copies: {', '.join(hit.near_copies[:3])}"] if hit.near_copies else []
    row.caption(held.plain(" · ".join(told)))
    context.show(each.index, hit)


def _add_chip(kind: str, passage: int) -> None:
    chips = list(st.session_state.get(kind, []))
    if f"#{passage}" not in chips:
        st.session_state[kind] = [*chips, f"#{passage}"]


def _nothing(query: Query, names: Sequence[str]) -> None:
    """What to loosen, and what would be nearest then."""
    loosened = {
        "the least strength": replace(query, min_strength=0.0),
        "the filters": replace(query, where=None, path=None),
        "the words that have to be there": replace(query, must=()),
        "all of these": replace(query, min_strength=0.0, where=None, path=None, must=()),
    }
    st.info("Nothing was found.", icon=":material/search_off:")
    for what, other in loosened.items():
        if other == query:
            continue
        best = [hit for name in names for hit in held.index(name).search(replace(other, k=1))]
        if best:
            hit = max(best, key=lambda one: one.strength or 0)
            strength = "" if hit.strength is None else f", strength {hit.strength:.2f}"
            st.markdown(f"Without {what} the nearest would be **{held.plain(hit.path)}**{strength}.")
            return
    st.caption("Try other words, or search by meaning.")


def _foot(query: Query, answer: Answer) -> None:
    took = [results.took_ms for results in answer.results.values()]
    encode, search = (sum(each.get(part, 0.0) for each in took) for part in ("encode", "search"))
    told = (
        f"{len(answer.found)} hits · query encoded in {encode:.1f} ms, searched in {search:.1f} ms · {_devices(answer)}"
    )
    row = st.container(horizontal=True, vertical_alignment="center")
    row.caption(told)
    rows = [record(each) for each in answer.found]
    row.download_button("JSON", json.dumps(rows, ensure_ascii=False, indent=1), "hits.json", "application/json")
    row.download_button("CSV", table(rows), "hits.csv", "text/csv")


def _devices(answer: Answer) -> str:
    """Where the encoders of these indexes compute."""
    spaces = (space for name in answer.results for space in held.index(name).info()["spaces"])
    return ", ".join(dict.fromkeys(str(space["encoder"].get("device", "cpu")) for space in spaces))


def record(each: Found) -> dict[str, Any]:
    """A hit as downloads have it."""
    hit = each.hit
    told = {name: getattr(hit, name) for name in ("id", "path", "line", "page", "heading", "strength", "score", "text")}
    scores = {name: hit.scores.get(name) for name in ("cosine", "bm25")}
    return {"rank": each.rank, "index": each.index, **told, **scores, "metadata": dict(hit.metadata)}


def table(rows: Iterable[dict[str, Any]]) -> str:
    """CSV that a spreadsheet opens without running any cell: what could be a formula is led by an apostrophe."""
    return spreadsheet.table(rows, COLUMNS)


def _summary(names: Sequence[str]) -> str:
    with held.told():
        counts = [held.index(name).info() for name in names]
        documents, passages = (sum(each[part] for each in counts) for part in ("documents", "passages"))
        return f"{documents:,} documents, {passages:,} passages in {held.plain(', '.join(names))}"
    return ""
