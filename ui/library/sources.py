"""Keeping an index up to date: its sources looked through again, everything read or split again.

Each is a job in the background; searching works meanwhile.
"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import SemsearchError, Splitter, SyncOptions
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import messages, pool, widgets
from ..shared.adding import panel, read_options
from ..shared.work import jobs, progress


def controls(name: str, info: JsonObject, row: DeltaGenerator) -> None:
    """The buttons above the table, and the panel that adds documents."""
    sources, documents = info["recipe"].get("roots", ()), info["documents"]
    busy = jobs.busy(name)
    off = busy or not sources
    hint = "Looks through the sources for new, changed, moved and deleted files; unchanged files are not read."
    args: tuple[object, ...] = (name, "Update", SyncOptions())
    widgets.button("Update", "sync", _update, args, place=row, key="update", hint=hint, off=off)
    with row.popover("Sources", icon=":material/folder_open:"):
        _sources(info, sources)
        hint = "Their documents stay (--no-prune)."
        st.toggle("Keep deleted files in the index", key="keep gone", help=hint, disabled=off)
        line = widgets.row()
        hint = "Looks at the same files and shows what an update would do (--dry-run). Nothing is written."
        args = (name, "Preview of an update", SyncOptions(dry_run=True))
        widgets.button("Preview changes", "preview", _update, args, place=line, key="dry run", hint=hint, off=off)
        again = f"Reads, splits and embeds all {count(documents, 'document')} again, changed or not (--force)."
        hint, args = f"{again} This can take long.", (name, "Re-indexing everything", SyncOptions(force=True))
        widgets.button("Re-index everything", "restart_alt", _update, args, place=line, key="force", hint=hint, off=off)
    with row.popover("Splitting", icon=":material/content_cut:"):
        _chunking(name, info, busy)
    with st.expander("Add documents", icon=":material/add:", expanded=not documents or "add" in st.query_params):
        panel.show(name)


def _sources(info: JsonObject, sources: list[JsonObject]) -> None:
    """What every update looks through."""
    for each in sources:
        flags = messages.one_line(read_options.as_flags(each), 1_000)  # may exclude many files
        st.markdown(f"**{messages.plain(each['path'])}**  \n{messages.plain(flags)}")
    st.caption("To change the options of a source, add it again." if sources else "No folder is a source yet.")
    if apart := info["recipe"].get("set_aside", {}).get("roots", ()):
        named = ", ".join(root["path"] for root in apart[:3])
        messages.caption(f"Named by the dump and not followed: {named}. To follow: semsearch trust {info['name']}")


def _update(name: str, what: str, options: SyncOptions) -> None:
    _begin(name, what, replace(options, prune=not st.session_state.get("keep gone", False)))


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
        _begin(name, "Splitting everything again", SyncOptions(splitter=splitter))


def _begin(name: str, what: str, options: SyncOptions) -> None:
    """Begin to sync the sources of the index."""

    def work(report: jobs.Report) -> jobs.Outcome:
        with pool.open_copy(name) as index:
            return progress.outcome(index.sync((), options, report))

    jobs.begin(name, what, work, about="Nothing is written." if options.dry_run else "")
