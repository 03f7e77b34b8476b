"""What was found, as it is shown: a card for each hit, what could be loosened, the times, downloads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from semsearch import Hit, Query, Results

from . import context, held, spreadsheet

COLUMNS = ("rank", "index", "id", "path", "line", "page", "heading", "strength", "score", "cosine", "bm25", "text")


@dataclass(frozen=True, slots=True)
class Found:
    """A hit, the index that it is from, and its rank among all of them."""

    index: str
    hit: Hit
    rank: int
    html: str
    chip: str  # how a chip names it


@dataclass(frozen=True, slots=True)
class Answer:
    """What every index gave."""

    found: tuple[Found, ...]
    results: dict[str, Results]


def show(query: Query, answer: Answer) -> None:
    """Every hit, or what to loosen; then the times."""
    for name, results in answer.results.items():
        for warning in results.warnings:
            st.warning(held.plain(f"{name}: {warning}"), icon=":material/warning:")
    if not answer.found:
        _nothing(query, list(answer.results))
    for each in answer.found:
        _hit(each, several=len(answer.results) > 1)
    _foot(query, answer)


def _hit(each: Found, *, several: bool) -> None:
    hit = each.hit
    with st.container(border=True):
        left, right = st.columns([5, 2], vertical_alignment="center")
        place = f"{hit.path}{f' · line {hit.line}' if hit.line else ''}{f' · page {hit.page}' if hit.page else ''}"
        left.markdown(f"**{each.rank}. {held.plain(_title(hit))}**")
        left.caption(held.plain((f"{each.index} · " if several else "") + place))
        if hit.strength is not None:
            right.progress(min(1.0, max(0.0, hit.strength)), text=f"strength {hit.strength:.2f}")
        right.caption(" · ".join(f"{name} {value:.3f}" for name, value in hit.scores.items()))
        st.html(each.html)
        _more(each)


def _title(hit: Hit) -> str:
    return hit.heading or str(hit.metadata.get("title") or hit.path.rsplit("/", 1)[-1])


def _more(each: Found) -> None:
    """What can be done with a hit."""
    hit, key = each.hit, f"{each.index}/{each.hit.id}"
    row = st.container(horizontal=True, vertical_alignment="center")
    row.button("Open", key=f"open {key}", icon=":material/open_in_full:", type="tertiary",
               on_click=context.ask, args=(each.index, hit), help="The document, with the passage marked.")  # fmt: skip
    for kind, icon in (("more", "add"), ("less", "remove")):
        row.button(f"{kind.capitalize()} like this", key=f"{kind} {key}", icon=f":material/{icon}:", type="tertiary",
                   on_click=_add_chip, args=(kind, each.chip))  # fmt: skip
    told = [each.chip]
    told += [f"{hit.more_in_document} more in this document"] if hit.more_in_document else []
    told += [f"{len(hit.near_copies)} near copies: {', '.join(hit.near_copies[:3])}"] if hit.near_copies else []
    row.caption(held.plain(" · ".join(told)))
    context.show(each.index, hit)


def _add_chip(kind: str, chip: str) -> None:
    chips = list(st.session_state.get(kind, []))
    if chip not in chips:
        st.session_state[kind] = [*chips, chip]


def _nothing(query: Query, names: Sequence[str]) -> None:
    """What to loosen, and what would be nearest then."""
    loosened = {
        "the least strength": replace(query, min_strength=0.0),
        "the filters": replace(query, where=None, path=None),
        "the words that have to be there": replace(query, must=()),
        "all of these": replace(query, min_strength=0.0, where=None, path=None, must=()),
    }
    st.info("Nothing was found.", icon=":material/search_off:")
    for what, other in loosened.items():
        if other == query:
            continue
        best = [hit for name in names for hit in held.index(name).search(replace(other, k=1))]
        if best:
            hit = max(best, key=lambda one: one.strength or 0)
            strength = "" if hit.strength is None else f", strength {hit.strength:.2f}"
            st.markdown(f"Without {what} the nearest would be **{held.plain(hit.path)}**{strength}.")
            return
    st.caption("Try other words, or search by meaning.")


def _foot(query: Query, answer: Answer) -> None:
    took = [results.took_ms for results in answer.results.values()]
    encode, search = (sum(each.get(part, 0.0) for each in took) for part in ("encode", "search"))
    told = (
        f"{len(answer.found)} hits · query encoded in {encode:.1f} ms, searched in {search:.1f} ms · {_devices(answer)}"
    )
    row = st.container(horizontal=True, vertical_alignment="center")
    row.caption(told)
    rows = [record(each) for each in answer.found]
    row.download_button("JSON", json.dumps(rows, ensure_ascii=False, indent=1), "hits.json", "application/json")
    row.download_button("CSV", table(rows), "hits.csv", "text/csv")


def _devices(answer: Answer) -> str:
    """Where the encoders of these indexes compute."""
    spaces = (space for name in answer.results for space in held.index(name).info()["spaces"])
    return ", ".join(dict.fromkeys(str(space["encoder"].get("device", "cpu")) for space in spaces))


def record(each: Found) -> dict[str, Any]:
    """A hit as downloads have it."""
    hit = each.hit
    told = {name: getattr(hit, name) for name in ("id", "path", "line", "page", "heading", "strength", "score", "text")}
    scores = {name: hit.scores.get(name) for name in ("cosine", "bm25")}
    return {"rank": each.rank, "index": each.index, **told, **scores, "metadata": dict(hit.metadata)}


def table(rows: Iterable[dict[str, Any]]) -> str:
    """CSV that a spreadsheet opens without running any cell: what could be a formula is led by an apostrophe."""
    return spreadsheet.table(rows, COLUMNS)
