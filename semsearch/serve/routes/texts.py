"""Texts without an index: encode them, compare them, read passages together with a query."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from semsearch.evaluation.sts import sts
from semsearch.serve.bodies import EmbedBody, RerankBody, StsBody
from semsearch.serve.routes.json_bodies import JsonRoute, json_response
from semsearch.serve.service import ServiceDep
from semsearch.types import JsonObject

router = APIRouter(tags=["texts"], route_class=JsonRoute)
reranking = APIRouter(tags=["texts"], route_class=JsonRoute)  # where the server has a reranker


@router.post("/embed")
async def embed(body: EmbedBody, service: ServiceDep, request: Request) -> Response:
    """The vectors of texts, each of length 1."""
    service.check_batch(body.texts, "texts")
    encoder = service.encoder(body.model)
    encoded = await service.encode(request, encoder, body.texts, body.role)
    head = {"schema": 1, "model": encoder.name, "fingerprint": encoder.fingerprint}

    def answer() -> Response:
        return json_response({**head, "vectors": encoded.vectors.tolist()})

    return answer() if len(body.texts) == 1 else await service.read(answer, request)


@router.post("/sts")
async def compare(body: StsBody, service: ServiceDep, request: Request) -> Response:
    """Cosine and strength of pairs of texts, as `semsearch sts --json` prints them."""
    service.check_batch(body.pairs, "pairs")
    name = body.model or service.options.models[0]

    def compared() -> Response:
        result = sts([(a, b) for a, b in body.pairs], service.encoder(name))
        pairs = [
            {"a": a, "b": b, "models": {name: figures(cosine, strength)}}
            for (a, b), cosine, strength in zip(result.pairs, result.cosines, result.strengths, strict=True)
        ]
        return json_response({"schema": 1, "pairs": pairs})

    return await service.read(compared, request)


@reranking.post("/rerank")
async def rerank(body: RerankBody, service: ServiceDep, request: Request) -> Response:
    """For each passage the chance, 0 to 1, that it answers the query."""
    service.check_batch(body.passages, "passages")

    def judged() -> Response:
        reranker = service.reranker_called("default")
        scores = reranker.score(body.query, body.passages)
        rounded = [round(float(score), 4) for score in scores]
        return json_response({"schema": 1, "model": reranker.name, "scores": rounded})

    return await service.read(judged, request)


def figures(cosine: float, strength: float | None) -> JsonObject:
    """Cosine and strength with the digits of `sts --json`."""
    return {"cosine": round(cosine, 6), "strength": None if strength is None else round(strength, 4)}
