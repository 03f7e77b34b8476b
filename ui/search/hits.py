"""Hits: a card for each, and what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Hit, Query

from ..shared import messages, widgets
from ..shared.messages import plain
from . import document_view, results
from .results import Answer, Found

UNFOLDED = "unfolded hit"
MOST_UNFOLDED = 30
CHANNELS = {"cosine": ("meaning", "#0072B2"), "bm25": ("words", "#E69F00")}  # Okabe & Ito 2008: colour-blind safe
SCORES = {"cosine": "cosine", "bm25": "BM25"}
POOR = "no good match"


def show(query: Query, answer: Answer) -> None:
    """Every warning, and every hit."""
    for warning in [*_warnings(answer), *(f"{name} was not searched: {why}" for name, why in answer.refused.items())]:
        messages.warning(warning)
    for each in answer.found:
        card(each, query, several=len(answer.results) > 1)


def _warnings(answer: Answer) -> list[str]:
    """The warnings of the indexes; that one has no good match counts only where none has."""
    found = [(name, warning) for name, each in answer.results.items() for warning in each.warnings]
    poor = {name for name, warning in found if warning.startswith(POOR)}
    good = any(each and name not in poor for name, each in answer.results.items())
    return [f"{name}: {warning}" for name, warning in found if not (good and warning.startswith(POOR))]


def card(each: Found, query: Query, *, several: bool, lead: str = "") -> None:
    """A hit after its rank: title, place, strength, scores, text, and what can be done with it."""
    hit = each.hit
    with st.container(border=True):
        left, right = st.columns([5, 2], vertical_alignment="center")
        left.markdown(f"**{lead or f'{each.rank}.'} {plain(_title(each))}**")
        messages.caption((f"{each.index} · " if several else "") + f"{_source(hit)}{_place(hit)}", left)
        if hit.strength is not None:
            right.progress(min(1.0, max(0.0, hit.strength)), text=f"strength {hit.strength:.2f}")
        right.caption(_scores(hit))
        if bar := _parts(hit):
            right.html(bar)
        st.html(results.html(each, query))
        _actions(each)
        document_view.show(each.index, hit)
        _unfolded(each, query)


def _title(each: Found) -> str:
    """The title of the document, or the name of its file, and the heading of the passage."""
    hit = each.hit
    title = each.title or str(hit.metadata.get("title") or hit.path.rsplit("/", 1)[-1])
    return title if hit.heading in (None, title) else f"{title} · {hit.heading}"


def _source(hit: Hit) -> str:
    """Its file, and which record of it."""
    return hit.document if hit.document.startswith(hit.path) else f"{hit.path} · {hit.document}"


def _place(hit: Hit) -> str:
    return f"{f' · line {hit.line}' if hit.line else ''}{f' · page {hit.page}' if hit.page else ''}"


def _scores(hit: Hit) -> str:
    return " · ".join(f"{SCORES.get(name, name)} {value:.3f}" for name, value in hit.scores.items())


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
    return f'{STYLE}<div class="parts" title="{hint}"><div>{bar}</div><small>{text}</small></div>'


STYLE = """<style>
.parts > div { display: flex; height: 5px; border-radius: 3px; overflow: hidden; background: rgb(128 128 128 / 30%); }
.parts small { opacity: 0.75; }
</style>"""


def _actions(each: Found) -> None:
    """Buttons: open, more and less like this, unfold."""
    hit, name = each.hit, f"{each.index}/{each.hit.id}"
    row = widgets.row()
    _open_button(row, each)
    for kind, icon, way in (("more", "add", "towards"), ("less", "remove", "away from")):
        label, key = f"{kind.capitalize()} like this", f"{kind} {name}"
        hint = f"Adds the chip {plain(each.chip)} above, which moves the search {way} this passage."
        widgets.button(label, icon, _add_chip, (kind, each.chip), place=row, key=key, hint=hint, kind="tertiary")
    rest, copies = hit.more_in_document, len(hit.near_copies)
    folded = {"rest": (rest, f"{rest} more in this document")}
    folded["copies"] = (copies, f"{copies} near {'copies' if copies > 1 else 'copy'}")
    for kind, (number, label) in folded.items():
        if number:
            shown = st.session_state.get(UNFOLDED) == (kind, each.index, hit.id)
            icon, key = f"unfold_{'less' if shown else 'more'}", f"{kind} {name}"
            widgets.button(label, icon, _unfold, (kind, each), place=row, key=key, kind="tertiary")
    messages.caption(each.chip, row)


def _open_button(place: DeltaGenerator, each: Found) -> None:
    label = "Close" if document_view.is_open(each.index, each.hit) else "Open"
    hint, key, args = (
        "The document, with the passage marked.",
        f"open {each.index}/{each.hit.id}",
        (each.index, each.hit),
    )
    widgets.button(label, "open_in_full", document_view.toggle, args, place=place, key=key, hint=hint, kind="tertiary")


def _add_chip(kind: str, chip: str) -> None:
    chips = list(st.session_state.get(kind, []))
    if chip not in chips:
        st.session_state[kind] = [*chips, chip]


def _unfold(kind: str, each: Found) -> None:
    now = (kind, each.index, each.hit.id)
    st.session_state[UNFOLDED] = None if st.session_state.get(UNFOLDED) == now else now


def _unfolded(each: Found, query: Query) -> None:
    """The other passages of the document that were found, or its near copies."""
    hit = each.hit
    kind = next((k for k in ("rest", "copies") if st.session_state.get(UNFOLDED) == (k, each.index, hit.id)), None)
    if kind is None:
        return
    with messages.errors():
        for found in _rest(each, query) if kind == "rest" else _copies(each, query):
            with st.container(border=True):
                row = widgets.row()
                strength = "" if found.hit.strength is None else f" · strength {found.hit.strength:.2f}"
                messages.caption(f"{found.hit.path}{_place(found.hit)}{strength} · {found.chip}", row)
                _open_button(row, found)
                st.html(results.html(found, query))
                document_view.show(found.index, found.hit)


def _rest(each: Found, query: Query) -> Sequence[Found]:
    k = min(each.hit.more_in_document, MOST_UNFOLDED) + 1
    found = results.search_within(each, query, [each.hit.document], k=k)
    return [other for other in found if other.hit.id != each.hit.id]


def _copies(each: Found, query: Query) -> Sequence[Found]:
    """The best passage of every copy, whatever its strength: it is as strong as that of its original."""
    documents = each.hit.near_copies[:MOST_UNFOLDED]
    found = results.search_within(each, replace(query, min_strength=0.0), documents, k=4 * len(documents))
    best: dict[str, Found] = {}
    for other in found:
        best.setdefault(other.hit.document, other)
    return [best[document] for document in documents if document in best]
