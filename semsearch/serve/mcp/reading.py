"""The tools that read: search, similar, get, list_indexes, index_status."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from semsearch.documents.suffixes import page_name
from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.index import Index
from semsearch.search.query_check import make_query
from semsearch.search.results_json import hit_object
from semsearch.serve.mcp import arguments
from semsearch.serve.mcp.budget import cut, fitted, size
from semsearch.serve.mcp.callers import Ask
from semsearch.serve.routes.json_bodies import answerable
from semsearch.types import Facet, JsonObject, Query, QueryFields, Results

CITED = 200  # characters of a path or a heading in a citation
MOST_SKIPPED, MOST_VALUES = 10, 20
LEAST_TEXT = 600  # bytes of the text of a document, however long its name is


def search(ask: Ask, request: arguments.Search) -> JsonObject:
    """Find the passages of the user's own documents that are closest in meaning to a query.

    Each hit has its text, a `citation` (document, heading, and line or page) to name as the source, and a `match`:
    strong, likely, weak, or none where the index probably has no answer. `next_offset` gives the next page. A text with
    `text_cut` ends early at a sentence: read the rest with get and the `id` of the hit, or all of its document.
    """
    fields = QueryFields(mode=request.mode, must=request.must, grep=request.grep)
    query = make_query(Query(request.query), _page(request, fields))
    with ask.reading(request.index) as index:
        return _hits(ask, index, index.search(query), request)


def similar(ask: Ask, request: arguments.Similar) -> JsonObject:
    """Find the passages that are closest to a passage or a document of the index, in the other documents.

    The answer is that of search.
    """
    query = make_query(Query(like=(request.id,), mode="semantic"), _page(request, QueryFields()))
    with ask.reading(request.index) as index:
        return _hits(ask, index, index.search(query), request)


def get(ask: Ask, request: arguments.Get) -> JsonObject:
    """Read a document, or a passage, from its beginning or from `start` on.

    A long text is given in parts that end with a sentence: `next_start` is where the next one begins, and `length` the
    characters of the whole.
    """
    with ask.reading(request.index) as index:
        item = index.get(request.id)
        place = item if "id" in item else _place(index, item["document"], request.start)
    item = answerable(item)
    text = item["text"]
    if request.start > len(text):
        raise UsageError(f"start: the text ends at {len(text)}.", "next_start is where the next part begins.")
    kept = {name: item[name] for name in ("id", "document", "metadata", "metadata_left_out") if item.get(name)}
    where = {name: _clipped(place[name]) for name in ("heading", "line", "page") if place.get(name) is not None}
    where["citation"] = _citation({"document": item["document"], **where})
    if item.get("title"):
        where["title"] = _clipped(item["title"])
    head = {"index": index.name, **kept, **where, "start": request.start, "length": len(text)}
    part = text[request.start :]
    free = ask.most_bytes - size({**head, "text": "", "next_start": 10**9})
    if free < LEAST_TEXT:  # the metadata are what is long
        free += size(head.pop("metadata", {}))
    head["text"] = cut(part, max(free, LEAST_TEXT))
    end = request.start + len(head["text"])
    return {**head, "next_start": end} if head["text"] and end < len(text) else head


def list_indexes(ask: Ask, request: arguments.ListIndexes) -> JsonObject:
    """List the indexes that can be searched, each with what it holds: a collection of the user's documents."""
    names = ask.names()
    shown = names[request.offset :][: request.limit]
    head = {"total": len(names)} if names else {"total": 0, "to_make_one": "semsearch index FOLDER, in a terminal"}
    answer = fitted(head, "indexes", [_listed(ask, name) for name in shown], ask.most_bytes)
    end = request.offset + len(answer["indexes"])
    answer.pop("next_offset", None)
    return {**answer, "next_offset": end} if end < len(names) else answer


