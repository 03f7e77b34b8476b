"""Where the points lie: by PCA at once; by UMAP from what is kept beside the index, or by a job that computes it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import streamlit as st

from semsearch import Index, MissingExtra, Progress, admin
from semsearch.types import Layout

from ..shared import messages, widgets
from ..shared.work import jobs, progress
from . import points
from .points import Floats, Points

PCA, UMAP = "PCA", "UMAP"
STOPPED = "It is computed again when you ask for it; until then the map is laid out by PCA."
GIVEN_UP = "layouts that were stopped"
MOST_KEPT = 4


class Placed(NamedTuple):
    """Places (n, 2) of the points, the layout that gave them, and a sentence about it."""

    places: Floats
    layout: str
    about: str


def missing() -> str:
    """What to do for UMAP; "" where it is installed."""
    return "" if find_spec("umap") else str(MissingExtra("UMAP", "map", "umap-learn").fix)


def placed(name: str, index: Index, on: Points, layout: str) -> Placed:
    """The points by the layout that is wanted, or by PCA while that is computed."""
    if layout == UMAP:
        with messages.errors():
            umap_places = _umap(name, index, on)
            if umap_places is not None:
                return Placed(umap_places, UMAP, "UMAP: neighbours lie together, long distances mean little")
    return Placed(on.places, PCA, f"PCA: the two axes explain {on.explained:.0%} of the variance")


def _umap(name: str, index: Index, on: Points) -> Floats | None:
    """The places by UMAP; None, with a note, while they are computed or after that was stopped."""
    key, last = _key(name), jobs.last(_key(name))
    if last is None or last.state != "running":
        if (places := _recorded(index, on, last)) is not None:
            return places
        given_up = st.session_state.setdefault(GIVEN_UP, set())
        if last is not None and last.state in ("stopped", "failed"):
            given_up.add(on.content)
        if on.content in given_up:
            _offer(name, index, on, last)
            return None
        if jobs.busy(name):
            messages.caption("UMAP is computed once the index is up to date; until then this is PCA.")
            return None
        _start(name, index)
    if (job := jobs.last(key)) is not None:
        _watch(job)
    return None


def _recorded(index: Index, on: Points, last: jobs.Job | None) -> Floats | None:
    """The places that a job has computed, or that are kept beside the index; None where neither fits these points."""
    kept, serial = _kept(), last.serial if last else 0
    if (on.content, serial) not in kept:
        made = last.outcome.keep if last is not None and last.outcome else None
        alike = isinstance(made, Layout) and np.array_equal(made.sample.ids, on.sample.ids)
        layout = made if alike and isinstance(made, Layout) else index.analysis.kept_layout(on.sample)
        if layout is None:
            return None
        kept[on.content, serial] = layout.places
        for old in list(kept)[: max(0, len(kept) - MOST_KEPT)]:
            del kept[old]
    return kept.get((on.content, serial))


@st.cache_resource(show_spinner=False)
def _kept() -> dict[tuple[str, int], Floats]:
    """The layouts in memory, by the points and the last job of their index."""
    return {}


def _key(name: str) -> tuple[str, ...]:
    return "Map", str(admin.folder(name))


def _start(name: str, index: Index) -> None:
    def work(report: jobs.Report) -> jobs.Outcome:
        made = index.analysis.layout(points.MOST_UMAP, method="umap", letters=0, progress=report)
        return jobs.Outcome(f"The map of {name} is laid out by UMAP.", keep=made)

    jobs.start(_key(name), f"UMAP of {name}", work, announced=False, about=STOPPED)


def _again(name: str, index: Index, content: str) -> None:
    st.session_state[GIVEN_UP].discard(content)
    jobs.dismiss(_key(name))
    with messages.refusing():
        _start(name, index)


def _offer(name: str, index: Index, on: Points, last: jobs.Job | None) -> None:
    """Why there is no layout by UMAP, and a button that begins it again."""
    row = widgets.row()
    failed = last is not None and last.state == "failed"
    why = last.error if last is not None and failed else "UMAP was stopped; this is PCA."
    (messages.error if failed else messages.caption)(why, row)
    widgets.button("Compute UMAP", "play_arrow", _again, (name, index, on.content), place=row, key="map.umap")


@st.fragment(run_every=1.0)
def _watch(job: jobs.Job) -> None:
    """How far the computation is; once it has ended, the page is drawn again."""
    if job.state != "running":
        st.rerun()
    step = job.progress or Progress(0, 1, "steps", "starting")
    text = f"UMAP is being computed, {step.item}: {progress.status(job)}. Until then this is PCA."
    messages.info(text, icon="hourglass_top")
