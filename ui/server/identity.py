"""What tells this server from every other, and a browser that was let in from one that was not."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers

from semsearch.utils.web.visitors import HERE as HERE
from semsearch.utils.web.visitors import Visitors, among, here

NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}  # a person follows a link into a tab


@dataclass(frozen=True, slots=True)
class Identity:
    """The port and the token of the server. With the same token it is the same one after a restart."""

    port: int
    token: str

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every `Host` that the server answers to."""
        return here(self.port)

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers do not keep cookies apart by port."""
        return f"semsearch_{self.port}"

    @property
    def pass_value(self) -> str:
        """The value of the cookie: the token cannot be computed from it, and another token or port has another one."""
        return hmac.new(self.token.encode(), self.cookie.encode(), hashlib.sha256).hexdigest()

    def is_token(self, texts: Iterable[str]) -> bool:
        """Whether one of the texts is the token, in a time that does not depend on what they have in common."""
        return among(texts, self.token)

    def has_pass(self, headers: Headers) -> bool:
        """Whether a cookie of the request is the right one. Another port can add wrong ones, which do no harm."""
        return among(self._passes(headers), self.pass_value)

    def without_pass(self, headers: Headers) -> str:
        """The other cookies."""
        return "; ".join(each for each in _cookies(headers) if each.partition("=")[0] != self.cookie)

    def stranger(self, headers: Headers, *, websocket: bool) -> str:
        """Why the request does not come from a page of this server, or from a person; "" if it does."""
        return Visitors(self.hosts).refusal(
            headers.getlist("host"),
            headers.getlist("origin"),
            headers.get("sec-fetch-site"),
            origin_needed=websocket,
            link_followed=websocket or _has(headers, NAVIGATION),
        )

    def _passes(self, headers: Headers) -> list[str]:
        pairs = (each.partition("=") for each in _cookies(headers))
        return [value for name, _, value in pairs if name == self.cookie]


def _cookies(headers: Headers) -> list[str]:
    """`name=value` of each cookie, whatever stands in the others."""
    return [each.strip() for header in headers.getlist("cookie") for each in header.split(";") if each.strip()]


def _has(headers: Headers, values: Mapping[str, str]) -> bool:
    return all(headers.get(name) == value for name, value in values.items())
