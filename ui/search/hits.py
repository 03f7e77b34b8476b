"""Hits: a card for each, and what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Hit, Query
from semsearch.search.page_names import page_name

from ..shared import messages, widgets
from ..shared.messages import plain
from . import document_view, results
from .results import Answer, Found

LONGEST_TITLE = 120  # characters
COLOURS: dict[str, Literal["green", "blue"]] = {"strong": "green", "likely": "blue"}  # of the strength; others grey
UNFOLDED = "unfolded hit"
MOST_UNFOLDED = 30
CHANNELS = {  # Okabe & Ito 2008: colour-blind safe
    "cosine": ("meaning", "#0072B2"),
    "bm25": ("words", "#E69F00"),
    "rerank": ("second reading", "#009E73"),
}
SCORES = {"bm25": "BM25"}  # labels where they differ from the name
POOR = "no good match"


def show(query: Query, answer: Answer) -> None:
    """Every warning, and every hit."""
    for warning in [*_warnings(answer), *(f"{name} was not searched: {why}" for name, why in answer.refused.items())]:
        messages.warning(warning)
    for rank, each in enumerate(answer.found, 1):
        card(each, query, f"{rank}.", several=len(answer.results) > 1)


def _warnings(answer: Answer) -> list[str]:
    """The warnings of the indexes; "no good match" counts only where no index has one."""
    found = [(name, warning) for name, each in answer.results.items() for warning in each.warnings]
    poor = {name for name, warning in found if warning.startswith(POOR)}
    good = any(each and name not in poor for name, each in answer.results.items())
    return [f"{name}: {warning}" for name, warning in found if not (good and warning.startswith(POOR))]


def card(each: Found, query: Query, lead: str, *, several: bool) -> None:
    """A hit after `lead`, its rank: title, place and strength on one line, then text, and a row of buttons."""
    hit = each.hit
    with st.container(border=True, gap="xxsmall"):
        row = widgets.row()
        row.markdown(f"**{lead} {plain(messages.one_line(_title(each), LONGEST_TITLE))}**", width="content")
        source = hit.document if hit.document.startswith(hit.path) else f"{hit.path} · {hit.document}"  # and its record
        messages.caption(f"{f'{each.index} · ' if several else ''}{source}{_place(hit)}", row)
        if hit.strength is not None:
            row.badge(_strength(hit), color=COLOURS.get(hit.match, "gray"), width="content")
        if hit.rerank is not None:
            row.badge(f"read again · {floor(100 * hit.rerank) / 100:.2f}", color="gray", width="content")
        st.html(results.html(each, query))
        _actions(each)
        document_view.show(each)
        _unfolded(each, query)


def _strength(hit: Hit) -> str:
    """The word for the strength of a hit, and the number, rounded down: 0.899 is not likely."""
    word = "no match" if hit.match == "none" else hit.match
    return f"{word} · strength {floor(100 * (hit.strength or 0.0)) / 100:.2f}"


def _title(each: Found) -> str:
    """The title of the document, or the name of its file, and the heading of the passage."""
    hit = each.hit
    title = each.title or str(hit.metadata.get("title") or hit.path.rsplit("/", 1)[-1])
    return title if hit.heading in (None, title) else f"{title} · {hit.heading}"


def _place(hit: Hit) -> str:
    page = f" · {page_name(hit.document)} {hit.page}" if hit.page else ""
    return f"{f' · line {hit.line}' if hit.line else ''}{page}"


def _parts(hit: Hit) -> str:
    """The share of each channel in the score that ranks the hit, as a bar of HTML without a word of the document."""
    whole = sum(hit.parts.values())
    if not hit.parts or whole <= 0:
        return ""
    shares = {CHANNELS[name]: max(0.0, part) / whole for name, part in hit.parts.items()}
    text = ", ".join(f"{label} {share:.0%}" for (label, _), share in shares.items())
    sums = " + ".join(f"{part:.4f} by {CHANNELS[name][0]}" for name, part in hit.parts.items())
    bar = "".join(
        f'<span style="width:{share:.1%};background:{colour}"></span>' for (_, colour), share in shares.items()
    )
    hint = f"score {hit.score:.4f} = {sums}"
    return f'{STYLE}<div class="parts" role="img" title="{text}: {hint}">{bar}</div>'


STYLE = """<style>
.parts { display: flex; width: 4rem; height: 5px; border-radius: 3px; overflow: hidden; background: #8884; }
</style>"""


def _actions(each: Found) -> None:
    """Buttons: open, more and less like this, unfold."""
    row = widgets.row()
    _open_button(row, each)
    for kind, icon, way in (("more", "add", "towards"), ("less", "remove", "away from")):
        label, key = f"{kind.capitalize()} like this", f"{kind} {each.key}"
        hint = f"Adds the chip {plain(each.chip)} above, which moves the search {way} this passage."
        widgets.button(label, icon, _add_chip, (kind, each.chip), place=row, key=key, hint=hint, kind="tertiary")
    rest, copies = each.hit.more_in_document, len(each.hit.near_copies)
    for kind, number, label in (
        ("rest", rest, f"{rest} more in this document"),
        ("copies", copies, f"{copies} near {'copies' if copies > 1 else 'copy'}"),
    ):
        if number:
            icon, key = f"unfold_{'less' if _is_unfolded(kind, each) else 'more'}", f"{kind} {each.key}"
            widgets.button(label, icon, _unfold, (kind, each), place=row, key=key, kind="tertiary")
    scores = [f"{SCORES.get(name, name)} {value:.3f}" for name, value in each.hit.scores.items()]
    row.caption(plain(" · ".join([each.chip, *scores])), width="content")
    if bar := _parts(each.hit):
        row.html(bar, width="content")


def _open_button(place: DeltaGenerator, each: Found) -> None:
    label, key = "Close" if document_view.is_open(each) else "Open", f"open {each.key}"
    hint, click = "The document, with the passage marked.", document_view.toggle
    widgets.button(label, "open_in_full", click, (each,), place=place, key=key, hint=hint, kind="tertiary")


def _add_chip(kind: str, chip: str) -> None:
    st.session_state[kind] = list(dict.fromkeys([*st.session_state.get(kind, []), chip]))


def _is_unfolded(kind: str, each: Found) -> bool:
    return bool(st.session_state.get(UNFOLDED) == (kind, each.key))


def _unfold(kind: str, each: Found) -> None:
    st.session_state[UNFOLDED] = None if _is_unfolded(kind, each) else (kind, each.key)


def _unfolded(each: Found, query: Query) -> None:
    """The other passages of the document that were found, or its near copies."""
    search = next((search for kind, search in (("rest", _rest), ("copies", _copies)) if _is_unfolded(kind, each)), None)
    if search is None:
        return
    with messages.errors():
        for found in search(each, query):
            with st.container(border=True):
                row = widgets.row()
                strength = "" if found.hit.strength is None else f"{_strength(found.hit)} · "
                messages.caption(f"{found.hit.path}{_place(found.hit)} · {strength}{found.chip}", row)
                _open_button(row, found)
                st.html(results.html(found, query))
                document_view.show(found)


def _rest(each: Found, query: Query) -> Sequence[Found]:
    k = min(each.hit.more_in_document, MOST_UNFOLDED) + 1
    found = results.search_within(each, query, [each.hit.document], k=k)
    return [other for other in found if other.hit.id != each.hit.id]


def _copies(each: Found, query: Query) -> Sequence[Found]:
    """The best passage of every copy, of any strength: it is as strong as that of its original."""
    documents = each.hit.near_copies[:MOST_UNFOLDED]
    found = results.search_within(each, replace(query, min_strength=0.0), documents, k=4 * len(documents))
    best: dict[str, Found] = {}
    for other in found:
        best.setdefault(other.hit.document, other)
    return [best[document] for document in documents if document in best]
