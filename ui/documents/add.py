"""Bringing an index up to date: its sources, another folder, dropped files, everything again or split otherwise.

Each is a job in the background; searching works meanwhile.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from semsearch import SemsearchError, Splitter, SyncOptions, SyncReport
from semsearch.types import JsonObject

from ..shared import jobs, messages, pool, splitter_form, tables, widgets
from ..shared.messages import count
from . import read_options

MOST_NAMED = 20  # of what a dry run would skip
UPLOAD_STOPPED = "The files that were added so far stay. Drop the others again."


def controls(name: str, info: JsonObject) -> None:
    """The buttons and forms above the table."""
    messages.outcome_of_click()
    sources = info["recipe"].get("roots", ())
    paths, busy = [source["path"] for source in sources], jobs.busy(name)
    _update_buttons(name, info["documents"], busy=busy, has_sources=bool(paths))
    more = " …" if len(paths) > 3 else ""
    messages.caption(f"Sources: {', '.join(paths[:3])}{more}" if paths else "No folder is a source yet.")
    left, right = st.columns(2)
    with left.expander("Add a folder", icon=":material/create_new_folder:"):
        _folder(name, busy)
    with right.expander("Add files", icon=":material/upload_file:"):
        _files(name, busy)
    with st.expander("Sources and chunking", icon=":material/tune:"):
        _sources(sources)
        _chunking(name, info, busy)


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
    _begin(name, what, (), replace(options, prune=not st.session_state.get("keep gone", False)))


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
            return outcome(index.add_files(files, report, options))

    jobs.begin(name, f"Adding {count(len(uploads), 'file')}", work, about=UPLOAD_STOPPED)


def _sources(sources: Sequence[JsonObject]) -> None:
    if sources:
        rows = [{"source": each["path"], "options": read_options.as_flags(each)} for each in sources]
        tables.show(rows, {"source": tables.WIDE, "options": tables.WIDE})
        st.caption("To change the options of a source, add it again.")


def _chunking(name: str, info: JsonObject, busy: bool) -> None:
    """Splitter, size and overlap as they are, to be changed."""
    splitter, key = Splitter(**info["recipe"]["splitter"]), f"cut {name}"
    limit = (info["spaces"] or [{"encoder": {}}])[0]["encoder"].get("max_tokens", 0)
    reads = f" The encoder reads {limit:,} tokens of a passage." if 0 < limit < 100_000 else ""
    with st.form(key, border=False):
        splitter_form.fields(key, splitter, size_help=f"At most.{reads}")
        st.caption(
            f"All {count(info['documents'], 'document')} are split and embedded again: passages of two sizes in "
            "one index would not compete fairly. Searching works meanwhile."
        )
        args = (name, splitter)
        st.form_submit_button("Split everything again", on_click=_resplit, args=args, disabled=busy)


def _resplit(name: str, before: Splitter) -> None:
    with messages.refusing():
        splitter = splitter_form.chosen(f"cut {name}")
        if splitter == before:
            raise SemsearchError(
                "Documents are split like that already.", "Change something first, or re-index everything."
            )
        _begin(name, "Splitting everything again", (), SyncOptions(splitter=splitter))


def _begin(name: str, what: str, paths: Sequence[Path], options: SyncOptions) -> None:
    """Begin it; without `paths` for the sources of the index."""

    def work(report: jobs.Report) -> jobs.Outcome:
        with pool.open_copy(name) as index:
            return outcome(index.sync(paths, options, report))

    jobs.begin(name, what, work, about="Nothing is written." if options.dry_run else "")


def outcome(report: SyncReport) -> jobs.Outcome:
    """What a run did to the documents, or would do, in a sentence; a dry run names what it would skip."""
    kinds = ("added", "changed", "moved", "deleted", "unchanged")
    counts, skipped = ", ".join(f"{getattr(report, kind):,} {kind}" for kind in kinds), len(report.skipped)
    if report.dry_run:
        named = [f"skipped: {each.path}: {each.reason}" for each in report.skipped[:MOST_NAMED]]
        named += [f"and {skipped - MOST_NAMED:,} more skipped"] if skipped > MOST_NAMED else []
        text = f"Nothing was written. It would be: {counts}, {skipped:,} skipped."
        return jobs.Outcome(text, (*report.warnings, *named))
    text = f"{counts}; {report.passages:,} passages in all, {report.took_s:.1f} s."
    if skipped:
        text += f" {skipped:,} skipped: the page Documents says why."
    return jobs.Outcome(text, report.warnings)
