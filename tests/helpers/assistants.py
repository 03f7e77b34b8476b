"""The client of the package mcp, connected to `semsearch mcp` in a process of its own, over stdio or HTTP."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from helpers.served import PATIENCE, free_port
from helpers.serving import Serving, started


@dataclass(frozen=True)
class Assistant:
    """A connected client, for tests that are not asynchronous."""

    portal: BlockingPortal
    client: Client

    def tools(self) -> dict[str, Any]:
        """The tools by name."""
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def ask(self, tool: str, **arguments: object) -> Any:
        """The answer of a tool, which is the same as text and as an object."""
        found = self.portal.call(self.client.call_tool, tool, arguments)
        assert not found.is_error, found.content[0].text
        assert json.loads(found.content[0].text) == found.structured_content
        return found.structured_content

    def refused(self, tool: str, **arguments: object) -> str:
        """The text of an error that a tool has answered with."""
        found = self.portal.call(self.client.call_tool, tool, arguments)
        assert found.is_error, found.structured_content
        return found.content[0].text


def command(home: Path, *flags: str) -> list[str]:
    return [sys.executable, "-m", "semsearch", "--home", str(home), "mcp", *flags]


@contextmanager
def over_stdio(home: Path, *flags: str, mode: str = "auto") -> Iterator[Assistant]:
    """A client that has started its own server."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"SEMSEARCH_CACHE": str(Path(folder) / "cache.db")}
        program, *arguments = command(home, *flags)
        with _connected(
            StdioServerParameters(command=program, args=arguments, env=os.environ | own), mode
        ) as assistant:
            yield assistant


@contextmanager
def answering(home: Path, *flags: str, **environment: str) -> Iterator[Serving]:
    """A server over HTTP, as soon as it answers."""
    port = free_port()
    line = command(home, "--transport", "http", "--port", str(port), *flags)
    with started(line, port, "/healthz", **environment) as server:
        yield server


@contextmanager
def over_http(server: Serving, token: str = "", mode: str = "auto") -> Iterator[Assistant]:
    """A client of that server."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    http = httpx2.AsyncClient(headers=headers, timeout=PATIENCE)
    transport = streamable_http_client(f"http://127.0.0.1:{server.port}/mcp", http_client=http)
    with _connected(transport, mode) as assistant:
        yield assistant


@contextmanager
def _connected(server: Any, mode: str) -> Iterator[Assistant]:
    with start_blocking_portal() as portal:
        client = Client(server, mode=mode, read_timeout_seconds=PATIENCE)
        with portal.wrap_async_context_manager(client):
            yield Assistant(portal, client)
