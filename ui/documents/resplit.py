"""How an index cuts its documents into passages; cutting them all anew."""

from __future__ import annotations

from typing import Any

import streamlit as st

from semsearch import SemsearchError, Splitter, SyncOptions

from ..shared import jobs
from . import sync

KINDS = ("sentences", "markdown", "tokens", "none")
TOLD = (
    "sentences: whole sentences, as many as fit. markdown: the same, never across a heading. tokens: words, wherever "
    "sentences end. none: each document whole."
)


def form(name: str, known: dict[str, Any], busy: bool) -> None:
    """Splitter, size and overlap as they are, to be changed."""
    now = known["recipe"]["splitter"]
    limit = (known["spaces"] or [{"encoder": {}}])[0]["encoder"].get("max_tokens", 0)
    reads = f" The encoder reads {limit:,} tokens of a passage." if 0 < limit < 100_000 else ""
    with st.form(f"cut {name}", border=False):
        first, second, third = st.columns(3)
        first.selectbox("Cut by (--chunk)", KINDS, index=KINDS.index(now["kind"]), key=f"cut.kind {name}", help=TOLD)
        second.number_input("Tokens of a passage (--chunk-size)", 1, value=now["size"], key=f"cut.size {name}",
                            help=f"At most.{reads}")  # fmt: skip
        third.number_input("Tokens that neighbours share (--overlap)", 0, value=now["overlap"],
                           key=f"cut.overlap {name}")  # fmt: skip
        st.caption(f"All {known['documents']:,} documents are cut and embedded anew: passages of two sizes in one "
                   "index would not compete fairly. The search works meanwhile.")  # fmt: skip
        st.form_submit_button("Cut everything anew", icon=":material/content_cut:", disabled=busy, on_click=_cut,
                              args=(name, Splitter(**now)))  # fmt: skip


def _cut(name: str, now: Splitter) -> None:
    kind, size, overlap = (st.session_state[f"cut.{part} {name}"] for part in ("kind", "size", "overlap"))
    try:
        splitter = Splitter(kind, int(size), int(overlap))
    except SemsearchError as error:
        jobs.refuse(str(error))
        return
    if splitter == now:
        jobs.refuse("Documents are cut like that already. Change something first, or read everything again.")
        return
    sync.begin(name, "Cutting everything anew", (), SyncOptions(splitter=splitter))
