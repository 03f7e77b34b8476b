"""The answer of several indexes as one list of hits, reused until the query or an index changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from weakref import ref

import streamlit as st

from semsearch import Hit, Query, Results, SemsearchError

from ..shared import highlight, pool
from . import facet_filters

ANSWER, MARKED = "answer", "marked passages"


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
    """The hits of all indexes, the results of each, and why others have none."""

    found: tuple[Found, ...]
    results: dict[str, Results]
    refused: dict[str, str] = field(default_factory=dict)


def answer(query: Query, names: Sequence[str]) -> Answer:
    """`search`, or its answer from before where nothing has changed since."""
    now = (query, tuple((name, ref(index := pool.index(name)), index.version) for name in names))
    before: tuple[object, Answer] | None = st.session_state.get(ANSWER)
    if before is None or before[0] != now:
        before = now, search(query, names)
        st.session_state[ANSWER], st.session_state[MARKED] = before, {}
    return before[1]


def search(query: Query, names: Sequence[str]) -> Answer:
    """The hits of all indexes, the strongest first: strength alone can be compared between encoders.

    Raises SemsearchError where no index can answer. One that cannot, for example because it lacks a field that a filter
    names, does not stop the others.
    """
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
    chip = f"#{name}/" if several else "#"
    return [Found(name, hit, hit.rank, f"{chip}{hit.id}", titles.get(hit.document, "")) for hit in results]


def html(each: Found, query: Query) -> str:
    """The hit's passage with its best sentence and the query's words marked, computed when it is about to be shown.

    The encoder reads every sentence of it; for all hits at once the first would wait for the last.
    """
    cache: dict[tuple[str, int], str] = st.session_state.setdefault(MARKED, {})
    key = (each.index, each.hit.id)
    if key not in cache:
        at = pool.index(each.index).snippet(each.hit, query)
        cache[key] = highlight.passage(each.hit.text, (at.start, at.end), at.words)
    return cache[key]


def search_within(each: Found, query: Query, documents: Sequence[str], *, k: int) -> list[Found]:
    """The passages that the same query finds in these documents of the hit's index."""
    named = ", ".join(map(facet_filters.quoted, documents))
    where = facet_filters.joined([query.where, f"document in ({named})"])
    results = pool.index(each.index).search(replace(query, where=where, group="passage", k=k))
    return _found(each.index, results, several="/" in each.chip)
