"""What `semsearch serve` passes to the process that serves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

from semsearch.types import JsonObject


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of one start. `tokens` name variables of the environment: NAME[:RIGHT[:INDEX,INDEX…]]."""

    home: str
    host: str
    port: int
    tokens: tuple[str, ...]
    allow_hosts: tuple[str, ...]
    seconds: int
    rate: float
    proxies: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    reranker: str | None = None
    max_body_mb: int = 16
    max_batch: int = 1000
    most_open: int = 16

    @property
    def max_bytes(self) -> int:
        """The largest body of a request, and the longest line of an upload."""
        return self.max_body_mb * 2**20

    @classmethod
    def read(cls, text: str) -> Self:
        """Options from the JSON of their fields."""
        recorded: JsonObject = json.loads(text)
        options: JsonObject = {
            name: tuple(value) if isinstance(value, list) else value for name, value in recorded.items()
        }
        return cls(**options)
