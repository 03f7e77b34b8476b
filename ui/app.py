"""The Streamlit script: the pages, and the navigation between them."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

# Streamlit runs this file as a script, which is in no package
from semsearch_ui import job_list
from semsearch_ui.compare import page as compare
from semsearch_ui.documents import page as documents
from semsearch_ui.evaluate import page as evaluate
from semsearch_ui.map import page as space_map
from semsearch_ui.models import page as models_page
from semsearch_ui.search import page as search
from semsearch_ui.shared import index_picker, scripts
from semsearch_ui.templates import page as templates_page

STYLE = """<style>
.stMainBlockContainer { padding-top: 3.5rem }  /* 6rem by default */
.stButtonGroup button p::first-letter { text-transform: uppercase }  /* the options stand in lower case in the URL */
</style>"""
st.set_page_config("semsearch", page_icon=Path(__file__).with_name("icon.png"), layout="wide")
st.html(STYLE)
pages = [
    st.Page(search.page, title="Search", icon=":material/search:", default=True),
    st.Page(compare.page, title="Compare", icon=":material/compare_arrows:", url_path="compare"),
    st.Page(documents.page, title="Documents", icon=":material/description:", url_path="documents"),
    st.Page(space_map.page, title="Map", icon=":material/scatter_plot:", url_path="map"),
    st.Page(evaluate.page, title="Evaluate", icon=":material/monitoring:", url_path="evaluate"),
    st.Page(templates_page.page, title="Templates", icon=":material/edit_note:", url_path="templates"),
    st.Page(models_page.page, title="Indexes & models", icon=":material/database:", url_path="indexes"),
]
chosen = st.navigation(pages, position="hidden")
st.session_state[index_picker.PAGE] = chosen.url_path
with st.sidebar:
    st.markdown("**semsearch**")
    for each in pages:  # rather than Streamlit's own links, which lose the current index
        st.page_link(each, query_params=index_picker.parameters())
    scripts.reload_when_locked()
with st.container():  # always there, so that the page below keeps its place, and open forms stay open
    job_list.show()
chosen.run()
