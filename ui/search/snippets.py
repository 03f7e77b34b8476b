"""The sentence to show of each hit. At first by words, which takes no time; the best one by meaning follows.

The encoder reads every sentence of every hit for that, which would keep the hits waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import streamlit as st

from semsearch import Query, Results

from ..shared import pool
from .results import Found, State

if TYPE_CHECKING:
    from semsearch.search.snippets import Snippet

AT_ONCE = 2  # hits whose best sentence by meaning is there from the beginning
KEPT = 1_024
Name = tuple[State, int, str, bool]
Snippets = dict[str, "Snippet"]  # by the key of the hit


def first(found: Sequence[Found], query: Query) -> tuple[Snippets, bool]:
    """A snippet of each hit, and whether all of them are the best ones already."""
    by_meaning = query.mode != "keyword" and bool(query.text.strip())
    best = _remembered(found, query)
    waiting = [each for each in found if each.key not in best]
    best |= _made(waiting[: AT_ONCE if by_meaning else None], query)
    rest = [each for each in waiting if each.key not in best]
    return best | _found(rest, replace(query, mode="keyword")), not rest


def complete(found: Sequence[Found], query: Query) -> None:
    """Find the best ones of all hits, for the next call of `first`."""
    known = _remembered(found, query)
    _made([each for each in found if each.key not in known], query)


def _remembered(found: Sequence[Found], query: Query) -> Snippets:
    known = _known()
    return {each.key: known[name] for each, name in _named(found, query) if name in known}


def _made(found: Sequence[Found], query: Query) -> Snippets:
    """The snippets, which are remembered."""
    made, known = _found(found, query), _known()
    known.update({name: made[each.key] for each, name in _named(found, query)})
    for old in list(known)[: max(0, len(known) - KEPT)]:
        del known[old]
    return made


def _found(found: Iterable[Found], query: Query) -> Snippets:
    made: Snippets = {}
    for index, group in groupby(sorted(found, key=lambda each: each.index), key=lambda each: each.index):
        own = list(group)
        results = Results(query, tuple(each.hit for each in own), {})
        made |= {each.key: one for each, one in zip(own, pool.index(index).snippets(results), strict=True)}
    return made


def _known() -> dict[Name, Snippet]:
    known: dict[Name, Snippet] = st.session_state.setdefault("snippets", {})
    return known


def _named(found: Sequence[Found], query: Query) -> list[tuple[Found, Name]]:
    """Each with what its best sentence depends on."""
    states = {each.index: pool.state(pool.index(each.index)) for each in found}
    how = query.text, query.mode == "keyword"
    return [(each, (states[each.index], each.hit.id, *how)) for each in found]
