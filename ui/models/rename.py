"""Renaming and removing an index: done at once, where nobody writes to it."""

from __future__ import annotations

import streamlit as st

from semsearch import Index, SemsearchError
from semsearch.types import JsonObject

from ..shared import jobs, messages, pool
from ..shared.messages import count, plain, size


def controls(name: str, info: JsonObject) -> None:
    """Both, folded until they are wanted."""
    left, right = st.columns(2)
    icon, busy = ":material/drive_file_rename_outline:", jobs.busy(name)
    form = left.expander("Rename this index", icon=icon).form(f"rename {name}", border=False)
    form.text_input("New name", value=name, key=f"new name {name}")
    form.caption("Everything in it stays. Commands and links with the old name no longer find it.")
    form.form_submit_button("Rename it", icon=":material/check:", disabled=busy, on_click=_rename, args=(name,))
    with right.expander("Remove this index", icon=":material/delete_forever:"):
        documents, bytes_ = count(info["documents"], "document"), size(info["bytes"])
        st.markdown(
            f"Removes {plain(name)} with its {documents}, {bytes_}. The indexed files stay. This cannot be undone; a "
            "dump made before can be restored."
        )
        typed = st.text_input("Type its name to remove it", key=f"remove {name}", placeholder=name)
        off = busy or typed != name
        st.button("Remove it", key="really remove", type="primary", disabled=off, on_click=_remove, args=(name,))


def _rename(name: str) -> None:
    new = st.session_state[f"new name {name}"].strip()
    with messages.refusing():
        if new == name:
            raise SemsearchError(f"It is called {name} already.", "Type another name.")
        jobs.check_idle(name)
        pool.release(name)
        Index.rename(name, new)
        jobs.dismiss(name)
        st.session_state["index"] = new  # the other pages follow
        messages.note(f"{name} was renamed to {new}.")


def _remove(name: str) -> None:
    with messages.refusing():
        jobs.check_idle(name)
        pool.release(name)
        try:
            left = Index.remove(name)
        except OSError as error:
            raise SemsearchError(messages.sentence(error, f"Removing {name}")) from None
        jobs.dismiss(name)
        st.session_state["index"] = None  # rather than another one that nobody chose
        rest = f" Other files in its folder were left: {', '.join(left[:5])}." if left else ""
        messages.note(f"{name} was removed; the indexed files stay.{rest}")
