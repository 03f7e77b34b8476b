"""Map: the passages of an index in two dimensions, what lies together, and what nearly agrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from . import held, later, marked, search, space_chart, space_points
from .clusters import PAIRS, Floats
from .space_points import CLUSTER, OTHERS, Colours, Points

URL: Any = "query-params"
LISTED = 25  # passages under the map at a time
LEAST = 3  # points: with fewer there is nothing to see


def page() -> None:
    """The page."""
    st.title("Map")
    names = held.names()
    if not names:
        st.info("There is no index yet. Make one on the page Indexes & models.", icon=":material/info:")
        return
    first, second, third, fourth = st.columns(4)
    name = first.selectbox("Index", names, key="index", bind=URL) or names[0]
    with held.told():
        given = space_points.points(held.index(name))
        if len(given) < LEAST:
            st.info(_too_few(len(given)), icon=":material/info:")
            return
        layout = second.segmented_control(
            "Layout", ("PCA", "UMAP"), default="PCA", required=True, key="layout", bind=URL,
            help="PCA: at once, and distances mean something. UMAP: shows neighbourhoods better, takes a while.",
        )  # fmt: skip
        way = third.selectbox("Coloured by", space_points.ways(given), key="by", bind=URL) or CLUSTER
        k = int(fourth.slider("Clusters", 2, space_points.GROUPS, 8, key="clusters", bind=URL)) if way == CLUSTER else 0
        placed, told = _placed(given, layout == "UMAP")
        colours = space_points.colours(given, way, k)
        _map(name, given, placed, colours, told)
        _near(name, given)


def _too_few(count: int) -> str:
    if not count:
        return "This index holds no passage yet. Add documents on the page Documents."
    return "A map needs three passages or more. Add documents on the page Documents."


def _placed(given: Points, umap: bool) -> tuple[Floats, str]:
    """Where the points lie, and a sentence about it; by PCA as long as UMAP is not there."""
    placed, share = space_points.pca(given)
    told = f"the two axes (PCA) hold {share:.0%} of all differences"
    if not umap:
        return placed, told
    if not space_points.has_umap():
        st.info("UMAP is not installed here: this is PCA. To have it: pip install umap-learn, then start semsearch ui "
                "again.", icon=":material/info:")  # fmt: skip
        return placed, told
    with held.told():
        found = later.result(*space_points.umap(given), "UMAP is being computed; until then this is PCA.")
        if found is not None:
            return found, "neighbours (UMAP) lie together, long distances mean little"
    return placed, told


def _map(name: str, given: Points, placed: Floats, colours: Colours, told: str) -> None:
    """The chart, and under it what is chosen there."""
    total = given.sample.total
    counted = f"{len(given):,} passages"
    if total > len(given):
        counted = f"A fixed sample of {len(given):,} of {total:,} passages: more would make the map slow"
    st.caption(
        f"{counted}; {told}. Click a point, with Shift several, or draw a box: what is chosen is listed below. "
        "Alt and the wheel zoom, Alt and the pointer move."
    )
    key = f"map {given.key} {colours.title} {len(colours.names)} {told[:9]}"
    event: Any = st.altair_chart(
        space_chart.chart(given, placed, colours), key=key, on_select="rerun", selection_mode=("point", "box"),
        alt="Each point is a passage; passages that mean the like lie together.",
    )  # fmt: skip
    rows = space_chart.chosen(given, placed, event["selection"])
    group = _group(colours)
    if rows:
        st.subheader("Chosen on the map")
        _list(name, given, rows, "chosen")
    elif group is not None and colours.codes is not None:
        _list(name, given, _central(given, np.flatnonzero(colours.codes == group)), "group")


def _group(colours: Colours) -> int | None:
    """The group whose passages a person wants to read."""
    if colours.codes is None:
        return None
    sizes = np.bincount(colours.codes[colours.codes >= 0], minlength=len(colours.names)).tolist()
    label = {at: f"{name} ({size:,})" for at, (name, size) in enumerate(zip(colours.names, sizes, strict=True))}
    if others := int((colours.codes < 0).sum()):
        label[-1] = f"{OTHERS} ({others:,})"
    found = st.selectbox(
        f"Passages of a {'cluster' if colours.title == CLUSTER else 'group'}", list(label.values()), index=None,
        key="group", bind=URL, placeholder="Choose one to read what is in it",
    )  # fmt: skip
    return next((at for at, told in label.items() if told == found), None)


def _central(given: Points, rows: Any) -> list[int]:
    """These rows, those nearest to their middle first."""
    vectors = given.sample.vectors[rows]
    return [int(row) for row in rows[np.argsort(-(vectors @ vectors.mean(axis=0)), kind="stable")]]


def _list(name: str, given: Points, rows: Sequence[int], key: str) -> None:
    """Passages, each with a way to search for what is like it."""
    at = 1
    pages = -(-len(rows) // LISTED)
    if pages > 1:
        at = int(st.number_input(f"Page, of {pages:,}", 1, pages, 1, key=f"page {key}", width=160))
    st.caption(f"{len(rows):,} passage{'s' if len(rows) > 1 else ''}")
    for row in rows[(at - 1) * LISTED : at * LISTED]:
        _passage(name, given, row)


def _passage(name: str, given: Points, row: int) -> None:
    passage, text = int(given.sample.ids[row]), given.sample.texts[row]
    with st.container(border=True):
        left, right = st.columns([4, 1], vertical_alignment="center")
        left.caption(held.plain(f"{given.sample.documents[row]} · #{passage}"))
        asked = {"more": f"#{passage}"} | ({"n": name} if len(held.names()) > 1 else {})
        found = st.Page(search.page, title="Search", default=True)
        right.page_link(found, label="Search like this", icon=":material/search:", query_params=asked)
        cut = " …" if len(text) >= space_points.LETTERS else ""
        st.html(marked.passage(text + cut, (0, 0), (), whole=True))


def _near(name: str, given: Points) -> None:
    """Passages of different documents that nearly agree, where a person asks for them."""
    st.subheader("Near-duplicates")
    wanted = st.toggle(
        "Look for passages of different documents with a cosine above 0.95", key="near", bind=URL,
        help=f"Compares each of the {len(given):,} points with all others, in the background.",
    )  # fmt: skip
    if not wanted:
        return
    answer = later.result(*space_points.near(given), "Points are being compared …")
    if answer is None:
        return
    pairs, more = answer
    if not pairs:
        st.caption("None: no two documents of this map share a passage.")
        return
    counted = f"The {PAIRS} closest pairs of many" if more else f"{len(pairs)} pair{'s' if len(pairs) > 1 else ''}"
    st.caption(f"{counted}, the closest first. Tick one to read both.")
    sample = given.sample
    table = [
        {"cosine": round(cosine, 4), "first": sample.documents[one], "second": sample.documents[other],
         "text": " ".join(sample.texts[one].split())[:160]}
        for one, other, cosine in pairs
    ]  # fmt: skip
    event: Any = st.dataframe(table, hide_index=True, key=f"pairs {given.key}", on_select="rerun",
                              selection_mode="single-row")  # fmt: skip
    for row in event["selection"]["rows"][:1]:
        for one in pairs[row][:2]:
            _passage(name, given, one)
