"""Adding and updating documents: the sources, another folder, uploaded files, everything again or split differently.

Each is a job in the background; searching works meanwhile.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from semsearch import SemsearchError, Splitter, SyncOptions
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import messages, pool, tables, widgets
from ..shared.work import jobs, progress
from . import read_options

UPLOAD_STOPPED = "The files that were added so far stay. Drop the others again."


def controls(name: str, info: JsonObject) -> None:
    """The buttons and forms above the table."""
    messages.outcome_of_click()
    sources = info["recipe"].get("roots", ())
    paths, busy = [source["path"] for source in sources], jobs.busy(name)
    _update_buttons(name, info["documents"], busy=busy, has_sources=bool(paths))
    more = " …" if len(paths) > 3 else ""
    messages.caption(f"Sources: {', '.join(paths[:3])}{more}" if paths else "No folder is a source yet.")
    if apart := info["recipe"].get("set_aside", {}).get("roots", ()):
        named = ", ".join(root["path"] for root in apart[:3])
        messages.caption(f"Named by the dump and not followed: {named}. To follow: semsearch trust {name}")
    left, right = st.columns(2)
    with left.expander("Add a folder", icon=":material/create_new_folder:"):
        _folder(name, busy)
    with right.expander("Add files", icon=":material/upload_file:"):
        _files(name, busy)
    with st.expander("Sources and chunking", icon=":material/tune:"):
        if sources:
            rows = [{"source": each["path"], "options": read_options.as_flags(each)} for each in sources]
            tables.show(rows, {"source": tables.WIDE, "options": tables.WIDE})
            st.caption("To change the options of a source, add it again.")
        _chunking(name, info, busy)


def _update_buttons(name: str, documents: int, *, busy: bool, has_sources: bool) -> None:
    """The buttons that update all sources."""
    row, off = widgets.row(), busy or not has_sources
    hint = "Looks through the sources for new, changed, moved and deleted files; unchanged files are not read."
    args: tuple[object, ...] = (name, "Update", SyncOptions())
    widgets.button("Update", "sync", _update, args, place=row, key="update", hint=hint, off=off)
    hint = "Looks at the same files and shows what an update would do (--dry-run). Nothing is written."
    args = (name, "Preview of an update", SyncOptions(dry_run=True))
    widgets.button("Preview changes", "preview", _update, args, place=row, key="dry run", hint=hint, off=off)
    again = f"Reads, splits and embeds all {count(documents, 'document')} again, changed or not (--force)."
    hint, args = f"{again} This can take long.", (name, "Re-indexing everything", SyncOptions(force=True))
    widgets.button("Re-index everything", "restart_alt", _update, args, place=row, key="force", hint=hint, off=off)
    if has_sources:
        hint = "Documents whose files are gone stay in the index (--no-prune)."
        row.toggle("Keep deleted files in the index", key="keep gone", help=hint)


def _update(name: str, what: str, options: SyncOptions) -> None:
    _begin(name, what, (), replace(options, prune=not st.session_state.get("keep gone", False)))


def _folder(name: str, busy: bool) -> None:
    with st.form("folder", border=False):
        st.text_input("A folder or a file on this machine", key="add.path", placeholder="~/notes")
        with st.expander("Options", icon=":material/tune:"):
            read_options.files("add")
            read_options.records("add")
            st.caption("A folder that is a source already keeps its options unless you set some here.")
        st.caption("The folder becomes a source: every update looks through it. Its files are only read.")
        hint, icon = "Looks through it and shows what would be added. Nothing is written.", ":material/preview:"
        row = widgets.row()
        row.form_submit_button("Add it", on_click=_add_folder, args=(name, False), disabled=busy, type="primary")
        row.form_submit_button("Preview additions", hint, _add_folder, (name, True), icon=icon, disabled=busy)


def _add_folder(name: str, dry_run: bool) -> None:
    path = st.session_state["add.path"].strip()
    if not path:
        messages.refuse("The path is missing. Type one, such as ~/notes.")
        return
    options = replace(read_options.options("add", st.session_state), dry_run=dry_run)
    what = "Preview of a new folder" if dry_run else "Adding a folder"
    _begin(name, what, (Path(path).expanduser(),), options)


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
            return progress.outcome(index.add_files(files, report, options))

    jobs.begin(name, f"Adding {count(len(uploads), 'file')}", work, about=UPLOAD_STOPPED)


def _chunking(name: str, info: JsonObject, busy: bool) -> None:
    """Fields that change splitter, size and overlap."""
    splitter, key = Splitter(**info["recipe"]["splitter"]), f"cut {name}"
    limit = (info["spaces"] or [{"encoder": {}}])[0]["encoder"].get("max_tokens", 0)
    reads = f" The encoder reads {limit:,} tokens of a passage." if 0 < limit < 100_000 else ""
    with st.form(key, border=False):
        widgets.splitter_fields(key, splitter, size_help=f"At most.{reads}")
        st.caption(
            f"All {count(info['documents'], 'document')} are split and embedded again, because scores of passages of "
            "two sizes cannot be compared. Searching works meanwhile."
        )
        args = (name, splitter)
        st.form_submit_button("Split everything again", on_click=_resplit, args=args, disabled=busy)


def _resplit(name: str, before: Splitter) -> None:
    with messages.refusing():
        splitter = widgets.splitter_chosen(f"cut {name}")
        if splitter == before:
            fix = "Change something first, or re-index everything."
            raise SemsearchError("Documents are split like that already.", fix)
        _begin(name, "Splitting everything again", (), SyncOptions(splitter=splitter))


def _begin(name: str, what: str, paths: Sequence[Path], options: SyncOptions) -> None:
    """Begin to sync these paths, or without any the sources of the index."""

    def work(report: jobs.Report) -> jobs.Outcome:
        with pool.open_copy(name) as index:
            return progress.outcome(index.sync(paths, options, report))

    jobs.begin(name, what, work, about="Nothing is written." if options.dry_run else "")
