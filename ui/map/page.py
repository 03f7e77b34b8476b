"""Map: the passages of an index in two dimensions, clusters of them, and near-duplicates."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Index, MissingExtra
from semsearch.utils.quantities import count

from ..shared import background, index_picker, messages, navigation, pool, widgets
from ..shared.widgets import URL
from . import canvas, listing, points, projection, selection
from .clusters import Floats
from .points import CLUSTER, Points
from .selection import Selection

LEAST = 3  # points
UMAP_WAITS = (
    "UMAP is being computed; until then this is PCA. On one core 3,000 passages take 40 seconds, 10,000 a few minutes."
)


def page() -> None:
    """The page."""
    st.title("Map")
    navigation.uses(*selection.ALL)
    row = st.container(horizontal=True, vertical_alignment="top")
    name = index_picker.index(partial(_clear, *selection.ALL))
    with messages.errors():
        if name is not None:
            _show(name, row)


def _show(name: str, row: DeltaGenerator) -> None:
    index = pool.index(name)
    hint = f"PCA: fast, with meaningful distances. UMAP: clearer neighbourhoods, up to {points.MOST_UMAP:,} passages."
    no_area = partial(_clear, selection.AREA)
    layout = widgets.choice("Layout", ("PCA", "UMAP"), "layout", hint, place=row, on_change=no_area)
    umap = layout == "UMAP" and projection.installed()
    on = points.sample(index, points.MOST_UMAP if umap else points.MOST)
    if len(on) < LEAST:
        few = "A map needs three passages or more" if len(on) else "This index contains no passage yet"
        messages.info(f"{few}.")
        navigation.link("documents", {index_picker.KEY: name}, label="Add documents", icon="add")
        return
    ways, group = points.ways(index), (selection.GROUP,)
    way = row.selectbox("Coloured by", ways, key="by", bind=URL, on_change=_clear, args=group, width=180) or CLUSTER
    k = 0
    if way == CLUSTER:
        most = points.GROUPS
        k = row.slider("Clusters", 2, most, 6, key="clusters", bind=URL, on_change=_clear, args=group, width=150)
    if layout == "UMAP" and not umap:
        missing = MissingExtra("UMAP", "map", "umap-learn")
        messages.info(f"UMAP is not installed, so this is PCA. {missing.fix}, then restart semsearch ui.")
    placed, about = _positions(on, umap)
    _map(name, index, on, placed, about, way, int(k))
    listing.near(name, on)


def _clear(*kinds: str) -> None:
    """Drop selections that cannot be on the next map."""
    for kind in kinds:
        st.query_params.pop(kind, None)


def _positions(on: Points, umap: bool) -> tuple[Floats, str]:
    """Where the points lie, and a sentence about it; by PCA while UMAP is computed."""
    if umap:
        with messages.errors():
            work = lambda: projection.placed(on.sample.vectors)  # noqa: E731
            found = background.result(("umap", on.key), work, UMAP_WAITS, queue="umap")
            if found is not None:
                return found, "UMAP: neighbours lie together, long distances mean little"
    placed, share = points.pca(on)
    return placed, f"PCA: the two axes explain {share:.0%} of the variance"


def _map(name: str, index: Index, on: Points, placed: Floats, about: str, way: str, k: int) -> None:
    """The map, and below it the passages selected there."""
    counted = count(len(on), "passage")
    if on.sample.total > len(on):
        counted = f"A fixed sample of {len(on):,} of the {on.sample.total:,} passages, so that it stays fluid"
    messages.caption(f"{name} · {counted}. {about}.")
    colours = points.colours(on, index, way, k)

    def save(state: object) -> None:
        _clear(*selection.ALL)
        st.query_params.update(selection.from_browser(state, on, colours).params())

    chosen = selection.read(st.query_params)
    layout = about.partition(":")[0]
    canvas.show(canvas.packed(on, placed, layout, colours, lambda: chosen.start(on, colours)), save)
    rows = chosen.rows(on, placed, colours)
    if rows:
        listing.chosen(name, on, rows, _heading(chosen, way), alike=not chosen.points)
    else:
        st.caption(
            "Click a point to read it (with Shift, several), draw around some with the lasso, or click a name in the "
            "legend: the passages you choose are listed here, and can be searched for. Ctrl and the wheel zoom."
        )


def _heading(chosen: Selection, way: str) -> str:
    if chosen.group:
        return f"{way.removesuffix(' (metadata)').capitalize()}: {chosen.group}"
    return "Within the lasso" if chosen.area else "Chosen on the map"
