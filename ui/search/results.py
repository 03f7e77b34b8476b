"""What the indexes answer: their hits together, kept until something else is asked or an index has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import ref

import streamlit as st

from semsearch import Hit, Query, Results, SemsearchError

from ..shared import highlight, pool
from . import facet_filters as facets

KEPT, MARKED = "answer", "marked passages"


@dataclass(frozen=True, slots=True)
class Found:
    """A hit, the index that it is from, and its rank among all of them."""

    index: str
    hit: Hit
    rank: int
    chip: str  # how a chip names it
    title: str = ""  # of its document, which may be one record of a file


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
    now = (query, tuple((name, ref(index := pool.index(name)), index.version) for name in names))
    before, given = st.session_state.get(KEPT, (None, None))
    if given is None or before != now:
        given = asked(query, names)
        st.session_state[KEPT], st.session_state[MARKED] = (now, given), {}
    return given  # type: ignore[no-any-return]


def asked(query: Query, names: Sequence[str]) -> Answer:
    """What they answer to it now. Raises as `answer` does."""
    results: dict[str, Results] = {}
    errors: dict[str, SemsearchError] = {}
    for name in names:
        try:
            results[name] = pool.index(name).search(query)
        except SemsearchError as error:
            errors[name] = error
    if errors and not results:
        raise next(iter(errors.values()))
    found = [each for name in results for each in _found(name, results[name], several=len(names) > 1)]
    if len(names) > 1:
        found.sort(key=lambda each: (-(each.hit.strength or 0), each.hit.rank))
    ranked = tuple(replace(each, rank=rank) for rank, each in enumerate(found[: query.k], 1))
    return Answer(ranked, results, {name: str(error) for name, error in errors.items()})


def _found(name: str, results: Results, *, several: bool) -> list[Found]:
    documents = pool.index(name).documents(ids=list({hit.document for hit in results}))
    titles = {each["id"]: each["title"] or "" for each in documents}
    return [
        Found(name, hit, hit.rank, f"#{name}/{hit.id}" if several else f"#{hit.id}", titles.get(hit.document, ""))
        for hit in results
    ]


def html(each: Found, query: Query) -> str:
    """The hit's passage with its best sentence and the query's words marked, found when it is about to be shown.

    The encoder reads every sentence of it; for all hits at once the first would wait for the last.
    """
    made = st.session_state.setdefault(MARKED, {})
    key = (each.index, each.hit.id)
    if key not in made:
        at = pool.index(each.index).snippet(each.hit, query)
        made[key] = highlight.passage(each.hit.text, (at.start, at.end), at.words)
    return str(made[key])


def within(each: Found, query: Query, documents: Sequence[str], **how: Any) -> list[Found]:
    """The hits of the same query in these documents of the hit's index alone."""
    where = facets.joined([query.where, f"document in ({', '.join(map(facets.quoted, documents))})"])
    results = pool.index(each.index).search(replace(query, where=where, group="passage", **how))
    return _found(each.index, results, several="/" in each.chip)
