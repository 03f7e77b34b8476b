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
from .results import IndexHit, State

if TYPE_CHECKING:
    from semsearch.search.snippets import Snippet

AT_ONCE = 1  # hits whose best sentence by meaning is there from the beginning
KEPT = 1_024
Name = tuple[State, int, str, bool]
Snippets = dict[str, "Snippet"]  # by the key of the hit


def first(hits: Sequence[IndexHit], query: Query, above: int) -> tuple[Snippets, bool]:
    """A snippet of each hit, and whether they are the best ones by now of those `above` the line of chance.

    Those below it have no sentence that is near in meaning.
    """
    best = _remembered(hits, query)
    waiting = _waiting(hits, query, above, best)
    best |= _made(waiting[:AT_ONCE], query)
    rest = [each for each in hits if each.key not in best]
    return best | _closest_sentences(rest, replace(query, mode="keyword")), len(waiting) <= AT_ONCE


def complete(hits: Sequence[IndexHit], query: Query, above: int) -> None:
    """Find the best ones, for the next call of `first`."""
    _made(_waiting(hits, query, above, _remembered(hits, query)), query)


def _waiting(hits: Sequence[IndexHit], query: Query, above: int, best: Snippets) -> list[IndexHit]:
    """The hits whose best sentence is to be found by meaning."""
    by_meaning = query.mode != "keyword" and bool(query.text.strip())
    return [each for each in hits[:above] if each.key not in best] if by_meaning else []


def _remembered(hits: Sequence[IndexHit], query: Query) -> Snippets:
    kept = _in_session()
    return {each.key: kept[name] for each, name in _named(hits, query) if name in kept}


def _made(hits: Sequence[IndexHit], query: Query) -> Snippets:
    """The snippets, which are remembered."""
    made, kept = _closest_sentences(hits, query), _in_session()
    kept.update({name: made[each.key] for each, name in _named(hits, query)})
    for old in list(kept)[: max(0, len(kept) - KEPT)]:
        del kept[old]
    return made


def _closest_sentences(hits: Iterable[IndexHit], query: Query) -> Snippets:
    made: Snippets = {}
    for index, group in groupby(sorted(hits, key=lambda each: each.index), key=lambda each: each.index):
        own = list(group)
        results = Results(query, tuple(each.hit for each in own), {})
        made |= {each.key: one for each, one in zip(own, pool.index(index).snippets(results), strict=True)}
    return made


def _in_session() -> dict[Name, Snippet]:
    kept: dict[Name, Snippet] = st.session_state.setdefault("snippets", {})
    return kept


def _named(hits: Sequence[IndexHit], query: Query) -> list[tuple[IndexHit, Name]]:
    """Each with what its best sentence depends on."""
    states = {name: pool.state(pool.index(name)) for name in {each.index for each in hits}}
    how = query.text, query.mode == "keyword"
    return [(each, (states[each.index], each.hit.id, *how)) for each in hits]
