"""Map: the passages of an index in two dimensions, their topics, and the hits of a search."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Index
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, navigation, pool, widgets
from ..shared.widgets import URL
from . import canvas, clusters, labels, layouts, listing, marks, points, selection, topics
from .canvas import Scene
from .layouts import PCA, UMAP
from .points import TOPIC, Points
from .selection import Selection

LEAST = 3  # points
HELP = (
    "Click a point to read it (with Shift, several), draw around some with the lasso, or click a name in the legend: "
    "what you choose is listed at the right, and can be searched or tagged. A click on a topic zooms in, "
    "as Ctrl and the wheel do."
)


def page() -> None:
    """The page."""
    messages.outcome_of_click()
    navigation.uses(*selection.ALL)
    map_first = st.session_state.get("view", st.query_params.get("view", MAP)) == MAP
    row = st.container(horizontal=True, vertical_alignment="top", key="map-controls" if map_first else "controls")
    hint = (
        "Map: every passage in two dimensions. Clusters: what the documents are about. Labels: documents labelled as "
        "in your examples."
    )
    part = widgets.choice("Part", list(PARTS), "view", hint, place=row)
    name = index_picker.index(partial(_clear, *selection.ALL))
    with messages.errors():
        if name is None:
            return
        if part != MAP and not pool.index(name).info()["documents"]:
            messages.info("This index contains no document yet.")
            navigation.link("library", {index_picker.KEY: name, "add": "true"}, label="Add documents", icon="add")
        else:
            PARTS[part](name, row)


def _show(name: str, row: DeltaGenerator) -> None:
    index, fix = pool.index(name), layouts.missing()
    hint = f"PCA: at once, distances mean something. UMAP: clearer topics, in minutes, at most {points.MOST_UMAP:,}."
    options, no_area = (PCA, UMAP) if fix else (UMAP, PCA), partial(_clear, selection.AREA)
    method = widgets.choice("Layout", options, "layout", hint, place=row, on_change=no_area)
    umap = method == UMAP and not fix
    on = points.sample(index, points.MOST_UMAP if umap else points.MOST)
    if len(on) < LEAST:
        few = "A map needs three passages or more" if len(on) else "This index contains no passage yet"
        messages.info(f"{few}.")
        navigation.link("library", {index_picker.KEY: name, "add": "true"}, label="Add documents", icon="add")
        return
    ways, group = points.ways(index), (selection.GROUP,)
    way = row.selectbox("Coloured by", ways, key="by", bind=URL, on_change=_clear, args=group, width=180) or TOPIC
    k = topics.USUAL
    if way == TOPIC:
        most = points.GROUPS
        k = int(row.slider("Topics", 2, most, k, key="clusters", bind=URL, on_change=_clear, args=group, width=150))
    question = marks.box(row)
    if method == UMAP and fix:
        messages.info(f"UMAP is not installed, so this is PCA. {fix}, then restart semsearch ui.")
    _map(name, index, on, PCA if fix else method, way, k, question)


def _clear(*kinds: str) -> None:
    """Drop selections that cannot be on the next map."""
    for kind in kinds:
        st.query_params.pop(kind, None)


def _map(name: str, index: Index, on: Points, layout: str, way: str, k: int, question: str) -> None:
    """The map from edge to edge, over it the passages selected there, and below it what is said of it."""
    chosen = selection.read(st.query_params)
    frame = st.container(key="map-frame")
    frame.html("<div></div>")  # keeps its room until the map is there
    with st.container(key="map-notes"):
        placed = layouts.placed(name, index, on, layout)
        nested = topics.nested(on, k)
        colours = topics.colours(on, nested) if way == TOPIC else points.colours(on, index, way)
        hits: list[JsonObject] = []
        with messages.errors():
            hits = marks.hits(name, index, on, question)
        counted = count(len(on), "passage")
        if on.sample.total > len(on):
            counted = f"A fixed sample of {len(on):,} of the {on.sample.total:,} passages, so that it stays fluid"
        messages.caption(f"{name} · {counted}. {placed.about}. {HELP}")
    scene = Scene(on, placed, colours, topics.labels(on, k, placed, nested), points.days(on, index))

    def save(state: object) -> None:
        _clear(*selection.ALL)
        st.query_params.update(selection.from_browser(state, on, colours).params())

    with frame:
        canvas.show(canvas.packed(scene, hits, lambda: chosen.start(on, colours)), save)
    if rows := chosen.rows(on, placed.places, colours, scene.days):
        with st.container(key="map-chosen"):
            listing.chosen(name, on, rows, _heading(chosen, way), chosen)


def _heading(chosen: Selection, way: str) -> str:
    dated = " to ".join(chosen.dates() or ())
    where = f"{way.removesuffix(' (metadata)').capitalize()}: {chosen.group}" if chosen.group else ""
    where = where or ("Within the lasso" if chosen.area else "Chosen on the map" if chosen.points else "")
    return ", ".join(part for part in (where, dated) if part)


MAP = "map"
PARTS = {MAP: _show, "clusters": clusters.show, "labels": labels.show}
