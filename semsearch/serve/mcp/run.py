"""The process that serves an assistant, until its input ends or a signal comes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from semsearch.errors import SemsearchError
from semsearch.serve import run
from semsearch.serve.mcp.http import PATH, application
from semsearch.serve.mcp.options import McpOptions
from semsearch.serve.mcp.server import protocol
from semsearch.serve.service import Service


def main(arguments: Sequence[str]) -> int:
    """Serve. Returns the exit code."""
    try:
        options, tokens, service = run.begun(arguments, McpOptions, "semsearch mcp")
        listening = run.listen(options) if options.transport == "http" else None
    except SemsearchError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    run.log_to_stderr()
    server = protocol(service, options)
    if listening is None:
        return _stdio(server, service)
    return run.answering(application(server, service, options, tokens), service, listening, PATH)


def _stdio(server: Server[Any], service: Service) -> int:
    """Answer on stdout what comes on stdin, until it ends. What other code prints goes to stderr."""

    async def serve() -> None:
        service.start()
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: _end(service, number))
    asyncio.run(serve())
    service.stop()
    return 0


def _end(service: Service, number: int) -> None:
    """End at a signal. A thread that waits for the next line of stdin would keep the interpreter from ending."""
    service.stop()  # what is being written is completed
    sys.stderr.flush()
    os._exit(128 + number)
