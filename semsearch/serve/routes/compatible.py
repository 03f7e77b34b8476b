"""Addresses under which other services have embeddings, models and reranking, for the clients written for these.

Sources: OpenAI's API reference, "Embeddings" and "Models"; Jina's and Cohere's, "Rerank". Of them are left out: input
as numbers of tokens, which belong to another tokenizer; and the usage counts of a rerank request.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from fastapi import APIRouter, Request
from pydantic import ConfigDict, Field
from starlette.responses import Response

from semsearch.errors import UsageError
from semsearch.serve.bodies import WHOLE, Body, Name, Several, Text
from semsearch.serve.routes.json_bodies import JsonRoute, json_response
from semsearch.serve.service import ServiceDep
from semsearch.types import JsonObject, Role
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from semsearch.types import Vectors

router = APIRouter(prefix="/v1", tags=["as OpenAI has them"], route_class=JsonRoute)
reranking = APIRouter(
    prefix="/v1", tags=["as Cohere and Jina have them"], route_class=JsonRoute
)  # where the server has a reranker


class EmbeddingsBody(Body):
    """Texts to encode. `role` is an addition: some encoders distinguish queries and passages."""

    model: Name
    input: Text | Annotated[list[Text], Several, Field(min_length=1)]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Field(ge=1), WHOLE] | None = Field(
        None, description="Leave the first numbers only, scaled to length 1."
    )
    user: Text | None = Field(None, description="Not used.")
    role: Role = "passage"


class TextDocument(Body):
    """A document as an object; other fields are not read."""

    model_config = ConfigDict(extra="ignore")
    text: Text


class RelevanceBody(Body):
    """Documents to order by the chance that they answer the query."""

    model: Name
    query: Annotated[Text, Field(min_length=1)]
    documents: Annotated[list[Text | TextDocument], Several] = Field(min_length=1)
    top_n: Annotated[int, Field(ge=1), WHOLE] | None = None
    return_documents: bool = False


@router.post("/embeddings")
async def embeddings(body: EmbeddingsBody, service: ServiceDep, request: Request) -> Response:
    """The vectors of texts, each of length 1."""
    texts = [body.input] if isinstance(body.input, str) else body.input
    service.check_batch(texts, "texts")
    encoder = service.encoder(body.model)
    if body.dimensions is not None and body.dimensions > encoder.dim:
        problem = f"{body.model} has {encoder.dim} dimensions, not {body.dimensions}."
        raise UsageError(problem, f"Ask for {encoder.dim} or fewer.")
    encoded = await service.encode(request, encoder, texts, body.role)

    def answer() -> Response:
        vectors = encoded.vectors if body.dimensions is None else unit_rows(encoded.vectors[:, : body.dimensions])
        shown = vectors.tolist() if body.encoding_format == "float" else [_base64(row) for row in vectors]
        tokens = sum(encoded.tokens)
        return json_response(
            {
                "object": "list",
                "data": [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(shown)],
                "model": body.model,
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            }
        )

    return answer() if len(texts) == 1 else await service.read(answer, request)


@router.get("/models")
async def models(service: ServiceDep) -> JsonObject:
    """The encoders that are served."""
    return {"object": "list", "data": [_model(name, service) for name in service.options.models]}


@router.get("/models/{model:path}")
async def model(model: str, service: ServiceDep) -> JsonObject:
    """One of the encoders that are served."""
    return _model(model, service)


@reranking.post("/rerank")
async def rerank(body: RelevanceBody, service: ServiceDep, request: Request) -> Response:
    """The documents in the order of their relevance, the chance in 0 to 1 that they answer the query."""
    service.check_batch(body.documents, "documents")
    texts = [one if isinstance(one, str) else one.text for one in body.documents]
    reranker = service.reranker_called(body.model)

    def judged() -> Response:
        scores = reranker.score(body.query, texts)
        order = np.argsort(-np.asarray(scores), kind="stable").tolist()[: body.top_n]
        results = [{"index": at, "relevance_score": round(float(scores[at]), 6)} for at in order]
        if body.return_documents:
            results = [{**one, "document": {"text": texts[at]}} for one, at in zip(results, order, strict=True)]
        return json_response({"object": "list", "model": reranker.name, "results": results})

    return await service.read(judged, request)


def _base64(vector: Vectors) -> str:
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


def _model(name: str, service: ServiceDep) -> JsonObject:
    service.check_model(name)
    return {"id": name, "object": "model", "created": service.started, "owned_by": "semsearch"}
