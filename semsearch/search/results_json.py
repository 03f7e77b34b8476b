"""The JSON of search results: the same from the command line and from the server."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING

from semsearch.types import Hit
from semsearch.utils.quantities import rounded_down

if TYPE_CHECKING:
    from semsearch.types import JsonObject, Results

SHOWN = [one.name for one in fields(Hit) if one.name not in ("parts", "file", "rerank", "near_copies")]  # of every hit
_shown = attrgetter(*SHOWN)


def results_object(results: Results, head: JsonObject, *, explain: bool = False, with_file: bool = False) -> JsonObject:
    """The JSON object of one query. `head` are the fields about index and encoder."""
    return {
        "schema": 1,
        "query": results.query.text,
        **head,
        "mode": results.query.mode,
        "took_ms": {name: round(ms, 3) for name, ms in results.took_ms.items()},
        "hits": [hit_object(hit, with_file=with_file) for hit in results],
        "good_match": results.good_match,
        "abstain": results.query.abstain,
        "warnings": list(results.warnings),
        **({"explain": explanation(results)} if explain else {}),
    }


def hit_object(hit: Hit, *, with_file: bool = False) -> JsonObject:
    """The JSON object of one hit; `with_file`: with its place on this machine, which a server does not tell."""
    shown: JsonObject = dict(zip(SHOWN, _shown(hit), strict=True))
    shown["score"] = round(hit.score, 6)
    shown["strength"] = None if hit.strength is None else rounded_down(hit.strength, 4)
    shown["scores"] = {name: round(value, 6) for name, value in hit.scores.items()}
    if with_file and hit.file:
        shown["file"] = hit.file
    if hit.rerank is not None:
        shown["rerank"] = round(hit.rerank, 4)
    if hit.near_copies:
        shown["near_copies"] = hit.near_copies
    return shown


def explanation(results: Results) -> JsonObject:
    """The plan, the filters and the times of a search."""
    names = ("where", "path", "must", "grep", "more", "less", "like")
    filters = {name: value for name in names if (value := getattr(results.query, name))}
    return {"plan": dict(results.plan), "filter": filters, "took_ms": dict(results.took_ms)}
