"""How many documents have each value of a facet, or are in each part of its range, among those that pass filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import pairwise
from typing import Any, NamedTuple

import streamlit as st

from semsearch import Index, SemsearchError
from semsearch.types import Facet, JsonObject

from ..shared import pool
from . import filters
from .results import IndexHit, State

BARS = 16  # of a number or a date
Part = tuple[Any, Any]  # the least and the greatest value of a bar: numbers or dates
MOST = 20_000  # documents whose values are counted under a filter, so that a click has a bounded cost


class Others(NamedTuple):
    """The filters of a search without the choice of one facet: a `--where` filter and a path glob."""

    where: str | None = None
    path: str | None = None


NONE = Others()
Told = tuple[str | None, Mapping[str, Any], str]  # what a document has: its kind of file, its metadata, its folder


def among(facet: Facet, hits: Sequence[IndexHit]) -> Counter[str]:
    """In how many documents of the hits each value of a facet is."""
    documents = {(one.index, one.hit.document): one for one in hits}.values()
    return _counted(
        facet, [(each.loader, each.hit.metadata, filters.folder_of(each.hit.document)) for each in documents]
    )


def under(facet: Facet, names: Sequence[str], others: Others) -> Mapping[str, int] | None:
    """How many documents that pass the other filters have each value; None where more than MOST would be counted."""
    if others == NONE:
        return dict(facet.values) or None  # the store has not counted yes and no
    counted: Counter[str] = Counter()
    for name in names:
        with suppress(SemsearchError):  # another index may lack the field
            index = pool.index(name)
            passing = _passing(pool.state(index), others, index)
            if passing is None:
                return None
            counted += _counted(facet, passing)
    return counted


def passing(name: str, others: Others) -> int:
    """How many documents of an index pass; 0 where it lacks a field."""
    with suppress(SemsearchError):
        index = pool.index(name)
        return _number(pool.state(index), others, index)
    return 0


def _counted(facet: Facet, documents: Sequence[Told]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for loader, metadata, folder in documents:
        builtin = folder if facet.key == filters.FOLDER else loader
        value = builtin if facet.builtin else metadata.get(facet.key)
        if facet.kind == "flag":
            value = {True: "yes", False: "no"}.get(value) if isinstance(value, bool) else None
        counted.update({one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)})
    return counted


@st.cache_resource(max_entries=8, show_spinner=False)
def _passing(state: State, others: Others, _index: Index) -> list[Told] | None:
    ids = _index.matching(where=others.where, path=others.path)
    if len(ids) > MOST:
        return None
    rows = _index.documents(ids=ids)
    return [(each["loader"], each["metadata"] or {}, filters.folder_of(each["id"])) for each in rows]


@st.cache_data(max_entries=1_024, show_spinner=False)
def _number(state: State, others: Others, _index: Index) -> int:
    if others.path is None:
        return _index.count(others.where)
    return len(_index.matching(where=others.where, path=others.path))


def others(facet: Facet, facets: Sequence[Facet]) -> Others:
    """The filters that stand in the widgets, without the choice of this facet."""
    choices = st.session_state
    written = str(choices.get("where") or "").strip() or None
    chosen = (
        filters.condition(each, choices.get(filters.key(each), filters.nothing_chosen(each)))
        for each in facets
        if each != facet
    )
    return Others(filters.joined([written, *chosen]), str(choices.get("path") or "").strip() or None)


def parts(facet: Facet) -> list[Part]:
    """The range in at most BARS parts. Whole numbers and days are in exactly one; other numbers may be on a border.

    >>> parts(Facet("year", "number", 9, low=1990, high=1992))
    [(1990, 1990), (1991, 1991), (1992, 1992)]
    """
    low, high = filters.bounds(facet)
    if facet.kind == "date":
        days = _whole(low.toordinal(), high.toordinal())
        return [(date.fromordinal(one), date.fromordinal(other)) for one, other in days]
    if facet.whole:
        return _whole(low, high)
    return [(low + (high - low) * at / BARS, low + (high - low) * (at + 1) / BARS) for at in range(BARS)]


def _whole(low: int, high: int) -> list[tuple[int, int]]:
    span = high - low + 1
    bars = min(BARS, span)
    edges = [low + span * at // bars for at in range(bars + 1)]
    return [(one, other - 1) for one, other in pairwise(edges)]


def bars(facet: Facet, names: Sequence[str], chosen: Part, others: Others) -> list[JsonObject]:
    """Each part with its label, the number of its documents that pass the other filters, and whether it is chosen."""
    made = []
    for low, high in parts(facet):
        where = filters.joined([filters.between(facet, low, high), others.where])
        count = sum(passing(name, Others(where, others.path)) for name in names)
        label = f"{low:g}" if isinstance(low, float) else str(low)
        upper = f"{high:g}" if isinstance(high, float) else str(high)
        on = low <= chosen[1] and high >= chosen[0]
        made.append({"label": label if low == high else f"{label} – {upper}", "count": count, "on": on})
    return made
