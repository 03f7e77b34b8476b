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

AT_ONCE = 1  # hits whose best sentence by meaning is there from the beginning
KEPT = 1_024
Name = tuple[State, int, str, bool]
Snippets = dict[str, "Snippet"]  # by the key of the hit


def first(found: Sequence[Found], query: Query, above: int) -> tuple[Snippets, bool]:
    """A snippet of each hit, and whether they are the best ones by now of those `above` the line of chance.

    Those below it have no sentence that is near in meaning.
    """
    best = _remembered(found, query)
    waiting = _waiting(found, query, above, best)
    best |= _made(waiting[:AT_ONCE], query)
    rest = [each for each in found if each.key not in best]
    return best | _found(rest, replace(query, mode="keyword")), len(waiting) <= AT_ONCE


def complete(found: Sequence[Found], query: Query, above: int) -> None:
    """Find the best ones, for the next call of `first`."""
    _made(_waiting(found, query, above, _remembered(found, query)), query)


def _waiting(found: Sequence[Found], query: Query, above: int, best: Snippets) -> list[Found]:
    """The hits whose best sentence is to be found by meaning."""
    by_meaning = query.mode != "keyword" and bool(query.text.strip())
    return [each for each in found[:above] if each.key not in best] if by_meaning else []


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
    states = {name: pool.state(pool.index(name)) for name in {each.index for each in found}}
    how = query.text, query.mode == "keyword"
    return [(each, (states[each.index], each.hit.id, *how)) for each in found]
