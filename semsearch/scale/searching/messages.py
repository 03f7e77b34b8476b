"""Queries and results as JSON: what passes between a driver and the actors that search."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import NamedTuple

from semsearch.search.snippets import Snippet
from semsearch.types import Hit, JsonObject, Query, Results

LISTS = ("more", "less", "must", "like")  # fields of a query that are tuples


class Found(NamedTuple):
    """The results of a query, and a snippet for each hit where they were asked for."""

    results: Results
    snippets: tuple[Snippet, ...] = ()


def queries_json(queries: Sequence[Query]) -> str:
    """The inverse of `queries_of`. The reranker of a query is a name."""
    return json.dumps([asdict(one) for one in queries])


def queries_of(text: str) -> list[Query]:
    """Queries as they were."""
    return [_query(one) for one in json.loads(text)]


def found_json(found: Sequence[Found]) -> str:
    """The inverse of `found_of`, without the queries, which the driver has."""
    return json.dumps([_found(*one) for one in found], default=str)


def found_of(text: str, queries: Sequence[Query]) -> list[Found]:
    """The results of each query as they were."""
    return [_read(one, query) for one, query in zip(json.loads(text), queries, strict=True)]


def _query(one: JsonObject) -> Query:
    read: JsonObject = {name: _tuples(found) if name in LISTS else found for name, found in one.items()}
    return Query(**read)


def _found(results: Results, snippets: Sequence[Snippet]) -> JsonObject:
    names = ("took_ms", "warnings", "plan", "good_match")
    hits = [{field.name: getattr(hit, field.name) for field in fields(Hit)} for hit in results]
    plain = {name: getattr(results, name) for name in names}
    return {**plain, "hits": hits, "snippets": [asdict(one) for one in snippets]}


def _read(one: JsonObject, query: Query) -> Found:
    hits = tuple(Hit(**{**hit, "near_copies": tuple(hit["near_copies"])}) for hit in one["hits"])
    results = Results(query, hits, one["took_ms"], tuple(one["warnings"]), one["plan"], one["good_match"])
    snippets = (Snippet(**{**each, "words": _tuples(each["words"])}) for each in one["snippets"])
    return Found(results, tuple(snippets))


def _tuples(found: Sequence[object]) -> tuple[object, ...]:
    return tuple(tuple(one) if isinstance(one, list) else one for one in found)
