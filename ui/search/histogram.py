"""How many documents there are in each part of the range of a number or a date."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from itertools import pairwise
from typing import Any

import streamlit as st

from semsearch import Index, SemsearchError
from semsearch.types import Facet, JsonObject

from ..shared import pool
from . import filters
from .results import State

BARS = 16
Part = tuple[Any, Any]  # the least and the greatest value of a bar: numbers or dates


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


def bars(facet: Facet, names: Sequence[str], chosen: Part) -> list[JsonObject]:
    """Each part with its label, the number of its documents, and whether it is within the chosen range."""
    made = []
    for low, high in parts(facet):
        count = sum(_count(name, filters.between(facet, low, high)) for name in names)
        label = f"{low:g}" if isinstance(low, float) else str(low)
        upper = f"{high:g}" if isinstance(high, float) else str(high)
        on = low <= chosen[1] and high >= chosen[0]
        made.append({"label": label if low == high else f"{label} – {upper}", "count": count, "on": on})
    return made


def _count(name: str, where: str) -> int:
    with suppress(SemsearchError):  # another index may lack the field
        index = pool.index(name)
        return _counted(pool.state(index), where, index)
    return 0


@st.cache_data(max_entries=1_024, show_spinner=False)
def _counted(state: State, where: str, _index: Index) -> int:
    return _index.count(where)
