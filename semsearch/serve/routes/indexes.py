"""The indexes and searches in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from fastapi import APIRouter, Request
from starlette.responses import Response

from semsearch.errors import NotFound, SemsearchError
from semsearch.index import Index
from semsearch.search.query_check import make_query
from semsearch.search.results_json import results_object
from semsearch.serve.access import Caller
from semsearch.serve.bodies import HitFields, QueryBody, SearchBody, SimilarBody
from semsearch.serve.problems import Refused
from semsearch.serve.routes.json_bodies import JsonRoute, json_response
from semsearch.serve.service import CallerDep, Service, ServiceDep
from semsearch.stores.records import Space
from semsearch.types import JsonObject, Query, QueryFields
from semsearch.utils.batches import batches

router = APIRouter(tags=["search"], route_class=JsonRoute)
MOST_TOGETHER = 20_000  # hits that all queries of a request cost
AT_ONCE = 100  # hits of the queries that are searched before they are written, and it is seen whether anybody waits
READING = 1000  # what it costs to read all passages, in hits


@router.get("/indexes")
async def list_indexes(service: ServiceDep, caller: CallerDep) -> Response:
    """The indexes that the token may know of, each with the number of its documents and passages."""

    def listed() -> Response:
        names = [name for name in service.indexes.names() if caller.sees(name)]
        described = [each for name in names if (each := _described(service, name))]
        return json_response({"schema": 1, "indexes": described})

    return await service.read(listed)


@router.post("/indexes/{name}/search")
async def search(name: str, body: SearchBody, service: ServiceDep, caller: CallerDep, request: Request) -> Response:
    """The hits for a query, as `semsearch query --json` prints them; for `queries`, a list of these."""
    if isinstance(body, QueryBody):
        return await _searched(service, caller, name, _query(body, service), request)
    service.check_batch(body.queries, "queries")
    caller.require_index(name)
    cost = sum(map(_cost, body.queries))
    if len(body.queries) > 1 and cost > MOST_TOGETHER:
        problem = f"the queries cost as much as {cost:,} hits; {MOST_TOGETHER:,} is the most."
        raise Refused(413, problem, "Lower k, offset or rerank_depth, or send several requests.")
    queries = await service.read(lambda: [_query(one, service) for one in body.queries], request)

    def searched(index: Index, wanted: Callable[[], bool]) -> Response:
        parts = batches(queries, len(queries), weight=_cost, heaviest=AT_ONCE)
        answers = (
            results_object(results, _head(index)) for some in parts if wanted() for results in index.search(some)
        )
        return json_response({"schema": 1, "queries": answers})

    return await service.search(name, queries, searched, request)


@router.post("/indexes/{name}/similar")
async def similar(name: str, body: SimilarBody, service: ServiceDep, caller: CallerDep, request: Request) -> Response:
    """The passages closest to a passage or a document, without its own."""
    query = make_query(Query(like=(body.id,), mode="semantic"), cast(QueryFields, _hit_fields(body)))
    return await _searched(service, caller, name, query, request)


def _cost(query: QueryBody | Query) -> int:
    """What a query costs, in hits: its own, those before, those that are read again, and a reading of all passages."""
    read_again = 0 if query.rerank is None else query.rerank_depth
    return query.k + query.offset + read_again + (0 if query.grep is None else READING)


def _described(service: Service, name: str) -> JsonObject | None:
    """What a list says about an index, or its problem; None for one that has been removed meanwhile."""
    try:
        with service.indexes.reading(name) as index:
            return {**_head(index, index.store.space), "documents": len(index), "version": index.version}
    except NotFound:
        return None
    except SemsearchError as error:  # its server may be away: the others are still listed
        return {"index": name, "problem": error.message}


async def _searched(service: Service, caller: Caller, name: str, query: Query, request: Request) -> Response:
    caller.require_index(name)

    def searched(index: Index, _: Callable[[], bool]) -> Response:
        return json_response(results_object(index.search(query), _head(index)))

    return await service.search(name, [query], searched, request)


def _head(index: Index, space: Space | None = None) -> JsonObject:
    """What an answer says about its index and about a space of it, that of the last search."""
    space = space or index.store.current.last.space
    return {"index": index.name, "encoder": {"name": space.name, "fingerprint": space.fingerprint}}


def _hit_fields(body: HitFields) -> JsonObject:
    return {field: getattr(body, field) for field in body.model_fields_set if field in HitFields.model_fields}


def _query(body: QueryBody, service: Service) -> Query:
    """The query of a body. Raises UsageError, BadFilter, and NotFound for another reranker than the server's."""
    fields = {field: getattr(body, field) for field in body.model_fields_set - {"text"}}
    if body.rerank is not None:
        fields["rerank"] = service.reranker_called(body.rerank)
    for name in ("more", "less"):
        if isinstance(fields.get(name), tuple):
            fields[name] = [fields[name]]
    return make_query(body.text, cast(QueryFields, fields))
