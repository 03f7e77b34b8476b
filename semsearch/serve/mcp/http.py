"""Streamable HTTP behind the gate of `semsearch serve`: every request is answered by itself, without sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semsearch.documents.parsing.json_size import MOST_VALUES, has_too_many_values
from semsearch.errors import NotFound
from semsearch.serve import problems
from semsearch.serve.access import Token
from semsearch.serve.app import guarded
from semsearch.serve.mcp.messages import NoMessage, message
from semsearch.serve.mcp.options import McpOptions
from semsearch.serve.problems import Refused
from semsearch.serve.service import Service, beside

PATH = "/mcp"


def _again(body: bytes, receive: Receive) -> Receive:
    """What gives a body that was read, and then what comes after it."""
    waiting = [body]

    async def received() -> Message:
        return {"type": "http.request", "body": waiting.pop(), "more_body": False} if waiting else await receive()

    return received


def application(server: Server[Any], service: Service, options: McpOptions, tokens: tuple[Token, ...]) -> ASGIApp:
    """The server as an ASGI application, at /mcp."""
    manager = StreamableHTTPSessionManager(
        app=server,
        stateless=True,
        json_response=True,
        max_request_body_size=options.max_bytes,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the gate has checked
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.begin()
        async with manager.run():
            yield
        service.stop()

    class Endpoint:
        """An ASGI application, which a route takes where it is no function."""

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            body = await Request(scope, receive).body()
            if has_too_many_values(body):  # one call that reads it would keep all other threads waiting
                raise HTTPException(413, f"the body has more than {MOST_VALUES:,} values")
            try:
                await beside(None, partial(message, body))
            except NoMessage as error:
                await JSONResponse(error.answer.model_dump(exclude_unset=True), 400)(scope, receive, send)
                return
            await manager.handle_request(scope, _again(body, receive), send)

    async def alive(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def missing(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 404:
            return problems.answer(NotFound("there is no such address.", f"The address is {PATH}."), request.scope)
        answer = problems.answer(Refused(error.status_code, f"{error.detail}."), request.scope)
        answer.headers.update(error.headers or {})
        return answer

    routes = [
        Route(PATH, Endpoint(), methods=["POST"]),
        Route("/healthz", alive, methods=["GET"]),
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: missing})
    return guarded(app, options, tokens, service.metrics)
