"""Search: one box, results under it, all of it in the URL."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from semsearch import Index, Query, SemsearchError

from ..shared import index_picker, pool
from ..shared.urls import URL
from . import document_view, filter_panel, footer, hits, results
from .chips import Chip, chip

MODES = ("hybrid", "semantic", "keyword")
GROUPS = ("document", "passage")
# The box has the cursor as soon as it is there, and again for a slash that is typed elsewhere: fixed text, no data.
KEYS = """<script>
const box = () => document.querySelector("input[aria-label='What are you looking for?']");
const free = () => !document.activeElement || document.activeElement === document.body;
let tries = 0;
const first = () => { if (box()) { if (free()) box().focus(); } else if (tries++ < 40) setTimeout(first, 50); };
first();
if (!window.slashFinds) window.slashFinds = document.addEventListener("keydown", event => {
  const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
  if (event.key === "/" && !writing && box()) { event.preventDefault(); box().focus(); box().select(); }
}) || true;
</script>"""


def page() -> None:
    """The page."""
    st.title("Search")
    st.html(KEYS, unsafe_allow_javascript=True)
    names = pool.names()
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
        query = replace(query, where=filter_panel.controls(chosen, query.where))
    query = _pulled(query, chosen)
    if not (query.text.strip() or query.more or query.like):
        st.caption(_summary(chosen))
        return
    with pool.told():
        answer = results.answer(query, chosen)
        hits.show(query, answer)
        if not answer.found:
            footer.nothing(query, chosen)
        footer.foot(answer)
        document_view.draw()


def _no_index() -> None:
    st.info("There is no index yet. Make one on the page Indexes & models, and add your documents on the page "
            "Documents. Or type, in a terminal:", icon=":material/info:")  # fmt: skip
    st.code(f"semsearch --home {shlex.quote(str(Index.folder('x').parent.absolute()))} index ~/notes", language="sh")


def _indexes(names: Sequence[str]) -> list[str]:
    index_picker.told_of("n", names)
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


def _pulled(query: Query, names: Sequence[str]) -> Query:
    """The query with the chips under the box."""
    left, right = st.columns(2)
    options: dict[str, Any] = {"accept_new_options": True, "bind": URL, "options": []}
    more = left.multiselect("More like", key="more", placeholder="a text, or #42 of a hit; ^0.5 weighs it", **options)
    less = right.multiselect("Less like", key="less", placeholder="a text, or #42 of a hit; ^0.5 weighs it", **options)
    with pool.told():
        pulls, pushes = (tuple(_pull(chip(each), names) for each in chips) for chips in (more, less))
        return replace(query, more=pulls, less=pushes)
    return query


def _pull(each: Chip, names: Sequence[str]) -> tuple[str, float]:
    """A chip as text and weight; a passage's is its text, in the index that it names or in the first that has it."""
    if each.passage is None:
        return each.text, each.weight
    for name in [each.index] if each.index else names:
        try:
            return str(pool.index(name).get(each.passage)["text"]), each.weight
        except SemsearchError:
            continue
    where = pool.plain(each.index or ", ".join(names))
    raise SemsearchError(f"there is no passage #{each.passage} in {where}.", "Take that chip away.")


def _summary(names: Sequence[str]) -> str:
    with pool.told():
        counts = [pool.index(name).info() for name in names]
        documents, passages = (sum(each[part] for each in counts) for part in ("documents", "passages"))
        return f"{documents:,} documents, {passages:,} passages in {pool.plain(', '.join(names))}"
    return ""
