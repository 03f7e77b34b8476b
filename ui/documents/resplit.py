"""The splitter of an index, and splitting all its documents again with another one."""

from __future__ import annotations

import streamlit as st

from semsearch import SemsearchError, Splitter, SyncOptions

from ..shared import messages, splitter_form
from ..shared.format import count
from ..shared.types import JsonObject
from . import sync_job


def form(name: str, info: JsonObject, busy: bool) -> None:
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
        sync_job.begin(name, "Splitting everything again", (), SyncOptions(splitter=splitter))
