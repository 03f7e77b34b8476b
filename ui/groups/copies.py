"""Documents that repeat others, and which one of them to keep."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast, get_args

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Copies
from semsearch.types import JsonObject, Keep
from semsearch.utils.quantities import count

from ..shared import messages, pool, tables, widgets
from ..shared.widgets import URL
from ..shared.work import background

COLUMNS = {
    "copy": tables.MEDIUM,
    "of": tables.MEDIUM,
    "words": st.column_config.NumberColumn(format="percent", help="Share of the words that both have in common"),
    "cosine": st.column_config.NumberColumn(format="%.3f"),
    "why": tables.MEDIUM,
}


def show(name: str, row: DeltaGenerator) -> None:
    """The copies of the documents of an index, with what is kept of them and why."""
    keep = row.selectbox("Keep", get_args(Keep), key="keep", bind=URL, width=150, help="Which of equals to keep")
    exact = st.toggle("Only exactly equal texts", key="exact", bind=URL)
    index = pool.index(name)
    state = pool.state(index)

    work = lambda: index.analysis.copies(exact=exact, keep=cast(Keep, keep or "longest"))  # noqa: E731
    similar = background.result(("copies", state, exact, keep), work, "Comparing documents …", queue="groups")
    if similar is None:
        return
    if not similar:
        st.caption("No document repeats another one.")
        return
    rows = listed(similar)
    messages.caption(
        f"{count(len(rows), 'document')} can be spared. Near copies can differ in a number or a name: look at them."
        f" To delete all from the index: semsearch dedup {name} --keep {keep}{' --exact' if exact else ''} --delete"
    )
    tables.show(rows, COLUMNS)
    tables.downloads(f"{name}-copies", list(map(asdict, similar)), rows, place=widgets.row())


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
