"""The page of a home without an index: the panel that makes one, or the sample."""

from __future__ import annotations

import streamlit as st

from semsearch import SemsearchError

from ..shared import messages, pool, widgets
from ..shared.adding import folders, panel

WORDS = """Type a folder, or drop files. semsearch reads them, and then finds passages by what they mean. Everything
stays on this machine."""


def page() -> None:
    """The page."""
    with st.container(key="welcome"):
        st.title("Search your own documents", anchor=False)
        st.markdown(WORDS)
        panel.show()
        row = widgets.row()
        hint = "Sixty short articles on everyday and technical subjects."
        widgets.button("Try the sample", "menu_book", _sample, place=row, hint=hint)
        row.caption(messages.plain(f"The index is kept in {folders.shortened(pool.home())}."), width="content")


def _sample() -> None:
    with messages.refusing():
        try:
            place = folders.sample()
        except StopIteration:
            raise SemsearchError("The sample was not installed.", "Choose a folder instead.") from None
        panel.make("sample", "Indexing the sample", lambda index, report: index.sync(place, None, report))
