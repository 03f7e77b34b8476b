"""An index from a dump, or from another folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import streamlit as st

from semsearch import Index, SemsearchError, admin
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, navigation
from ..shared.work import jobs

ALL_OR_NOTHING = "it is created completely or not at all"


def form() -> None:
    """A form for a dump or an index on this machine, and a name."""
    with st.form("restore", border=False):
        st.file_uploader("A dump file", key="dump.file")
        left, right = st.columns(2)
        label = "Or a path on this machine: a dump, or the folder of an index"
        left.text_input(label, key="dump.path", placeholder="~/notes.dump")
        right.text_input("Name of the new index", key="dump.name", placeholder="notes-again")
        st.caption("An index in another folder is copied as it is now; the original stays.")
        st.form_submit_button("Restore it", icon=":material/unarchive:", on_click=_restore)


def _restore() -> None:
    state = st.session_state
    name, file, path = state["dump.name"].strip(), state["dump.file"], state["dump.path"].strip()
    with messages.refusing():
        if (file is None) == (not path):
            raise SemsearchError("There is nothing to restore.", "Choose a dump file or type a path, one of the two.")
        folder, source = _folder(name), path if file is None else file.getvalue()

        def work(report: jobs.Report) -> jobs.Outcome:
            folder.parent.mkdir(parents=True, exist_ok=True)  # the dump goes there, where the index needs room too
            with (
                tempfile.TemporaryDirectory(prefix=".restoring-", dir=folder.parent) as place,
                admin.restore(_dump(source, Path(place, "dump")), folder, progress=report) as index,
            ):
                said = f"{count(len(index), 'document')} restored."
                if "set_aside" in index.info()["recipe"]:
                    said += f" It follows no folder. If you trust where it comes from: semsearch trust {name}"
                return jobs.Outcome(said)

        jobs.start(name, "Restoring", work, stoppable=False, about=ALL_OR_NOTHING)
        index_picker.choose([name])
        navigation.go_on("library")
        state["dump.name"] = state["dump.path"] = ""


def _dump(source: str | bytes, file: Path) -> Path:
    """The dump to restore: one that is on this machine, or one that is written to `file` first."""
    if isinstance(source, bytes):
        file.write_bytes(source)
        return file
    place = Path(os.path.expanduser(source))  # noqa: PTH111  (Path.expanduser raises for an unknown user)
    if not place.is_dir():
        return place
    with Index.open(place.absolute()) as index:
        admin.dump(index, file)
    return file


def _folder(name: str) -> Path:
    """The folder of a new index. Raises SemsearchError for a name that cannot be one, or is taken."""
    if not name or Path(name).name != name:
        raise SemsearchError("An index needs a name without '/'.", "Use letters, digits, '-' and '_'.")
    if name in admin.names():
        raise SemsearchError(f"There is an index {name} already.", "Choose another name, or remove it first.")
    return admin.folder(name)
