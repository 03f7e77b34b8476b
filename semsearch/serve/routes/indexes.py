"""The indexes and searches in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request
from starlette.responses import Response

from semsearch.errors import NotFound, SemsearchError
from semsearch.index import Index
from semsearch.search.query_check import make_query
from semsearch.search.results_json import results_object
from semsearch.serve.access import Caller
from semsearch.serve.bodies import HitFields, ManyQueries, QueryBody, SearchBody, SimilarBody
from semsearch.serve.routes.texts import json_response
from semsearch.serve.service import CallerDep, Service, ServiceDep
from semsearch.types import JsonObject, Query, QueryFields

router = APIRouter(tags=["search"])
HEADS: WeakKeyDictionary[Index, tuple[int, JsonObject]] = WeakKeyDictionary()  # of open indexes, with their versions


@router.get("/indexes")
async def list_indexes(service: ServiceDep, caller: CallerDep) -> JsonObject:
    """The indexes that the token may know of, each with the number of its documents and passages."""

    def listed() -> JsonObject:
        names = [name for name in service.indexes.names() if caller.sees(name)]
        return {"schema": 1, "indexes": [described for name in names if (described := _described(service, name))]}

    return await service.read(listed)


@router.post("/indexes/{name}/search")
async def search(name: str, body: SearchBody, service: ServiceDep, caller: CallerDep, request: Request) -> Response:
    """The hits for a query, as `semsearch query --json` prints them; for `queries`, a list of these."""
    queries = body.queries if isinstance(body, ManyQueries) else [body]
    service.check_batch(queries, "queries")
    parsed = [_query(one, service) for one in queries]
    answers = await _searched(service, caller, name, parsed, request)
    return json_response({"schema": 1, "queries": answers} if isinstance(body, ManyQueries) else answers[0])


@router.post("/indexes/{name}/similar")
async def similar(name: str, body: SimilarBody, service: ServiceDep, caller: CallerDep, request: Request) -> Response:
    """The passages closest to a passage or a document, without its own."""
    query = make_query(Query(like=(body.id,), mode="semantic"), cast(QueryFields, _hit_fields(body)))
    (answer,) = await _searched(service, caller, name, [query], request)
    return json_response(answer)


def _described(service: Service, name: str) -> JsonObject | None:
    """What a list says about an index, or its problem; None for one that has been removed meanwhile."""
    try:
        with service.indexes.reading(name) as index:
            return {**_head(index), "documents": len(index), "version": index.version}
    except NotFound:
        return None
    except SemsearchError as error:  # its server may be away: the others are still listed
        return {"index": name, "problem": error.message}


async def _searched(
    service: Service, caller: Caller, name: str, queries: Sequence[Query], request: Request
) -> list[JsonObject]:
    caller.require_index(name)

    def searched(index: Index) -> list[JsonObject]:
        head = _head(index)
        if len(queries) == 1:
            return [results_object(index.search(queries[0]), head)]
        return [results_object(results, head) for results in index.search(queries)]

    return await service.search(name, queries, searched, request)


def _head(index: Index) -> JsonObject:
    """What an answer says about its index; read again after a commit only."""
    version = index.version
    cached = HEADS.get(index)
    if cached is None or cached[0] != version:
        encoder = index.info()["spaces"][0]["encoder"]
        head = {"index": index.name, "encoder": {key: encoder.get(key) for key in ("name", "fingerprint")}}
        cached = HEADS[index] = version, head
    return cached[1]


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
