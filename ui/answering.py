"""What the indexes answer: their hits together, kept until something else is asked or an index has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import ref

import streamlit as st

from semsearch import Hit, Query, Results, SemsearchError

from . import held, marked, narrow

KEPT = "answer"


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
    """What every index gave, and why the others gave nothing."""

    found: tuple[Found, ...]
    results: dict[str, Results]
    refused: dict[str, str] = field(default_factory=dict)


def answer(query: Query, names: Sequence[str]) -> Answer:
    """The hits of all indexes together, the strongest first: strength alone can be compared between encoders.

    Raises SemsearchError where no index can answer. One that cannot, because it has no field that a filter names,
    does not keep the others from it.
    """
    now = (query, tuple((name, ref(index := held.index(name)), index.version) for name in names))
    before, given = st.session_state.get(KEPT, (None, None))
    if given is None or before != now:
        given = asked(query, names)
        st.session_state[KEPT] = (now, given)
    return given  # type: ignore[no-any-return]


def asked(query: Query, names: Sequence[str]) -> Answer:
    """What they answer to it now. Raises as `answer` does."""
    results: dict[str, Results] = {}
    errors: dict[str, SemsearchError] = {}
    for name in names:
        try:
            results[name] = held.index(name).search(query)
        except SemsearchError as error:
            errors[name] = error
    if errors and not results:
        raise next(iter(errors.values()))
    found = [each for name in results for each in snippets(name, results[name], several=len(names) > 1)]
    if len(names) > 1:
        found.sort(key=lambda each: (-(each.hit.strength or 0), each.hit.rank))
    ranked = tuple(replace(each, rank=rank) for rank, each in enumerate(found[: query.k], 1))
    return Answer(ranked, results, {name: str(error) for name, error in errors.items()})


def snippets(name: str, results: Results, *, several: bool) -> list[Found]:
    """The hits of one index, each with its best sentence and the query's words marked."""
    shown = zip(results, held.index(name).snippets(results), strict=True)
    return [
        Found(name, hit, hit.rank, marked.passage(hit.text, (at.start, at.end), at.words),
              f"#{name}/{hit.id}" if several else f"#{hit.id}")
        for hit, at in shown
    ]  # fmt: skip


def within(each: Found, query: Query, documents: Sequence[str], **how: Any) -> list[Found]:
    """The hits of the same query in these documents of the hit's index alone."""
    where = narrow.joined([query.where, f"document in ({', '.join(map(narrow.quoted, documents))})"])
    results = held.index(each.index).search(replace(query, where=where, group="passage", **how))
    return snippets(each.index, results, several="/" in each.chip)
