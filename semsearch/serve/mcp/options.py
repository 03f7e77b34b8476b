"""What `semsearch mcp` passes to the process that serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from semsearch.serve.options import ServeOptions


@dataclass(frozen=True, slots=True)
class McpOptions(ServeOptions):
    """The options of one start. Without `only`, all indexes of the home are there; `token_limit` is for one answer."""

    transport: Literal["stdio", "http"] = "stdio"
    only: tuple[str, ...] = ()
    allow_write: bool = False
    token_limit: int = 8000
