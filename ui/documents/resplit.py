"""How an index cuts its documents into passages; cutting them all anew."""

from __future__ import annotations

from typing import Any

import streamlit as st

from semsearch import SemsearchError, Splitter, SyncOptions

from ..shared import jobs, splitter_form
from . import sync_job


def form(name: str, known: dict[str, Any], busy: bool) -> None:
    """Splitter, size and overlap as they are, to be changed."""
    now = known["recipe"]["splitter"]
    limit = (known["spaces"] or [{"encoder": {}}])[0]["encoder"].get("max_tokens", 0)
    reads = f" The encoder reads {limit:,} tokens of a passage." if 0 < limit < 100_000 else ""
    with st.form(f"cut {name}", border=False):
        splitter_form.fields(f"cut {name}", Splitter(**now), size_help=f"At most.{reads}")
        st.caption(f"All {known['documents']:,} documents are cut and embedded anew: passages of two sizes in one "
                   "index would not compete fairly. The search works meanwhile.")  # fmt: skip
        st.form_submit_button("Cut everything anew", icon=":material/content_cut:", disabled=busy, on_click=_cut,
                              args=(name, Splitter(**now)))  # fmt: skip


def _cut(name: str, now: Splitter) -> None:
    try:
        splitter = splitter_form.chosen(f"cut {name}")
    except SemsearchError as error:
        jobs.refuse(str(error))
        return
    if splitter == now:
        jobs.refuse("Documents are cut like that already. Change something first, or read everything again.")
        return
    sync_job.begin(name, "Cutting everything anew", (), SyncOptions(splitter=splitter))
