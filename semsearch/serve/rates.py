"""How many requests a client may send: a bucket for each, which fills steadily and holds a burst of ten seconds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from semsearch.serve.problems import Refused

BURST = 10.0  # seconds' worth of requests that may come at once
MOST_CLIENTS = 10_000  # buckets in memory; full ones are forgotten first


class Rates:
    """At most `per_second` requests of each client on average; 0 is no limit. Used by one thread.

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
