"""What the documents of an index are about: clusters with names and examples."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Topics
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import messages, pool, tables, widgets
from ..shared.messages import plain
from ..shared.texts import markup
from ..shared.widgets import URL
from ..shared.work import background

MOST, LISTED = 100, 50  # clusters that can be asked for, documents at a time
COLUMNS = {
    "cluster": tables.MEDIUM,
    "documents": tables.COUNT,
    "coherence": st.column_config.NumberColumn(format="%.2f", help="Mean cosine of two of its documents"),
    "example": tables.WIDE,
}


def show(name: str, row: DeltaGenerator) -> None:
    """The clusters of an index, and the documents of a chosen one."""
    hint = "As many as have the best mean silhouette of the documents, unless you say how many."
    options: Any = {"key": "k", "bind": URL, "width": 150, "placeholder": "as many as fit", "help": hint}
    k = int(row.number_input("Clusters", 0, MOST, None, **options) or 0)
    index = pool.index(name)
    state = pool.state(index)

    work = lambda: index.analysis.topics(k or None)  # noqa: E731
    clustered = background.result(("topics", state, k), work, "Grouping documents …", queue="groups")
    if clustered is None:
        return
    messages.caption(
        f"{count(len(clustered), 'cluster')}; two documents of the whole index have a mean cosine of "
        f"{clustered.coherence:.2f}. Tick a cluster to list its documents."
    )
    key = f"clusters {state} {k}"
    rows = listed(clustered)
    tables.select(rows, COLUMNS, key, lambda _: None)
    tables.downloads(f"{name}-clusters", asdict(clustered), rows, place=widgets.row())
    for at in st.session_state[key]["selection"]["rows"][:1]:
        _documents(clustered, at)


def listed(topics: Topics) -> list[JsonObject]:
    """A row for each cluster."""
    return [
        {
            "cluster": topic.name,
            "documents": len(topic.documents),
            "coherence": round(topic.coherence, 2),
            "example": "".join(markup.letters(topic.example, topic.documents[0])),
        }
        for topic in topics
    ]


def _documents(topics: Topics, at: int) -> None:
    topic = topics[at]
    st.header(plain(topic.name), anchor=False)
    some = widgets.page_of(topic.documents, LISTED, f"page {at}", width=160)
    tables.show([{"document": document} for document in some], {"document": tables.WIDE})
