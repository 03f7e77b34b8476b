"""Bringing an index up to date: what it follows, a new folder, dropped files, everything anew."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from semsearch import SyncOptions

from ..shared import jobs, pool
from . import read_options, resplit, sync_job

STAYS = "The files that were added by then stay. Drop the others again."


def controls(name: str, known: dict[str, Any]) -> None:
    """The buttons and forms above the table."""
    jobs.refused()
    roots = [root["path"] for root in known["recipe"].get("roots", ())]
    busy = jobs.busy(name)
    _update(name, known["documents"], busy=busy, follows=bool(roots))
    st.caption(pool.plain(f"Follows {', '.join(roots[:3])}{' …' if len(roots) > 3 else ''}" if roots
                          else "Follows no folder yet."))  # fmt: skip
    left, right = st.columns(2)
    with left.expander("Add a folder", icon=":material/create_new_folder:"):
        _folder(name, busy)
    with right.expander("Add files", icon=":material/upload_file:"):
        _files(name, busy)
    with st.expander("What it follows, and how documents are cut", icon=":material/tune:"):
        _followed(known["recipe"].get("roots", ()))
        resplit.form(name, known, busy)


def _update(name: str, documents: int, *, busy: bool, follows: bool) -> None:
    """The buttons that look through what is followed."""
    row = st.container(horizontal=True, vertical_alignment="center")
    off = busy or not follows
    row.button(
        "Update", key="update", type="primary", icon=":material/sync:", disabled=off,
        on_click=_update_with, args=(name, "Update", SyncOptions()),
        help="Looks through what this index follows. New, changed, moved and deleted files are found; a file that did "
        "not change is not read.",
    )  # fmt: skip
    row.button(
        "What would change", key="dry run", icon=":material/preview:", disabled=off,
        on_click=_update_with, args=(name, "What an update would do", SyncOptions(dry_run=True)),
        help="Looks at the same files and says what an update would do (--dry-run). Nothing is written.",
    )  # fmt: skip
    row.button(
        "Read everything again", key="force", icon=":material/restart_alt:", disabled=off,
        on_click=_update_with, args=(name, "Reading everything again", SyncOptions(force=True)),
        help=f"Reads, cuts and embeds the files of all {documents:,} documents anew, changed or not (--force). That "
        "can take long; the search works meanwhile.",
    )  # fmt: skip
    if follows:
        row.toggle("Keep what is gone", key="keep gone",
                   help="Documents whose files are gone stay in the index (--no-prune).")  # fmt: skip


def _update_with(name: str, what: str, options: SyncOptions) -> None:
    sync_job.begin(name, what, (), replace(options, prune=not st.session_state.get("keep gone", False)))


def _folder(name: str, busy: bool) -> None:
    with st.form("folder", border=False):
        st.text_input("A folder or a file on this machine", key="add.path", placeholder="~/notes")
        with st.expander("Options", icon=":material/tune:"):
            read_options.files("add")
            read_options.records("add")
            st.caption("A folder that is followed already keeps its options unless you give some here.")
        st.caption("The folder is followed from now on: every update looks through it. Its files are only read.")
        row = st.container(horizontal=True)
        with row:
            st.form_submit_button("Add it", icon=":material/add:", disabled=busy, type="primary",
                                  on_click=_add_folder, args=(name,))  # fmt: skip
            st.form_submit_button("What would be added", icon=":material/preview:", disabled=busy,
                                  on_click=_add_folder, args=(name,), kwargs={"dry_run": True},
                                  help="Looks through it and says what would be done. Nothing is written.")  # fmt: skip


def _add_folder(name: str, *, dry_run: bool = False) -> None:
    path = st.session_state["add.path"].strip()
    if not path:
        jobs.refuse("There is no path. Write one, such as ~/notes.")
        return
    options = replace(read_options.options("add", st.session_state), dry_run=dry_run)
    sync_job.begin(
        name, "What adding it would do" if dry_run else "Adding a folder", (Path(path).expanduser(),), options
    )


def _files(name: str, busy: bool) -> None:
    with st.form("files", border=False, clear_on_submit=True):
        st.file_uploader("Files", accept_multiple_files=True, key="add.files", label_visibility="collapsed")
        with st.expander("Options", icon=":material/tune:"):
            read_options.records("drop")
        st.caption("What they hold is kept in the index; the files themselves are not, and an update leaves them "
                   "alone. A file of the same name takes the place of the one before.")  # fmt: skip
        st.form_submit_button("Add them", icon=":material/add:", disabled=busy, type="primary", on_click=_add_files,
                              args=(name,))  # fmt: skip


def _add_files(name: str) -> None:
    given = [(file.name, file.getvalue()) for file in st.session_state["add.files"]]
    if not given:
        jobs.refuse("There is no file. Drop some first.")
        return
    options = read_options.options("drop", st.session_state)

    def work(told: jobs.Told) -> jobs.Outcome:
        with pool.another(name) as index:
            files = ((each, io.BytesIO(content)) for each, content in given)
            return sync_job.counted(index.add_files(files, told, options))

    jobs.begin(name, f"Adding {len(given):,} files" if len(given) > 1 else "Adding a file", work, about=STAYS)


def _followed(roots: Sequence[dict[str, Any]]) -> None:
    if roots:
        rows = [{"follows": root["path"], "with": read_options.told(root)} for root in roots]
        st.dataframe(rows, hide_index=True, placeholder="",
                     column_config={each: st.column_config.TextColumn(width="large") for each in rows[0]})  # fmt: skip
        st.caption("Add a folder of these again to give it other options.")
