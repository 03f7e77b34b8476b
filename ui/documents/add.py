"""Bringing an index up to date: its sources, another folder, dropped files, everything again."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from semsearch import SyncOptions

from ..shared import jobs, messages, pool, tables, widgets
from ..shared.format import count
from ..shared.messages import plain
from ..shared.types import JsonObject
from . import read_options, resplit, sync_job

UPLOAD_STOPPED = "The files that were added so far stay. Drop the others again."


def controls(name: str, info: JsonObject) -> None:
    """The buttons and forms above the table."""
    messages.outcome_of_click()
    sources = info["recipe"].get("roots", ())
    paths, busy = [source["path"] for source in sources], jobs.busy(name)
    _update_buttons(name, info["documents"], busy=busy, has_sources=bool(paths))
    more = " …" if len(paths) > 3 else ""
    st.caption(plain(f"Sources: {', '.join(paths[:3])}{more}" if paths else "No folder is a source yet."))
    left, right = st.columns(2)
    with left.expander("Add a folder", icon=":material/create_new_folder:"):
        _folder(name, busy)
    with right.expander("Add files", icon=":material/upload_file:"):
        _files(name, busy)
    with st.expander("Sources and chunking", icon=":material/tune:"):
        _sources(sources)
        resplit.form(name, info, busy)


def _update_buttons(name: str, documents: int, *, busy: bool, has_sources: bool) -> None:
    """The buttons that look through all sources."""
    row = widgets.row()
    off = busy or not has_sources
    update = (
        "Looks through the sources for new, changed, moved and deleted files; a file that has not changed is not read."
    )
    preview = "Looks at the same files and says what an update would do (--dry-run). Nothing is written."
    force = (
        f"Reads, splits and embeds all {count(documents, 'document')} again, changed or not (--force). This can "
        "take long; searching works meanwhile."
    )
    for label, what, key, icon, hint, options in (
        ("Update", "Update", "update", "sync", update, SyncOptions()),
        ("Preview changes", "Preview of an update", "dry run", "preview", preview, SyncOptions(dry_run=True)),
        ("Re-index everything", "Re-indexing everything", "force", "restart_alt", force, SyncOptions(force=True)),
    ):
        widgets.button(label, icon, _update, (name, what, options), place=row, key=key, hint=hint, off=off)
    if has_sources:
        hint = "Documents whose files are gone stay in the index (--no-prune)."
        row.toggle("Keep deleted files in the index", key="keep gone", help=hint)


def _update(name: str, what: str, options: SyncOptions) -> None:
    sync_job.begin(name, what, (), replace(options, prune=not st.session_state.get("keep gone", False)))


def _folder(name: str, busy: bool) -> None:
    with st.form("folder", border=False):
        st.text_input("A folder or a file on this machine", key="add.path", placeholder="~/notes")
        with st.expander("Options", icon=":material/tune:"):
            read_options.files("add")
            read_options.records("add")
            st.caption("A folder that is a source already keeps its options unless you set some here.")
        st.caption("The folder becomes a source: every update looks through it. Its files are only read.")
        hint = "Looks through it and says what would be added. Nothing is written."
        with st.container(horizontal=True):
            st.form_submit_button("Add it", on_click=_add_folder, args=(name,), disabled=busy, type="primary")
            preview = _preview_folder
            st.form_submit_button("Preview additions", hint, preview, (name,), icon=":material/preview:", disabled=busy)


def _preview_folder(name: str) -> None:
    _add_folder(name, dry_run=True)


def _add_folder(name: str, *, dry_run: bool = False) -> None:
    path = st.session_state["add.path"].strip()
    if not path:
        messages.refuse("The path is missing. Type one, such as ~/notes.")
        return
    options = replace(read_options.options("add", st.session_state), dry_run=dry_run)
    what = "Preview of a new folder" if dry_run else "Adding a folder"
    sync_job.begin(name, what, (Path(path).expanduser(),), options)


def _files(name: str, busy: bool) -> None:
    with st.form("files", border=False, clear_on_submit=True):
        st.file_uploader("Files", accept_multiple_files=True, key="add.files", label_visibility="collapsed")
        with st.expander("Options", icon=":material/tune:"):
            read_options.records("drop")
        st.caption(
            "Their text is stored in the index, the files are not, and an update leaves them alone. A file replaces an "
            "earlier one of the same name."
        )
        st.form_submit_button("Add them", on_click=_add_files, args=(name,), disabled=busy, type="primary")


def _add_files(name: str) -> None:
    uploads = [(file.name, file.getvalue()) for file in st.session_state["add.files"]]
    if not uploads:
        messages.refuse("There is no file. Drop some first.")
        return
    options = read_options.options("drop", st.session_state)

    def work(report: jobs.Report) -> jobs.Outcome:
        with pool.open_copy(name) as index:
            files = ((each, io.BytesIO(content)) for each, content in uploads)
            return sync_job.outcome(index.add_files(files, report, options))

    jobs.begin(name, f"Adding {count(len(uploads), 'file')}", work, about=UPLOAD_STOPPED)


def _sources(sources: Sequence[JsonObject]) -> None:
    if sources:
        rows = [{"source": each["path"], "options": read_options.as_flags(each)} for each in sources]
        tables.show(rows, {"source": tables.WIDE, "options": tables.WIDE})
        st.caption("To change the options of a source, add it again.")
