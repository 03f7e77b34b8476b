"""What tells this server from every other, and a browser that was let in from one that was not.

A browser counts neither `localhost:9000` as another site than `localhost:8501`, nor keeps cookies apart by port. So a
cookie alone shows nothing about the page that a request comes from; `Host`, `Origin` and `Sec-Fetch-Site` do.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from starlette.datastructures import Headers

HERE = "127.0.0.1"
NAMES = (HERE, "localhost", "[::1]")  # what a browser on this machine may call the server
ELSEWHERE = ("same-site", "cross-site")  # what Sec-Fetch-Site says of a request that another origin's page caused
NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}  # a person follows a link into a tab


@dataclass(frozen=True, slots=True)
class Identity:
    """The port and the token of one start of the server."""

    port: int
    token: str
    start: bytes = field(default_factory=secrets.token_bytes)  # so that no cookie outlives the server

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every `Host` that the server answers to."""
        return tuple(f"{name}:{self.port}" for name in NAMES)

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers do not keep cookies apart by port."""
        return f"semsearch_{self.port}"

    @property
    def pass_value(self) -> str:
        """The value of the cookie: the token cannot be computed from it, and another start has another one."""
        return hmac.new(self.token.encode(), self.start, hashlib.sha256).hexdigest()

    def is_token(self, texts: Iterable[str]) -> bool:
        """Whether one of the texts is the token, in a time that does not depend on what they have in common."""
        return _among(texts, self.token)

    def has_pass(self, headers: Headers) -> bool:
        """Whether a cookie of the request is the right one. Another port can add wrong ones, which do no harm."""
        return _among(self._passes(headers), self.pass_value)

    def without_pass(self, headers: Headers) -> str:
        """The other cookies."""
        return "; ".join(each for each in _cookies(headers) if each.partition("=")[0] != self.cookie)

    def stranger(self, headers: Headers, *, websocket: bool) -> str:
        """Why the request does not come from a page of this server, or from a person; "" if it does."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return f"This server answers to http://{self.hosts[0]} only."
        if origins != [f"http://{hosts[0].lower()}"] and (origins or websocket):
            return "Pages of another address have no access."
        if headers.get("sec-fetch-site") in ELSEWHERE and not (websocket or _has(headers, NAVIGATION)):
            return "Pages of another address may link to this one, and nothing else."
        return ""

    def _passes(self, headers: Headers) -> list[str]:
        pairs = (each.partition("=") for each in _cookies(headers))
        return [value for name, _, value in pairs if name == self.cookie]


def _among(texts: Iterable[str], secret: str) -> bool:
    return sum(hmac.compare_digest(each.encode(), secret.encode()) for each in texts) > 0


def _cookies(headers: Headers) -> list[str]:
    """`name=value` of each cookie, whatever stands in the others."""
    return [each.strip() for header in headers.getlist("cookie") for each in header.split(";") if each.strip()]


def _has(headers: Headers, wanted: Mapping[str, str]) -> bool:
    return all(headers.get(name) == value for name, value in wanted.items())
