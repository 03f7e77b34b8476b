"""Under the map: the passages that are chosen there, ways to search for their like, and those that nearly agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from semsearch import VectorSample

from ..shared import background, highlight, pool
from ..shared.urls import URL, search_page
from . import clusters, points
from .clusters import PAIRS
from .points import Points

LISTED = 25  # passages at a time
ASKED = 3  # of many passages, those that a search starts from
READ = 2_000  # of many passages, those that tell their words


def chosen(name: str, given: Points, rows: Sequence[int], heading: str, *, alike: bool) -> None:
    """The passages of these rows; of those that lie together (`alike`) also the words that tell them from the rest."""
    st.subheader(pool.plain(heading), anchor=False)
    counted = f"{len(rows):,} passage{'s' if len(rows) > 1 else ''}"
    if alike:
        told = _words(given.key, tuple(rows), given.sample)
        row = st.container(horizontal=True, vertical_alignment="center")
        row.caption(pool.plain(f"{counted}, the most central first" + (f". Their words: {told}" if told else "")))
        _search(row, name, given, rows[:ASKED], "Search for what is like these",
                f"Asks for passages like the {min(ASKED, len(rows))} most central ones.")  # fmt: skip
    elif len(rows) > 1:
        st.caption(counted)
    at, pages = 1, -(-len(rows) // LISTED)
    if pages > 1:
        at = int(st.number_input(f"Page, of {pages:,}", 1, pages, 1, key=f"page {heading} {len(rows)}", width=160))
    for one in rows[(at - 1) * LISTED : at * LISTED]:
        _passage(name, given, one)


@st.cache_data(max_entries=32, show_spinner=False)
def _words(key: tuple[Any, ...], rows: tuple[int, ...], _sample: VectorSample) -> str:
    """The words that stand in these passages, and less in the others."""
    inside = np.zeros(len(_sample), np.int64)
    inside[list(rows)] = 1
    if inside.all():
        return ""
    read = [part[:: -(-len(part) // READ)] for part in (np.flatnonzero(inside == 0), np.flatnonzero(inside))]
    texts = [_sample.texts[row] for part in read for row in part.tolist()]
    return clusters.names(texts, np.repeat([0, 1], [len(part) for part in read]))[1]


def _passage(name: str, given: Points, row: int) -> None:
    text = given.sample.texts[row]
    with st.container(border=True):
        top = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
        top.caption(pool.plain(f"{given.sample.documents[row]} · #{given.sample.ids[row]}"), width="content")
        _search(top, name, given, [row], "Search for more like this", None)
        cut = " …" if len(text) >= points.LETTERS else ""
        st.html(highlight.passage(text + cut, (0, 0), (), whole=True))


def _search(place: Any, name: str, given: Points, rows: Sequence[int], label: str, hint: str | None) -> None:
    """A link to the search page, with these passages as chips."""
    asked = [("more", f"#{given.sample.ids[row]}") for row in rows]
    asked += [("n", name)] if len(pool.names()) > 1 else []
    place.page_link(search_page(), label=label, icon=":material/search:",
                    query_params=asked, width="content", help=hint)  # fmt: skip


def near(name: str, given: Points) -> None:
    """Passages of different documents that nearly agree, where a person asks for them."""
    st.subheader("Near-duplicates", anchor=False)
    wanted = st.toggle(
        "Look for passages of different documents with a cosine above 0.95", key="near", bind=URL,
        help=f"Compares each of the {len(given):,} points with all others, in the background: some seconds for 30,000, "
        "a minute or two for 100,000.",
    )  # fmt: skip
    if not wanted:
        return
    answer = background.result(*points.near(given), "Points are being compared …", line="near")
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
