"""Documents that repeat others, side by side, and which of them to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Copies, Index
from semsearch.documents.parsing import front_matter
from semsearch.types import JsonObject, Keep
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, pool, tables, widgets
from ..shared.messages import plain
from ..shared.texts import highlight
from ..shared.widgets import URL
from ..shared.work import background, jobs

SHOWN = 10  # pairs at a time
STAYS = (
    "What is removed stays on the disk, and updates leave its file out from then on, as Sources shows. A record of a "
    "file of several comes back with the next update."
)


def show(row: DeltaGenerator) -> None:
    """The copies among the documents of an index, with what is kept of them and why."""
    name = index_picker.index()
    if name is None:
        return
    label = {longest: f"Keep the {longest}" for longest in get_args(Keep)}
    bare: Any = {"width": 180, "format_func": label.get, "label_visibility": "collapsed"}
    keep = row.selectbox("Which to keep", get_args(Keep), key="keep", bind=URL, **bare)
    exact = row.toggle("Only exactly equal texts", key="exact", bind=URL)
    with messages.errors():
        index = pool.index(name)
        state = pool.state(index)
        work = lambda: index.analysis.copies(exact=exact, keep=cast(Keep, keep or "longest"))  # noqa: E731
        similar = background.result(("copies", state, exact, keep), work, "Comparing documents …", queue="groups")
        if similar is not None:
            _listed(name, index, similar)


def _listed(name: str, index: Index, similar: list[Copies]) -> None:
    rows = listed(similar)
    if not rows:
        st.caption("No document repeats another one.")
        return
    line = widgets.row()
    line.markdown(f"**{count(len(rows), 'document')}** can be spared.", width="content")
    spared = [row["copy"] for row in rows]
    hint = "Near copies can differ in a number or a name: look at them."
    sure = line.checkbox("All of them", key="sure copies", help="Tick this to remove all of them.")
    label, off = f"Remove {len(rows):,}", jobs.busy(name)
    args, not_yet = (name, spared), off or not sure
    widgets.button(label, "delete", _remove, args, place=line, key="all copies", hint=hint, off=not_yet)
    tables.downloads(f"{name}-copies", list(map(asdict, similar)), rows, place=line)
    st.caption(STAYS)
    for at, row in enumerate(widgets.page_of(rows, SHOWN, "copies page", width=160)):
        with st.container(border=True):
            messages.caption(f"{row['how']} · {row['words']:.0%} of the words in common")
            pair = ((row["of"], row["copy"]), (row["copy"], row["of"]))
            for place, (kept, other) in zip(st.columns(2), pair, strict=True):
                stays = f" stays: {row['why']}" if kept == row["of"] else " is removed with all"
                place.markdown(f"**{plain(kept)}** :small[{stays}]")
                _, end = highlight.shown(text := front_matter.behind(str(index.get(kept)["text"])), 0)
                place.html(highlight.passage(text[:end] + " …" * (end < len(text))))
                key, hint = f"keep {at} {kept} {other}", f"Removes {plain(other)} from the index."
                args = (name, [other])
                widgets.button("Keep this one", "check", _remove, args, place=place, key=key, hint=hint, off=off)


def _remove(name: str, documents: Sequence[str]) -> None:
    def work(report: jobs.Report) -> jobs.Outcome:
        with pool.open_copy(name) as index:
            removed = index.delete(documents, report, exclude=True)
            return jobs.Outcome(f"{removed:,} removed from {name}; updates leave the files out.")

    jobs.begin(name, "Removing copies", work, about="Nothing was removed.")


def listed(groups: list[Copies]) -> list[JsonObject]:
    """A row for each copy."""
    return [
        {"copy": copy.document, "of": group.keep, "how": copy.kind, "words": copy.shared_words}
        | {"cosine": round(copy.cosine, 3), "why": group.why}
        for group in groups
        for copy in group.copies
    ]
