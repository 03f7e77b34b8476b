"""The Streamlit script: the pages, and the sidebar that leads to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

# Streamlit runs this file as a script, which is in no package
from semsearch_ui import job_list
from semsearch_ui.compare import page as compare
from semsearch_ui.documents import page as documents
from semsearch_ui.evaluate import page as evaluate
from semsearch_ui.indexes import page as indexes
from semsearch_ui.map import page as space_map
from semsearch_ui.models import page as models_page
from semsearch_ui.search import page as search
from semsearch_ui.shared import address, index_picker, navigation, scripts
from semsearch_ui.templates import page as templates_page

STYLE = """<style>
.stMainBlockContainer { padding-top: 3.5rem }  /* 6rem by default */
.stButtonGroup button p::first-letter { text-transform: uppercase }  /* the options stand in lower case in the URL */
</style>"""
RUN: dict[str, Callable[[], None]] = {
    "": search.page,
    "documents": documents.page,
    "map": space_map.page,
    "compare": compare.page,
    "evaluate": evaluate.page,
    "templates": templates_page.page,
    "indexes": indexes.page,
    "models": models_page.page,
}
st.set_page_config("semsearch", page_icon=Path(__file__).with_name("icon.png"), layout="wide")
st.html(STYLE)
pages = {
    path: st.Page(RUN[path], title=entry.title, icon=f":material/{entry.icon}:", url_path=path, default=not path)
    for path, entry in navigation.PAGES.items()
}
chosen = st.navigation(list(pages.values()), position="hidden")
st.session_state[index_picker.PAGE] = chosen.url_path
if (path := navigation.wanted()) is not None:
    st.switch_page(pages[path], query_params=index_picker.parameters(path))
if chosen.url_path == "indexes" and "part" in st.query_params:  # a link from before the models had a page
    st.switch_page(pages["models"], query_params=st.query_params.to_dict())
index_picker.settle(chosen.url_path)
with st.sidebar:
    st.markdown("**semsearch**")
    index_picker.reserve()
    for group, entries in navigation.GROUPS.items():
        st.caption(group)
        for path in entries:  # rather than Streamlit's own links, which lose the current index
            st.page_link(pages[path], query_params=index_picker.parameters(path))
    scripts.reload_when_locked()
top = st.container()  # always there, so that the page below keeps its place, and open forms stay open
with top:
    job_list.show()
chosen.run()
index_picker.fill()
address.tell_ignored(top)
