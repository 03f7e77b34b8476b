"""Documents that repeat others, side by side, and which of them to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import cast, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Copies, Index
from semsearch.types import JsonObject, Keep
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, pool, tables, widgets
from ..shared.messages import plain
from ..shared.texts import highlight
from ..shared.widgets import URL
from ..shared.work import background, jobs

SHOWN, LETTERS = 10, 400  # pairs at a time, and of each text
STAYS = "The files stay where they are. An update adds those in a source again, unless they are excluded there."


def show(row: DeltaGenerator) -> None:
    """The copies among the documents of an index, with what is kept of them and why."""
    name = index_picker.index()
    if name is None:
        return
    keep = row.selectbox(
        "Keep",
        get_args(Keep),
        key="keep",
        bind=URL,
        width=150,
        help="Which of equals to keep",
        label_visibility="collapsed",
    )
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
    hint = f"Near copies can differ in a number or a name: look at them. {STAYS}"
    sure = line.checkbox("All of them", key="sure copies", help="Tick this to remove all of them.")
    label, off = f"Remove {len(rows):,}", jobs.busy(name)
    widgets.button(
        label, "delete", _remove, (name, spared), place=line, key="all copies", hint=hint, off=off or not sure
    )
    tables.downloads(f"{name}-copies", list(map(asdict, similar)), rows, place=line)
    for at, row in enumerate(widgets.page_of(rows, SHOWN, "copies page", width=160)):
        with st.container(border=True):
            messages.caption(f"{row['how']} · {row['words']:.0%} of the words in common · {row['why']}")
            pair = ((row["of"], row["copy"]), (row["copy"], row["of"]))
            for place, side, (kept, other) in zip(st.columns(2), ("left", "right"), pair, strict=True):
                place.markdown(f"**{plain(kept)}**")
                place.html(highlight.passage(str(index.get(kept)["text"])[:LETTERS]))
                key, hint = (
                    f"keep {side} {at} {row['of']} {row['copy']}",
                    f"Removes {plain(other)} from the index. {STAYS}",
                )
                args = (name, [other])
                widgets.button(f"Keep {side}", "check", _remove, args, place=place, key=key, hint=hint, off=off)


def _remove(name: str, documents: Sequence[str]) -> None:
    def work(report: jobs.Report) -> jobs.Outcome:
        with pool.open_copy(name) as index:
            return jobs.Outcome(f"{index.delete(documents, report):,} removed from {name}; the files stay.")

    jobs.begin(name, "Removing copies", work, about="Nothing was removed.")


def listed(groups: list[Copies]) -> list[JsonObject]:
    """A row for each copy."""
    return [
        {
            "copy": copy.document,
            "of": group.keep,
            "how": copy.kind,
            "words": copy.shared_words,
            "cosine": round(copy.cosine, 3),
            "why": group.why,
        }
        for group in groups
        for copy in group.copies
    ]
