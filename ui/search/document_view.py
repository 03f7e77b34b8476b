"""A hit in its document: the text with the passage marked, and of a PDF the image of its page."""

from __future__ import annotations

import streamlit as st

from semsearch import Hit, Index, SemsearchError
from semsearch.search.page_names import page_name

from ..shared import highlight, messages, pool, scripts, widgets
from .results import Found, State

AROUND = 6_000  # characters shown before and after the passage: a book of a megabyte would stop the browser
OPEN, PAGE, TO_DRAW = "open hit", "page shown", "page to draw"
HEIGHT = 420


def toggle(each: Found) -> None:
    """Open a hit, or close it where it is open."""
    st.session_state[OPEN] = None if is_open(each) else each.key
    st.session_state[PAGE] = each.hit.page


def is_open(each: Found) -> bool:
    """Whether the document of this hit is shown."""
    return bool(st.session_state.get(OPEN) == each.key)


def show(each: Found) -> None:
    """The document of an open hit, with the passage marked; a page of a PDF beside it, or below in a narrow window."""
    if not is_open(each):
        return
    with messages.errors():
        index = pool.index(each.index)
        if each.hit.page is None or page_name(each.hit.document) != "page":
            _text(index, each.hit)
            return
        picture, text = st.columns(2)
        with text:
            _text(index, each.hit)
        st.session_state[TO_DRAW] = (picture, index, each.hit)  # after all else: it takes a moment


def draw_page() -> None:
    """The page image of the open hit, once all hits are shown."""
    if waiting := st.session_state.pop(TO_DRAW, None):
        place, index, hit = waiting
        with place, messages.errors():
            _picture(index, hit)


def _text(index: Index, hit: Hit) -> None:
    text = index.get(hit.document)["text"]
    first, last = max(0, hit.start - AROUND), min(len(text), hit.end + AROUND)
    with st.container(height=HEIGHT):
        messages.caption(hit.path + (f" · {page_name(hit.document)} {hit.page}" if hit.page else ""))
        st.html(highlight.passage(text[first:last], (0, 0), [(hit.start - first, hit.end - first)], whole=True))
        scripts.scroll()


def _picture(index: Index, hit: Hit) -> None:
    """The page, with buttons for its neighbours; or why there is none."""
    try:
        wanted = int(st.session_state.get(PAGE) or hit.page or 1)
        png, page, pages = _drawn(pool.state(index), hit.document, wanted, index)
    except SemsearchError as error:
        messages.info(f"The page cannot be shown: {error}", icon="hide_image")
        return
    with st.container(border=True):
        st.image(png, width="stretch", alt=f"page {page} of {pages}")
    st.caption(f"page {page} of {pages}" + ("" if page == hit.page else f" · the passage is on page {hit.page}"))
    row = st.container(horizontal=True)
    for label, icon, other in (("Previous page", "arrow_back", page - 1), ("Next page", "arrow_forward", page + 1)):
        off, key = not 1 <= other <= pages, f"{label} {hit.id}"
        turn, args = st.session_state.update, ({PAGE: other},)
        widgets.button(label, icon, turn, args, place=row, key=key, kind="tertiary", off=off)


@st.cache_data(max_entries=32, show_spinner="Drawing the page …")
def _drawn(state: State, document: str, page: int, _index: Index) -> tuple[bytes, int, int]:
    found = _index.page_image(document, page)
    return found.png, found.page, found.pages
