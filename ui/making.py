"""New indexes: an empty one for an encoder, or one out of a dump."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from semsearch import Index, SemsearchError

from . import held, jobs


def create(known: Sequence[dict[str, Any]]) -> None:
    """A form for a name and an encoder; `known` is the catalogue."""
    entries = {each["name"]: each for each in known}

    def told(name: str) -> str:
        entry = entries.get(name, {"local": True})
        return name if entry["local"] else f"{name} (not on this machine: {entry['size']} are fetched first)"

    with st.form("create", border=False, clear_on_submit=True):
        st.text_input("Name", key="new.name", placeholder="notes")
        st.selectbox("Encoder", [*entries], key="new.encoder", format_func=told, accept_new_options=True,
                     help="From the list below, or the folder of a model, or hf:owner/name. All documents of an index "
                     "share it; another one needs another index.")  # fmt: skip
        st.form_submit_button("Create it", icon=":material/add:", on_click=_create)


def restore() -> None:
    """A form for a dump and a name."""
    with st.form("restore", border=False, clear_on_submit=True):
        st.file_uploader("A file that a dump has written", key="dump.file")
        st.text_input("Name of the new index", key="dump.name", placeholder="notes-again")
        st.caption("A dump that is too large for the browser: semsearch restore FILE")
        st.form_submit_button("Restore it", icon=":material/unarchive:", on_click=_restore)


def _create() -> None:
    name, encoder = st.session_state["new.name"].strip(), st.session_state["new.encoder"]
    folder = _new(name)
    if folder is None:
        return

    def work(_: jobs.Told) -> jobs.Outcome:
        Index.create(folder, encoder=encoder).close()
        return jobs.Outcome("It is there, and empty. Add documents on the page Documents.")

    _begin(name, f"Making it with {encoder}", work)


def _restore() -> None:
    name, file = st.session_state["dump.name"].strip(), st.session_state["dump.file"]
    if file is None:
        say("error", "There is no dump. Choose its file first.")
        return
    folder, content = _new(name), file.getvalue()
    if folder is None:
        return

    def work(_: jobs.Told) -> jobs.Outcome:
        with tempfile.TemporaryDirectory(prefix="semsearch-") as place:
            dump = Path(place, "dump")
            dump.write_bytes(content)
            with Index.restore(dump, folder) as index:
                return jobs.Outcome(f"{len(index):,} documents are back.")

    _begin(name, "Restoring a dump", work)


def _new(name: str) -> Path | None:
    """Where an index of this name will be; None, and said why, where it cannot be."""
    try:
        if not name or Path(name).name != name:
            say("error", "An index needs a name without '/'. Use letters, digits, '-' and '_'.")
        elif name in held.names():
            say("error", f"There is an index {name} already. Choose another name, or remove it first.")
        else:
            return Index.folder(name)
    except SemsearchError as error:
        say("error", str(error))
    return None


def _begin(name: str, what: str, work: Any) -> None:
    try:
        jobs.start(name, what, work, stoppable=False)
    except SemsearchError as error:
        say("error", str(error))


def say(kind: str, text: str) -> None:
    """What a click has come to, for the next drawing of the page."""
    st.session_state["said"] = (kind, text)


def said() -> None:
    """Show that, once."""
    kind, text = st.session_state.pop("said", ("", ""))
    if kind == "error":
        st.error(held.plain(text), icon=":material/error:")
    elif kind:
        st.success(held.plain(text), icon=":material/check:")
