"""What Streamlit runs: the pages, and how they are reached."""

from __future__ import annotations

import streamlit as st

from semsearch_ui import search  # Streamlit runs this file as a script, which is in no package

st.set_page_config("semsearch", page_icon=":material/search:", layout="wide")
st.navigation(
    [
        st.Page(search.page, title="Search", icon=":material/search:", url_path="search", default=True),
    ]
).run()
