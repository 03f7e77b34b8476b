"""The answer of several indexes as one list of hits, reused until the query or an index changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import streamlit as st

from semsearch import Hit, Query, Results, SemsearchError
from semsearch.analysis import day_of

from ..shared import pool
from . import filters

State = tuple[str, int, int]  # of an index


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A hit, the index that it is from, its name as a chip, and the title of its document."""

    index: str
    hit: Hit
    chip: str
    title: str = ""  # of the document, which may be one record of a file
    loader: str = ""  # what has read its file
    date: str = ""  # of the document, else of its file: an ISO day

    @property
    def key(self) -> str:
        """A name that no other hit has."""
        return f"{self.index}/{self.hit.id}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits of all indexes, the best first; the results of each index; the errors of those without any."""

    hits: tuple[IndexHit, ...]
    results: dict[str, Results]
    refused: dict[str, str] = field(default_factory=dict)


def answer(query: Query, names: Sequence[str]) -> Answer:
    """`search`, or the previous answer where nothing has changed since."""
    return _answer(query, tuple((name, pool.state(pool.index(name))) for name in names))


@st.cache_resource(max_entries=1, show_spinner=False, scope="session")
def _answer(query: Query, states: tuple[tuple[str, State], ...]) -> Answer:
    return search(query, [name for name, _ in states])


def search(query: Query, names: Sequence[str]) -> Answer:
    """The hits of all indexes, the strongest first: only the strength is comparable between encoders.

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
    hits = [each for name in results for each in of_index(name, results[name], several=len(names) > 1)]
    if len(names) > 1:
        hits.sort(key=lambda each: (-_standing(each.hit, query), each.hit.rank))
    return Answer(tuple(hits[: query.k]), results, {name: str(error) for name, error in errors.items()})


def _standing(hit: Hit, query: Query) -> float:
    """What the hits of several indexes are ordered by: the strength, and what a reranker says of those it has read."""
    strength = hit.strength or 0.0
    weight = 0.0 if query.rerank is None else query.rerank_weight
    return (1 - weight) * strength + weight * (hit.rerank or 0.0)


def of_index(name: str, results: Results, *, several: bool = False) -> list[IndexHit]:
    """The results of an index, each with title, loader and date of its document."""
    documents = pool.index(name).documents(ids=list({hit.document for hit in results}))
    rows = {each["id"]: (each["title"] or "", each["loader"] or "", str(day_of(each) or "")) for each in documents}
    chip = f"#{name}/" if several else "#"
    return [IndexHit(name, hit, f"{chip}{hit.id}", *rows.get(hit.document, ("", "", ""))) for hit in results]


def search_within(name: str, query: Query, documents: Sequence[str], *, several: bool = False) -> list[IndexHit]:
    """The passages that the same query finds in these documents of one index."""
    named = ", ".join(map(filters.quoted, documents))
    where = filters.joined([query.where, f"document in ({named})"])
    return of_index(name, pool.index(name).search(replace(query, where=where, group="passage")), several=several)
