"""The Streamlit script: the pages, and the rail of links that leads to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from semsearch import admin

# Streamlit runs this file as a script, which is in no package
from semsearch_ui import job_list
from semsearch_ui.compare import page as compare
from semsearch_ui.evaluate import page as evaluate
from semsearch_ui.library import page as library
from semsearch_ui.map import page as space_map
from semsearch_ui.models import page as models_page
from semsearch_ui.search import page as search
from semsearch_ui.shared import index_picker, messages, navigation, scripts
from semsearch_ui.templates import page as templates_page
from semsearch_ui.welcome import page as welcome

HERE = Path(__file__).parent
RUN: dict[str, Callable[[], None]] = {
    "": search.page,
    "library": library.page,
    "map": space_map.page,
    "compare": compare.page,
    "evaluate": evaluate.page,
    "templates": templates_page.page,
    "models": models_page.page,
}
OF_INDEXES = ("", "map", "evaluate")  # the pages that show nothing without an index
st.set_page_config("semsearch", page_icon=HERE / "icon.png", layout="wide")
pages = {
    path: st.Page(RUN[path], title=entry.title, icon=f":material/{entry.icon}:", url_path=path, default=not path)
    for path, entry in navigation.PAGES.items()
}
chosen = st.navigation(list(pages.values()), position="hidden")
st.session_state[index_picker.PAGE] = chosen.url_path
if page := navigation.next_page():
    st.switch_page(pages[page[0]], query_params=index_picker.parameters(page[0]) | page[1])
index_picker.settle(chosen.url_path)
with st.container(key="rail"):
    for entries in navigation.GROUPS.values():
        with st.container(gap=None):
            for path in entries:  # rather than Streamlit's own links, which lose the current index
                st.page_link(pages[path], query_params=index_picker.parameters(path))
    job_list.show()
    scripts.reload_when_locked()
empty = chosen.url_path in OF_INDEXES and not admin.names()
if not empty:
    with st.container(horizontal=True, vertical_alignment="center", key=f"bar-{chosen.url_path or 'search'}"):
        st.title(chosen.title, anchor=False, width="content")
        index_picker.reserve()
with st.container(key="body"):
    top = st.container()  # always there, so that the page below keeps its place, and open forms stay open
    if empty:
        welcome.page()
    else:
        with messages.errors():  # what no page shows itself: an index may be removed while its page is drawn
            chosen.run()
    navigation.tell_ignored(top)
