"""Taking documents out of an index: asked twice, then in the background, all or none."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ..shared import jobs, pool

NAMED = 5  # documents that are named before they are deleted


def buttons(name: str, chosen: Sequence[str], shown: Sequence[str]) -> None:
    """Delete the chosen documents, or all that the filters show, after a second word."""
    row = st.container(horizontal=True)
    for label, doomed in (("the chosen", chosen), ("all that the filters show", shown)):
        if doomed and row.button(f"Delete {label} ({len(doomed):,}) …", key=f"ask {label}", icon=":material/delete:"):
            st.session_state["doomed"] = (name, list(doomed))
    asked, doomed = st.session_state.get("doomed", ("", []))
    if asked != name or not doomed:
        return
    what = count(len(doomed))
    named = ", ".join(doomed[:NAMED]) + (", …" if len(doomed) > NAMED else "")
    with st.container(border=True):
        st.markdown(
            f"Take **{what}** out of {pool.plain(name)}? {pool.plain(named)}  \nThe files stay where "
            "they are. An update brings what lies in followed folders back, unless it is excluded there."
        )
        row = st.container(horizontal=True)
        row.button(f"Delete {what}", key="delete", type="primary", disabled=jobs.busy(name),
                   on_click=_delete, args=(name, doomed))  # fmt: skip
        row.button("Keep", key="keep", on_click=_keep)


def _keep() -> None:
    st.session_state.pop("doomed", None)


def _delete(name: str, doomed: Sequence[str]) -> None:
    _keep()

    def work(told: jobs.Told) -> jobs.Outcome:
        with pool.another(name) as index:
            return jobs.Outcome(f"{index.delete(doomed, told):,} deleted; the files stay where they are.")

    jobs.begin(name, "Deleting documents", work, about="Stopped, it has deleted nothing.")


def count(documents: int) -> str:
    """
    >>> count(1), count(1200)
    ('1 document', '1,200 documents')
    """
    return f"{documents:,} document{'' if documents == 1 else 's'}"
