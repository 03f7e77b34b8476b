"""Who may ask a server: `Host`, `Origin` and `Sec-Fetch-Site` of a request, and secrets compared in constant time.

A browser counts neither `localhost:9000` as another site than `localhost:8501`, nor keeps cookies apart by port. So a
cookie alone shows nothing about the page that a request comes from; these headers do.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HERE = "127.0.0.1"
NAMES = (HERE, "localhost", "[::1]")  # what a browser on this machine may call a server
ELSEWHERE = ("same-site", "cross-site")  # what Sec-Fetch-Site says of a request that another origin's page caused


def here(port: int) -> tuple[str, ...]:
    """Every `Host` of a server that listens on this machine's own address."""
    return tuple(f"{name}:{port}" for name in NAMES)


def among(texts: Iterable[str], secret: str) -> bool:
    """Whether one of the texts is the secret, in a time that does not depend on what they have in common."""
    return sum(hmac.compare_digest(each.encode(), secret.encode()) for each in texts) > 0


@dataclass(frozen=True, slots=True)
class Visitors:
    """The values of `Host` that a server answers to, and the `origins` of other pages that may ask it."""

    hosts: tuple[str, ...]
    origins: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ("http",)

    def refusal(
        self,
        hosts: Sequence[str],
        origins: Sequence[str],
        site: str | None,
        *,
        origin_needed: bool = False,
        link_followed: bool = False,
    ) -> str:
        """Why a request with these headers comes neither from a page of this server nor from a program; "" if it does.

        `site` is Sec-Fetch-Site. link_followed: a person follows a link, which any page may have.
        """
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return f"This server answers to {self.schemes[0]}://{self.hosts[0]} only."
        if len(origins) == 1 and origins[0] in self.origins:
            return ""
        own = [[f"{scheme}://{hosts[0].lower()}"] for scheme in self.schemes]
        if list(origins) not in own and (origins or origin_needed):
            return "Pages of another address have no access."
        if site in ELSEWHERE and not link_followed:
            return "Pages of another address may link to this one, and nothing else."
        return ""
