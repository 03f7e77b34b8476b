"""The document of an open passage, for the pane beside the hits: text, matching passages, page image, neighbours."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePosixPath

import streamlit as st

from semsearch import Index, Query, SemsearchError
from semsearch.documents.suffixes import page_name
from semsearch.types import JsonObject
from semsearch.utils.untrusted import visible

from ..shared import messages, pool
from ..shared.texts import markup, structure
from ..shared.texts.structure import Match
from . import card, hit_list, results
from .results import IndexHit, State

OPEN = "open"  # the parameter of the URL
PAGE, DRAWN = "page shown", "page drawn"  # of the session
COMING: JsonObject = {"coming": True}  # in place of an image that is being drawn
AROUND = 6_000  # characters shown before and after the passage: a book of a megabyte would stop the browser
MATCHES, NEAR = 60, 4
NEAR_LETTERS = 160


def opened() -> str:
    """The key of the open passage, also of one that the URL names; "" for none."""
    return st.query_params.get(OPEN, "")


def open_at(key: str) -> None:
    """Open a passage, or close the pane with ""."""
    st.session_state.pop(PAGE, None)
    if key:
        st.query_params[OPEN] = key
    else:
        st.query_params.pop(OPEN, None)


def turn_to(page: object) -> None:
    """Show another page of the open PDF."""
    if isinstance(page, int) and 0 < page < 10**6:
        st.session_state[PAGE] = page


def data(query: Query, names: Sequence[str]) -> JsonObject | None:
    """What the pane shows, without the image of the page; None where nothing is open.

    Raises SemsearchError for a passage that is gone.
    """
    place = hit_list.split(opened(), names)
    if place is None:
        return None
    name, number = place
    index = pool.index(name)
    return _document(pool.state(index), name, number, query, index)


def image(data: JsonObject) -> JsonObject | None:
    """The page image of an open document as a data URL, or why there is none; None for a document without pages."""
    if not data["page"]:
        return None
    drawn, number = st.session_state.get(DRAWN, ("", 0, {})), _page_number(data)
    return drawn[2] if drawn[:2] == (data["key"], number) else COMING


def draw(names: Sequence[str]) -> None:
    """Draw the page of the open document, if it has pages and its image is not there."""
    place = hit_list.split(opened(), names)
    if place is None:
        return
    index = pool.index(place[0])
    passage = index.get(place[1])
    if passage["page"] and page_name(passage["document"]) == "page":
        number = _page_number(passage)
        st.session_state[DRAWN] = f"{place[0]}/{place[1]}", number, _image(index, passage, number)


def _page_number(data: JsonObject) -> int:
    return int(st.session_state.get(PAGE) or data["page"])


def _image(index: Index, passage: JsonObject, page: int) -> JsonObject:
    try:
        return _drawn(pool.state(index), passage["document"], page, passage["text"], index)
    except SemsearchError as error:
        return {"problem": visible(f"The page cannot be shown: {error}")}


@st.cache_data(max_entries=8, show_spinner=False, scope="session")
def _document(state: State, name: str, number: int, query: Query, _index: Index) -> JsonObject:
    passage = _index.get(number)
    whole = str(_index.get(passage["document"])["text"])
    shown = max(0, passage["start"] - AROUND), min(len(whole), passage["end"] + AROUND)
    matches = _matches(_index, name, query, passage)
    kind = page_name(passage["document"])
    place = [passage["heading"], passage["document"], f"{kind} {passage['page']}" if passage["page"] else ""]
    title = str(passage["title"] or PurePosixPath(passage["document"]).name)
    return {
        "key": f"{name}/{number}",
        "title": visible(messages.one_line(title, card.LONGEST_TITLE)),
        "place": [visible(part) for part in place if part],
        "page": passage["page"] if kind == "page" else None,  # of slides and chapters there is no image
        "blocks": structure.blocks(whole, shown, matches, _headings(_index, passage), passage["document"]),
        "cut": [shown[0] > 0, shown[1] < len(whole)],
        "matches": [{"key": each.key, "at": each.start / max(1, len(whole))} for each in matches],
        "left": visible(pool.left_out_beside(_index, passage["document"])),
        "near": _neighbours(_index, name, number),
    }


def _matches(index: Index, name: str, query: Query, passage: JsonObject) -> list[Match]:
    """The passages of the document that the query finds, in their order; the open one is always among them."""
    open_one = Match(f"{name}/{passage['id']}", passage["start"], passage["end"], structure.OPEN)
    if not (query.text.strip() or query.more or query.like):
        return [open_one] if passage["start"] else []  # a document that is opened as a whole has no passage to mark
    here = replace(query, k=MATCHES, min_strength=0.0)
    hits = [each.hit for each in results.search_within(name, here, [passage["document"]])]
    others = [hit for hit in hits if hit.id != passage["id"] and not card.worse_than_chance(hit)]
    matches = [Match(f"{name}/{hit.id}", hit.start, hit.end, structure.MATCH) for hit in others]
    return sorted([open_one, *matches], key=lambda each: each.start)


def _headings(index: Index, passage: JsonObject) -> frozenset[str]:
    return frozenset(each["heading"] for each in index.passages(passage["document"]) if each["heading"])


def _neighbours(index: Index, name: str, number: int) -> list[JsonObject]:
    """The passages nearest to the open one in meaning, by document."""
    with suppress(SemsearchError):  # a passage may have no vector
        return [_neighbour(each) for each in results.of_index(name, index.similar(number, k=NEAR))]
    return []


def _neighbour(each: IndexHit) -> JsonObject:
    hit = each.hit
    read = "".join(markup.letters(card.text(hit), hit.document))
    return {
        "key": each.key,
        "title": visible(messages.one_line(card.title(each), card.LONGEST_TITLE)),
        "place": card.place(each),
        "text": visible(messages.one_line(read, NEAR_LETTERS)),
    }


@st.cache_data(max_entries=32, show_spinner=False)
def _drawn(state: State, document: str, page: int, text: str, _index: Index) -> JsonObject:
    drawn = _index.page_image(document, page, text=text)
    written = base64.b64encode(drawn.png).decode("ascii")
    return {"url": f"data:image/png;base64,{written}", "page": drawn.page, "pages": drawn.pages, "boxes": drawn.boxes}
