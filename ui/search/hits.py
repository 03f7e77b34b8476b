"""What was found, as it is shown: a card for each hit, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from semsearch import Hit, Query

from ..shared import pool
from . import document_view
from . import results as answering
from .results import Answer, Found

UNFOLDED = "unfolded hit"
MOST_UNFOLDED = 30
CHANNELS = {"cosine": ("meaning", "#0072B2"), "bm25": ("words", "#E69F00")}  # Okabe & Ito 2008: for every eye
SCORES = {"cosine": "cosine", "bm25": "BM25"}
POOR = "no good match"


def show(query: Query, answer: Answer) -> None:
    """Every warning, and every hit."""
    for warning in [*_warnings(answer), *(f"{name} was not searched: {why}" for name, why in answer.refused.items())]:
        st.warning(pool.plain(warning), icon=":material/warning:")
    for each in answer.found:
        card(each, query, several=len(answer.results) > 1)


def _warnings(answer: Answer) -> list[str]:
    """What the indexes say of their hits; that one has no good match only where none has."""
    told = [(name, warning) for name, results in answer.results.items() for warning in results.warnings]
    poor = {name for name, warning in told if warning.startswith(POOR)}
    good = any(results and name not in poor for name, results in answer.results.items())
    return [f"{name}: {warning}" for name, warning in told if not (good and warning.startswith(POOR))]


def card(each: Found, query: Query, *, several: bool, lead: str = "") -> None:
    """A hit, led by its rank: what it is, how strong, why, where it matches, and what can be done with it."""
    hit = each.hit
    with st.container(border=True):
        left, right = st.columns([5, 2], vertical_alignment="center")
        left.markdown(f"**{lead or f'{each.rank}.'} {pool.plain(_title(each))}**")
        left.caption(pool.plain((f"{each.index} · " if several else "") + f"{_source(hit)}{_place(hit)}"))
        if hit.strength is not None:
            right.progress(min(1.0, max(0.0, hit.strength)), text=f"strength {hit.strength:.2f}")
        right.caption(_scores(hit))
        if bar := _parts(hit):
            right.html(bar)
        st.html(answering.html(each, query))
        _actions(each)
        document_view.show(each.index, hit)
        _unfolded(each, query)


def _title(each: Found) -> str:
    """The title of the document, or the name of its file, and the heading that the passage stands under."""
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
    """What each channel gave to the score that ranks the hit, as a bar; nothing of it is the document's."""
    whole = sum(hit.parts.values())
    if not hit.parts or whole <= 0:
        return ""
    shares = {name: max(0.0, part) / whole for name, part in hit.parts.items()}
    told = ", ".join(f"{CHANNELS[name][0]} {share:.0%}" for name, share in shares.items())
    sums = " + ".join(f"{part:.4f} by {CHANNELS[name][0]}" for name, part in hit.parts.items())
    bar = "".join(
        f'<span style="width:{share:.1%};background:{CHANNELS[name][1]}"></span>' for name, share in shares.items()
    )
    return (
        f'{STYLE}<div class="parts" title="score {hit.score:.4f} = {sums}"><div>{bar}</div><small>{told}</small></div>'
    )


STYLE = """<style>
.parts > div { display: flex; height: 5px; border-radius: 3px; overflow: hidden; background: rgb(128 128 128 / 30%); }
.parts small { opacity: 0.75; }
</style>"""


def _actions(each: Found) -> None:
    """Buttons: open, more and less like this, what is folded."""
    hit, key = each.hit, f"{each.index}/{each.hit.id}"
    row = st.container(horizontal=True, vertical_alignment="center")
    _open(row.button, each)
    for kind, icon in (("more", "add"), ("less", "remove")):
        row.button(f"{kind.capitalize()} like this", key=f"{kind} {key}", icon=f":material/{icon}:", type="tertiary",
                   on_click=_add_chip, args=(kind, each.chip),
                   help=f"Adds {pool.plain(each.chip)} as a chip above, which pulls the search "
                   f"{'to' if kind == 'more' else 'from'} this passage.")  # fmt: skip
    folded = {
        "rest": f"{hit.more_in_document} more in this document" if hit.more_in_document else "",
        "copies": f"{len(hit.near_copies)} near {'copies' if len(hit.near_copies) > 1 else 'copy'}"
        if hit.near_copies else "",
    }  # fmt: skip
    for kind, label in folded.items():
        if label:
            shown = st.session_state.get(UNFOLDED) == (kind, each.index, hit.id)
            row.button(label, key=f"{kind} {key}", type="tertiary", on_click=_unfold, args=(kind, each),
                       icon=f":material/unfold_{'less' if shown else 'more'}:")  # fmt: skip
    row.caption(pool.plain(each.chip))


def _open(button: Callable[..., bool], each: Found) -> None:
    button("Close" if document_view.is_open(each.index, each.hit) else "Open", key=f"open {each.index}/{each.hit.id}",
           icon=":material/open_in_full:", type="tertiary", on_click=document_view.ask, args=(each.index, each.hit),
           help="The document, with the passage marked.")  # fmt: skip


def _add_chip(kind: str, chip: str) -> None:
    chips = list(st.session_state.get(kind, []))
    if chip not in chips:
        st.session_state[kind] = [*chips, chip]


def _unfold(kind: str, each: Found) -> None:
    now = (kind, each.index, each.hit.id)
    st.session_state[UNFOLDED] = None if st.session_state.get(UNFOLDED) == now else now


def _unfolded(each: Found, query: Query) -> None:
    """The other passages of the document that were found, or the documents that say the same."""
    hit = each.hit
    kind = next((k for k in ("rest", "copies") if st.session_state.get(UNFOLDED) == (k, each.index, hit.id)), None)
    if kind is None:
        return
    with pool.told():
        for found in _rest(each, query) if kind == "rest" else _copies(each, query):
            with st.container(border=True):
                row = st.container(horizontal=True, vertical_alignment="center")
                strength = "" if found.hit.strength is None else f" · strength {found.hit.strength:.2f}"
                row.caption(pool.plain(f"{found.hit.path}{_place(found.hit)}{strength} · {found.chip}"))
                _open(row.button, found)
                st.html(answering.html(found, query))
                document_view.show(found.index, found.hit)


def _rest(each: Found, query: Query) -> Sequence[Found]:
    most = min(each.hit.more_in_document, MOST_UNFOLDED) + 1
    found = answering.within(each, query, [each.hit.document], k=most)
    return [other for other in found if other.hit.id != each.hit.id]


def _copies(each: Found, query: Query) -> Sequence[Found]:
    """The best passage of every copy: what was asked may be chosen by strength, a copy is as strong as its original."""
    documents = each.hit.near_copies[:MOST_UNFOLDED]
    found = answering.within(each, replace(query, min_strength=0.0), documents, k=4 * len(documents))
    best: dict[str, Found] = {}
    for other in found:
        best.setdefault(other.hit.document, other)
    return [best[document] for document in documents if document in best]
