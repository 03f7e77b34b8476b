"""The application: routes, errors, and the gate before them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from semsearch.serve import problems
from semsearch.serve.access import Token
from semsearch.serve.gate import Gate, Rates
from semsearch.serve.metrics import Metrics
from semsearch.serve.openapi import describe
from semsearch.serve.options import ServeOptions
from semsearch.serve.routes import compatible, documents, health, indexes, texts
from semsearch.serve.service import Service
from semsearch.utils.web.visitors import Visitors, here

GUESSES = 1.0  # wrong tokens a second of one address
HEADERS = ["authorization", "content-type", "x-request-id"]


def application(service: Service, tokens: tuple[Token, ...]) -> ASGIApp:
    """The server as an ASGI application."""
    options = service.options

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.begin()
        yield
        service.stop()

    app = FastAPI(title="semsearch", version="1", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.service = service
    problems.install(app)
    for router in (indexes.router, documents.router, texts.router, compatible.router, health.router):
        app.include_router(router)
    if service.reranker is not None:
        app.include_router(texts.reranking)
        app.include_router(compatible.reranking)
    describe(app)
    gate = guarded(app, options, tokens, service.metrics)
    if not options.cors:
        return gate
    methods = ["GET", "POST", "PATCH", "DELETE"]
    return CORSMiddleware(gate, allow_origins=options.cors, allow_methods=methods, allow_headers=HEADERS)


def guarded(app: ASGIApp, options: ServeOptions, tokens: tuple[Token, ...], metrics: Metrics) -> Gate:
    """An application behind the gate of these options."""
    rates, guesses = Rates(options.rate), Rates(GUESSES, "wrong tokens")
    return Gate(app, _visitors(options), tokens, options.max_bytes, options.seconds, rates, guesses, metrics)


def _visitors(options: ServeOptions) -> Visitors:
    bound = f"[{options.host}]" if ":" in options.host else options.host
    hosts = dict.fromkeys([f"{bound}:{options.port}", *here(options.port), *map(str.lower, options.allow_hosts)])
    return Visitors(tuple(hosts), options.cors, ("http", "https"))
