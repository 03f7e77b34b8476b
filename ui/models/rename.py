"""Another name for an index, and its removal: what is done at once, where nobody writes to it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from semsearch import Index, SemsearchError

from ..shared import jobs, pool
from ..shared.format import size


def controls(name: str, known: dict[str, Any]) -> None:
    """Both, put away until they are wanted."""
    left, right = st.columns(2)
    form = left.expander("Rename this index", icon=":material/drive_file_rename_outline:").form(
        f"rename {name}", border=False
    )
    form.text_input("Its new name", value=name, key=f"new name {name}")
    form.caption("All that it holds stays. A command or a link with the old name does not find it any more.")
    busy = jobs.busy(name)
    form.form_submit_button("Rename it", icon=":material/check:", disabled=busy, on_click=_rename, args=(name,))
    with right.expander("Remove this index", icon=":material/delete_forever:"):
        st.markdown(
            f"Removes {pool.plain(name)} with its {known['documents']:,} documents, {size(known['bytes'])}. The "
            "files that were indexed stay. This cannot be undone; a dump made before can be restored."
        )
        typed = st.text_input("Write its name to remove it", key=f"remove {name}", placeholder=name)
        st.button("Remove it", key="really remove", type="primary", disabled=busy or typed != name, on_click=_remove,
                  args=(name,))  # fmt: skip


def _rename(name: str) -> None:
    new = st.session_state[f"new name {name}"].strip()
    if new == name:
        jobs.refuse(f"It is called {name} already. Write another name.")
        return
    if _busy(name):
        return
    try:
        pool.release(name)
        Index.rename(name, new)
    except SemsearchError as error:
        jobs.refuse(str(error))
        return
    jobs.forget(name)
    st.session_state["index"] = new  # the other pages follow
    jobs.note(f"{name} is called {new} from now on.")


def _remove(name: str) -> None:
    if _busy(name):
        return
    try:
        pool.release(name)
        left = Index.remove(name)
    except (SemsearchError, OSError) as error:
        jobs.refuse(str(error))
        return
    jobs.forget(name)
    st.session_state["index"] = None  # not another one unasked
    rest = f" Other files in its folder were left: {', '.join(left[:5])}." if left else ""
    jobs.note(f"{name} was removed; the files that were indexed stay.{rest}")


def _busy(name: str) -> bool:
    """Whether work on it runs; it is said then."""
    job = jobs.of(name)
    if job is None or job.state != "running":
        return False
    jobs.refuse(f"{name} is busy: {job.what.lower()} is still running. Wait for it, or stop it first.")
    return True
