"""Map: the passages of an index in two dimensions, what lies together, and what nearly agrees."""

from __future__ import annotations

from typing import Any

import streamlit as st

from semsearch import Index

from ..shared import background, index_picker, pool
from ..shared.urls import URL
from . import canvas, listing, points, projection, selection
from .clusters import Floats
from .points import CLUSTER, Points
from .selection import Chosen

LEAST = 3  # points: with fewer there is nothing to see
UMAP_WAITS = (
    "UMAP is being computed; until then this is PCA. On one core 3,000 passages take 40 seconds, 10,000 a few minutes."
)


def page() -> None:
    """The page."""
    st.title("Map")
    names = pool.names()
    if not names:
        st.info("There is no index yet. Make one on the page Indexes & models.", icon=":material/info:")
        return
    row = st.container(horizontal=True, vertical_alignment="top")
    name = index_picker.index(names, row, on_change=_forget, args=selection.ALL, width=180)
    with pool.told():
        if name is not None:
            _shown(name, row)


def _shown(name: str, row: Any) -> None:
    index = pool.index(name)
    layout = row.segmented_control(
        "Layout", ("PCA", "UMAP"), default="PCA", required=True, key="layout", bind=URL, on_change=_forget,
        args=(selection.AREA,), width="content",
        help=f"PCA: at once, and distances mean something. UMAP: shows neighbourhoods better; of up to "
        f"{points.MOST_UMAP:,} passages, in the background.",
    )  # fmt: skip
    umap = layout == "UMAP" and projection.installed()
    given = points.points(index, points.MOST_UMAP if umap else points.MOST)
    if len(given) < LEAST:
        st.info(_too_few(len(given)), icon=":material/info:")
        return
    way = row.selectbox("Coloured by", points.ways(index), key="by", bind=URL, on_change=_forget,
                        args=(selection.GROUP,), width=180) or CLUSTER  # fmt: skip
    k = 0
    if way == CLUSTER:
        k = int(row.slider("Clusters", 2, points.GROUPS, 6, key="clusters", bind=URL, on_change=_forget,
                           args=(selection.GROUP,), width=150))  # fmt: skip
    if layout == "UMAP" and not umap:
        st.info("UMAP is not installed here: this is PCA. To have it: pip install umap-learn, then start semsearch ui "
                "again.", icon=":material/info:")  # fmt: skip
    placed, told = _placed(given, umap)
    _map(name, index, given, placed, told, way, k)
    listing.near(name, given)


def _forget(*kinds: str) -> None:
    """What is chosen and cannot be on the map that comes next."""
    for kind in kinds:
        st.query_params.pop(kind, None)


def _too_few(count: int) -> str:
    if not count:
        return "This index holds no passage yet. Add documents on the page Documents."
    return "A map needs three passages or more. Add documents on the page Documents."


def _placed(given: Points, umap: bool) -> tuple[Floats, str]:
    """Where the points lie, and a sentence about it; by PCA as long as UMAP is not there."""
    if umap:
        with pool.told():
            found = background.result(*points.umap(given), UMAP_WAITS, line="umap")
            if found is not None:
                return found, "UMAP: neighbours lie together, long distances mean little"
    placed, share = points.pca(given)
    return placed, f"PCA: the two axes hold {share:.0%} of all differences"


def _map(name: str, index: Index, given: Points, placed: Floats, told: str, way: str, k: int) -> None:
    """The map, and under it what is chosen there."""
    counted = f"{len(given):,} passages"
    if given.sample.total > len(given):
        counted = f"A fixed sample of {len(given):,} of the {given.sample.total:,} passages, so that it stays fluid"
    st.caption(f"{counted}. {told}.")
    colours = points.colours(given, index, way, k)

    def keep(state: Any) -> None:
        _forget(*selection.ALL)
        st.query_params.update(selection.told(state, given, colours).params())

    chosen = selection.read(st.query_params)
    layout = told.partition(":")[0]
    canvas.show(canvas.packed(given, placed, layout, colours, lambda: chosen.start(given, colours)), keep)
    rows = chosen.rows(given, placed, colours)
    if rows:
        listing.chosen(name, given, rows, _heading(chosen, way), alike=not chosen.points)
    else:
        st.caption(
            "Click a point to read it (with Shift, several), draw around some with the lasso, or click a name in the "
            "legend: what is chosen is listed here, and can be searched for. Ctrl and the wheel zoom."
        )


def _heading(chosen: Chosen, way: str) -> str:
    if chosen.group:
        return f"{way.removesuffix(' (metadata)').capitalize()}: {chosen.group}"
    return "Within the lasso" if chosen.area else "Chosen on the map"