def index_status(ask: Ask, request: arguments.Status) -> JsonObject:
    """Tell what an index holds: numbers of documents, its encoder, the last update with the files that it skipped, and
    the metadata fields that `where` can filter by, with their values.
    """
    with ask.reading(request.index) as index:
        info, facets, skipped = index.info(), index.analysis.facets(), index.analysis.skipped()
    run = info["last_run"] or {}
    head = {
        "index": info["name"],
        **{name: info[name] for name in ("documents", "passages", "bytes")},
        "encoder": info["spaces"][0]["encoder"]["name"],
        "last_update": {name: run[name] for name in ("at", "added", "changed", "deleted") if name in run},
        "skipped_files": len(skipped),
        "skipped": [{name: cut(text, CITED) for name, text in asdict(one).items()} for one in skipped[:MOST_SKIPPED]],
    }
    fields = [_field(facet) for facet in facets[request.offset :]]
    return fitted(head, "fields", fields, ask.most_bytes, request.offset)


def _page(request: arguments.Search | arguments.Similar, fields: QueryFields) -> QueryFields:
    """The fields of a query for the results that are wanted, and one more: it tells whether there is a next page."""
    fields |= QueryFields(k=request.limit + 1, offset=request.offset, group="document")
    if request.where is not None:
        fields["where"] = request.where
    if request.path is not None:
        fields["path"] = request.path
    return fields


def _hits(ask: Ask, index: Index, results: Results, request: arguments.Page) -> JsonObject:
    """The answer of a search."""
    head: JsonObject = {"index": index.name, "good_match": results.good_match}
    if results.warnings:
        head["warnings"] = [cut(each, 1000) for each in results.warnings[:5]]
    items = [_hit(hit_object(hit)) for hit in results[: request.limit]]
    if len(results) > request.limit:
        head["next_offset"] = request.offset + request.limit
    return fitted(head, "hits", items, ask.most_bytes, request.offset)


def _hit(hit: JsonObject) -> JsonObject:
    """A hit, without what is empty or of no use to a reader."""
    names = ("rank", "id", "document", "heading", "line", "page", "match", "strength", "text", "metadata")
    hit = answerable(hit)
    shown = {name: hit[name] for name in names if hit[name] not in (None, {})}
    if "heading" in shown:
        shown["heading"] = _clipped(shown["heading"])
    for name in ("more_in_document", "metadata_left_out"):
        if hit.get(name):
            shown[name] = hit[name]
    return {**shown, "citation": _citation(hit)}


def _citation(place: JsonObject) -> str:
    """A place in words, as precise as it is known.

    >>> _citation({"document": "a/b.md", "line": 7, "page": None, "heading": "Pumps"})
    'a/b.md:7 (Pumps)'
    >>> _citation({"document": "manual.pdf", "line": 40, "page": 3, "heading": None})
    'manual.pdf, page 3'
    >>> _citation({"document": "talk.pptx", "page": 3})
    'talk.pptx, slide 3'
    """
    name, line, page = _clipped(place["document"]), place.get("line"), place.get("page")
    spot = f", {page_name(place['document'])} {page}" if page is not None else f":{line}" if line is not None else ""
    heading = place.get("heading")
    return f"{name}{spot} ({_clipped(heading)})" if heading else f"{name}{spot}"


def _clipped(value: Any) -> Any:
    """A text of no more than can be cited; numbers as they are."""
    return value[:CITED] if isinstance(value, str) else value


def _place(index: Index, document: str, start: int) -> JsonObject:
    """Where a character of a document stands: that of the passage around it, or before it."""
    before = [passage for passage in index.passages(document) if passage["start"] <= start]
    return before[-1] if before else {}


def _listed(ask: Ask, name: str) -> JsonObject:
    """What a list says about an index; the problem of one that cannot be read."""
    try:
        with ask.indexes.reading(name) as index:
            info = index.info()
    except NotFound:
        return {"index": name, "problem": "It has just been removed."}
    except SemsearchError as error:
        return {"index": name, "problem": error.message[:CITED]}
    updated = (info["last_run"] or {}).get("at")
    return {"index": name, "documents": info["documents"], "passages": info["passages"], "updated": updated}


def _field(facet: Facet) -> JsonObject:
    field: JsonObject = {"field": facet.key, "kind": facet.kind, "documents": facet.documents}
    if facet.low is not None:
        field |= {"from": facet.low, "to": facet.high}
    if facet.values:
        field["values"] = [[cut(str(value), CITED), count] for value, count in facet.values[:MOST_VALUES]]
    return field
