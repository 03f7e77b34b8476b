"""The process that serves an assistant, until its input ends or a signal comes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

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
        async with stdio_server() as (received, sent), anyio.create_task_group() as tasks:
            write, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
            tasks.start_soon(refusing, received, sent, write)
            await server.run(read, sent, server.create_initialization_options())

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: _end(service, number))
    asyncio.run(serve())
    service.stop()
    return 0


async def refusing(received: Any, sent: Any, accepted: Any) -> None:
    """Pass on the messages, and answer lines that are none: the package would drop them, and the client would wait."""
    async with accepted:
        async for item in received:
            if isinstance(item, Exception):
                await sent.send(SessionMessage(_refusal(item)))
            else:
                await accepted.send(item)


def _refusal(error: Exception) -> JSONRPCError:
    """The answer to a line that is no message, with the id of the request where there is one."""
    line = next((one["input"] for one in error.errors()), "") if isinstance(error, ValidationError) else ""
    number = None
    with suppress(ValueError, TypeError, AttributeError):  # Python reads a surrogate, which the package refuses
        number = json.loads(line).get("id")
    wrong = "this line is no message of JSON-RPC in valid Unicode (an unpaired surrogate is no character)."
    request = number if isinstance(number, int | str) else None
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=PARSE_ERROR, message=wrong))


def _end(service: Service, number: int) -> None:
    """End at a signal. A thread that waits for the next line of stdin would keep the interpreter from ending."""
    service.stop()  # what is being written is completed
    sys.stderr.flush()
    os._exit(128 + number)
