"""Addresses of the pages: widgets whose value is part of the URL, and links from one page to another."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

URL: Any = "query-params"  # `bind=URL` writes a widget's value to the query string under its key, and reads it there


def search_page() -> StreamlitPage:
    """The page Search as the target of a link: Streamlit tells pages apart by their path alone, "" here."""
    return st.Page(lambda: None, title="Search", default=True)
