"""Bringing an index up to date: what it follows, a new folder, dropped files, everything anew."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from semsearch import Index, Rules, SyncOptions

from . import held, jobs


def controls(name: str, known: dict[str, Any]) -> None:
    """The buttons and forms above the table."""
    jobs.refused()
    roots = [root["path"] for root in known["recipe"].get("roots", ())]
    row = st.container(horizontal=True, vertical_alignment="center")
    busy = jobs.busy(name)
    row.button(
        "Update", key="update", type="primary", icon=":material/sync:", disabled=busy or not roots,
        on_click=_sync, args=(name, "Update"),
        help="Looks through what this index follows. New, changed, moved and deleted files are found; a file that did "
        "not change is not read.",
    )  # fmt: skip
    row.button(
        "Read everything again", key="force", icon=":material/restart_alt:", disabled=busy or not roots,
        on_click=_sync, args=(name, "Reading everything again"), kwargs={"options": SyncOptions(force=True)},
        help=f"Reads, cuts and embeds the files of all {known['documents']:,} documents anew, changed or not. That can "
        "take long; the search works meanwhile.",
    )  # fmt: skip
    row.caption(held.plain(f"Follows {', '.join(roots[:3])}{' …' if len(roots) > 3 else ''}" if roots
                           else "Follows no folder yet."))  # fmt: skip
    left, right = st.columns(2)
    with left.expander("Add a folder", icon=":material/create_new_folder:"):
        _folder(name, busy)
    with right.expander("Add files", icon=":material/upload_file:"):
        _files(name, busy)


def _folder(name: str, busy: bool) -> None:
    with st.form("folder", border=False):
        st.text_input("A folder or a file on this machine", key="add.path", placeholder="~/notes")
        new: dict[str, Any] = {
            "options": [],
            "accept_new_options": True,
            "help": "Write a pattern, press Enter; several are fine.",
        }
        st.multiselect("Only files that match", key="add.include", placeholder="*.md", **new)
        st.multiselect("No files that match", key="add.exclude", placeholder="drafts/**", **new)
        st.toggle("Also what .gitignore leaves out", key="add.ignored")
        st.toggle("Even a whole disk, or more than 100,000 files", key="add.yes")
        st.caption("The folder is followed from now on: every update looks through it. Its files are only read.")
        st.form_submit_button("Add it", icon=":material/add:", disabled=busy, on_click=_add_folder, args=(name,))


def _add_folder(name: str) -> None:
    state = st.session_state
    path, include, exclude = state["add.path"].strip(), state["add.include"], state["add.exclude"]
    if not path:
        jobs.refuse("There is no path. Write one, such as ~/notes.")
        return
    told = include or exclude or state["add.ignored"]
    rules = Rules(tuple(include), tuple(exclude), not state["add.ignored"]) if told else None
    _sync(name, "Adding a folder", (Path(path).expanduser(),), SyncOptions(rules=rules, yes=state["add.yes"]))


def _sync(name: str, what: str, paths: Sequence[Path] = (), options: SyncOptions | None = None) -> None:
    folder = Index.folder(name)

    def work(told: jobs.Told) -> jobs.Outcome:
        with Index.open(folder) as index:
            return jobs.counted(index.sync(paths, options, told))

    jobs.begin(name, what, work)


def _files(name: str, busy: bool) -> None:
    with st.form("files", border=False, clear_on_submit=True):
        st.file_uploader("Files", accept_multiple_files=True, key="add.files", label_visibility="collapsed")
        st.caption("What they hold is kept in the index. A file of the same name takes the place of the one before.")
        st.form_submit_button("Add them", icon=":material/add:", disabled=busy, on_click=_add_files, args=(name,))


def _add_files(name: str) -> None:
    given = [(file.name, file.getvalue()) for file in st.session_state["add.files"]]
    if not given:
        jobs.refuse("There is no file. Drop some first.")
        return
    folder = Index.folder(name)

    def work(told: jobs.Told) -> jobs.Outcome:
        with Index.open(folder) as index:
            return jobs.counted(index.add_files([(each, io.BytesIO(content)) for each, content in given], told))

    jobs.begin(name, "Adding files", work)
