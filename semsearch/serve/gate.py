"""The gate before every request: request id, Host and Origin, token, size of the body, and a line in the log."""

from __future__ import annotations

import json
import logging
import math
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semsearch.errors import SemsearchError
from semsearch.serve import access, problems
from semsearch.serve.access import Caller, Token, WrongToken
from semsearch.serve.metrics import Metrics
from semsearch.serve.problems import Refused
from semsearch.serve.receiving import limited, streamed, too_large
from semsearch.utils.web.visitors import Visitors

BURST = 10.0  # seconds' worth of requests that may come at once
MOST_CLIENTS = 10_000  # buckets in memory; full ones are forgotten first
log = logging.getLogger(__name__)
OPEN = ("/healthz", "/readyz", "/docs", "/openapi.json")  # need no token: they say nothing about indexes
UPLOAD = re.compile(r"/indexes/[^/]+/documents/upload")  # read line by line, so of any size
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
REQUEST = b"x-request-id"
FIXED = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
}
OWN = {REQUEST, *FIXED}  # in place of what the application says


@dataclass(frozen=True, slots=True)
class Gate:
    """An ASGI application that lets through to `app` who comes from here and has a token, where tokens are asked for.

    It adds `request_id` and `caller` to the scope.
    """

    app: ASGIApp
    visitors: Visitors
    tokens: tuple[Token, ...]
    max_bytes: int
    seconds: int
    rates: Rates
    guesses: Rates  # wrong tokens of an address
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        headers = Headers(scope=scope)
        proposed_id = headers.get("x-request-id", "")
        request_id = proposed_id if REQUEST_ID.fullmatch(proposed_id) else secrets.token_hex(8)
        seen = {"request": request_id, "method": scope["method"], "path": scope["path"], "status": 500}

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                headers = [each for each in message.get("headers", ()) if each[0] not in OWN]
                message = {**message, "headers": [*headers, *FIXED.items(), (REQUEST, request_id.encode())]}
            await send(message)

        inner = {**scope, "request_id": request_id}
        self.metrics.begun()
        try:
            inner["caller"] = who = self._admitted(scope, headers)
            seen["caller"] = who.name
            await self.app(inner, self._limited(scope, receive), answered)
        except SemsearchError as error:
            await problems.answer(error, inner)(scope, receive, answered)
        except Exception as error:  # the framework has answered 500 already
            log.error("unexpected %s: %s", type(error).__name__, error, exc_info=error)
        finally:
            client = scope.get("client") or ("", 0)
            seconds = time.perf_counter() - started
            self.metrics.answered(inner, seen["status"], seconds)
            seen |= {"client": client[0], "ms": round(1000 * seconds, 1)}
            log.info("request", extra={"fields": seen})

    def _admitted(self, scope: Scope, headers: Headers) -> Caller:
        """Who asks. Raises Refused."""
        link = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if reason := self.visitors.refusal(hosts, origins, headers.get("sec-fetch-site"), link_followed=link):
            raise Refused(403, reason)
        length = headers.get("content-length", "0")
        if not self._streamed(scope) and length.isascii() and length.isdigit() and int(length) > self.max_bytes:
            raise too_large(self.max_bytes)
        if scope["path"] in OPEN:
            return access.NOBODY
        address = (scope.get("client") or ("",))[0]
        who = self._owner(headers.getlist("authorization"), address)
        self.rates.take(who.name if self.tokens else address)
        return who

    def _owner(self, authorizations: list[str], address: str) -> Caller:
        """Whose token it is. Raises Refused, for an address that guesses too often without an answer to the guess."""
        try:
            return access.caller(self.tokens, authorizations)
        except WrongToken:
            self.guesses.take(address)
            raise

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        if self._streamed(scope):
            return streamed(receive, self.seconds)
        return limited(receive, self.max_bytes, self.seconds)

    @staticmethod
    def _streamed(scope: Scope) -> bool:
        return scope["method"] == "POST" and UPLOAD.fullmatch(scope["path"]) is not None


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the fields of a request."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True)


class Rates:
    """At most `per_second` requests of each client on average; 0 is no limit. Used by one thread.

    Each client has a bucket, which fills steadily and holds a burst of ten seconds.

    `what` names the requests that are counted.
    """

    def __init__(self, per_second: float, what: str = "requests", clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._what, self._clock = per_second, what, clock
        self._size = max(1.0, per_second * BURST)
        self._left: dict[str, tuple[float, float]] = {}  # requests left, and when that was

    def take(self, client: str) -> None:
        """Count a request. Raises Refused, 429, with the seconds to wait."""
        if not self._rate:
            return
        self.check(client)
        now = self._clock()
        left = self._now(client, now)
        if len(self._left) >= MOST_CLIENTS:
            self._left = {each: self._left[each] for each in self._left if self._now(each, now) < self._size}
        self._left[client] = left - 1, now

    def check(self, client: str) -> None:
        """Raises Refused as `take` does, and counts nothing."""
        left = self._now(client, self._clock()) if self._rate else 1.0
        if left < 1:
            wait = math.ceil((1 - left) / self._rate)
            refused = Refused(429, f"more than {self._rate:g} {self._what} a second came.", f"Wait {wait} s.")
            refused.retry_after = wait
            raise refused

    def _now(self, client: str, now: float) -> float:
        left, before = self._left.get(client, (self._size, now))
        return min(self._size, left + (now - before) * self._rate)
