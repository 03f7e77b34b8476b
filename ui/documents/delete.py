"""Deleting documents from an index: confirmed first, then in the background, all or none."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ..shared import jobs, pool, widgets
from ..shared.messages import count, plain

MOST_NAMED = 5  # documents in the confirmation


def buttons(name: str, chosen: Sequence[str], matching: Sequence[str]) -> None:
    """Delete the chosen documents, or all that match the filters, after a confirmation."""
    row = st.container(horizontal=True)
    for label, ids in (("the chosen", chosen), ("all that match the filters", matching)):
        if ids and row.button(f"Delete {label} ({len(ids):,}) …", key=f"ask {label}", icon=":material/delete:"):
            st.session_state["to delete"] = (name, list(ids))
    index, ids = st.session_state.get("to delete", ("", []))
    if index != name or not ids:
        return
    what = count(len(ids), "document")
    named = ", ".join(ids[:MOST_NAMED]) + (", …" if len(ids) > MOST_NAMED else "")
    with st.container(border=True):
        st.markdown(
            f"Delete **{what}** from {plain(name)}? {plain(named)}  \nThe files stay where they are. An update brings "
            "back what lies in a source, unless it is excluded there."
        )
        row = st.container(horizontal=True)
        off = jobs.busy(name)
        widgets.button(
            f"Delete {what}", "delete", _delete, (name, ids), place=row, key="delete", kind="primary", off=off
        )
        row.button("Cancel", key="keep", on_click=_cancel)


def _cancel() -> None:
    st.session_state.pop("to delete", None)


def _delete(name: str, ids: Sequence[str]) -> None:
    _cancel()

    def work(report: jobs.Report) -> jobs.Outcome:
        with pool.open_copy(name) as index:
            return jobs.Outcome(f"{index.delete(ids, report):,} deleted; the files stay where they are.")

    jobs.begin(name, "Deleting documents", work, about="Nothing was deleted.")
