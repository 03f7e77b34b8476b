"""The gate before Streamlit: every request and every websocket passes here first, or does not pass.

It is the application that the web server calls, so no version of Streamlit can answer past it.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.datastructures import URL, Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..shared import navigation
from . import answers, policy
from .identity import Identity

PARTS = ("_stcore", "component", "favicon.png", "index.html", "manifest.json", "media", "static")  # of pages
NOT_SERVED = ("_stcore/metrics",)  # figures of the process, which no page needs


@dataclass(frozen=True, slots=True)
class Gate:
    """An ASGI application that lets through to `app` who has the token and comes from here."""

    app: ASGIApp
    identity: Identity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = self._answer(scope, headers)
        if answer is None and _is_page(scope):
            around = answers.page(URL(scope=scope))
            await around(scope, receive, _guarded(send, policy.of_pages(headers["host"])))
        elif answer is None:
            await self.app(self._inner(scope, headers), receive, _guarded(send, policy.of_pages(headers["host"])))
        elif scope["type"] == "http":
            await answer(scope, receive, _guarded(send, policy.CLOSED))
        else:
            await _deny(answer, scope, receive, _guarded(send, policy.CLOSED))

    def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """The gate's own answer, or None where the request may go on."""
        websocket, me = scope["type"] == "websocket", self.identity
        if reason := me.stranger(headers, websocket=websocket):
            return answers.refused(reason)
        url = URL(scope=scope)
        if not websocket and scope["method"] == "GET" and me.is_token(answers.tokens(url)):
            return answers.enter(url, me)
        if not me.has_pass(headers):
            return answers.locked(url)
        if url.path.strip("/") in NOT_SERVED:
            return answers.refused("There is no such page.", 404)
        return answers.nowhere(url) if _is_lost(scope, headers) else None

    def _inner(self, scope: Scope, headers: Headers) -> Scope:
        """The request as Streamlit sees it: without the cookie, and without the origin, which has been checked.

        For an origin that it does not know, Streamlit asks a public service for the address of this machine.
        """
        inner = MutableHeaders(raw=[(name, value) for name, value in headers.raw if name not in (b"origin", b"cookie")])
        if cookies := self.identity.without_pass(headers):
            inner["cookie"] = cookies
        return {**scope, "headers": inner.raw}


def _is_page(scope: Scope) -> bool:
    """Whether the document around a page is asked for."""
    return scope["type"] == "http" and scope["method"] == "GET" and scope["path"].strip("/") in navigation.PAGES


def _is_lost(scope: Scope, headers: Headers) -> bool:
    """Whether a person follows an address under which there is neither a page nor a part of one."""
    reads = scope["type"] == "http" and scope["method"] == "GET" and "text/html" in headers.get("accept", "")
    return reads and not _is_page(scope) and scope["path"].strip("/").partition("/")[0] not in PARTS


def _guarded(send: Send, content_policy: str) -> Send:
    """`send`, with the headers of `policy` on every answer, and none that would open it to another origin."""

    async def with_headers(message: Message) -> None:
        if "headers" in message or message["type"].endswith(".start"):
            passed = [pair for pair in message.get("headers", ()) if not pair[0].lower().startswith(b"access-control-")]
            headers = MutableHeaders(raw=passed)
            headers.update({**policy.FIXED, "content-security-policy": content_policy})
            message = {**message, "headers": headers.raw}
        await send(message)

    return with_headers


async def _deny(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a websocket before it opens; a server that cannot send an answer closes it with 403 of its own."""
    await receive()  # websocket.connect
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    await send({"type": "websocket.http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
    await send({"type": "websocket.http.response.body", "body": bytes(answer.body)})
