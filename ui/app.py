"""What Streamlit runs: the pages, and how they are reached."""

from __future__ import annotations

import streamlit as st

# Streamlit runs this file as a script, which is in no package
from semsearch_ui import compare, documents, jobs, models_page, search

st.set_page_config("semsearch", page_icon=":material/search:", layout="wide")
chosen = st.navigation(
    [
        st.Page(search.page, title="Search", icon=":material/search:", url_path="search", default=True),
        st.Page(compare.page, title="Compare", icon=":material/compare_arrows:", url_path="compare"),
        st.Page(documents.page, title="Documents", icon=":material/description:", url_path="documents"),
        st.Page(models_page.page, title="Indexes & models", icon=":material/database:", url_path="indexes"),
    ]
)
jobs.show()
chosen.run()
