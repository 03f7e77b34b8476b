"""What Streamlit runs: the pages, and how they are reached."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

# Streamlit runs this file as a script, which is in no package
from semsearch_ui.compare import page as compare
from semsearch_ui.documents import page as documents
from semsearch_ui.evaluate import page as evaluate
from semsearch_ui.map import page as space_map
from semsearch_ui.models import page as models_page
from semsearch_ui.search import page as search
from semsearch_ui.shared import job_list
from semsearch_ui.templates import page as templates_page

ICON = Path(__file__).with_name("icon.png")  # a named one would be fetched from elsewhere
st.set_page_config("semsearch", page_icon=ICON, layout="wide")
st.html("<style>.stMainBlockContainer { padding-top: 3.5rem }</style>")  # 6rem of nothing else
chosen = st.navigation(
    [
        st.Page(search.page, title="Search", icon=":material/search:", default=True),
        st.Page(compare.page, title="Compare", icon=":material/compare_arrows:", url_path="compare"),
        st.Page(documents.page, title="Documents", icon=":material/description:", url_path="documents"),
        st.Page(space_map.page, title="Map", icon=":material/scatter_plot:", url_path="map"),
        st.Page(evaluate.page, title="Evaluate", icon=":material/monitoring:", url_path="evaluate"),
        st.Page(templates_page.page, title="Templates", icon=":material/edit_note:", url_path="templates"),
        st.Page(models_page.page, title="Indexes & models", icon=":material/database:", url_path="indexes"),
    ]
)
with st.container():  # whatever it shows, the page under it keeps its place, and forms that are open stay so
    job_list.show()
chosen.run()
