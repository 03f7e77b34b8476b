"""The process that serves an assistant, until its input ends or a signal comes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterable, Sequence
from io import StringIO
from typing import IO, Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from semsearch.errors import SemsearchError
from semsearch.serve import run
from semsearch.serve.mcp.http import PATH, application
from semsearch.serve.mcp.messages import NoMessage, message
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
        lines, nothing = anyio.wrap_file(_own_input()), anyio.wrap_file(StringIO())
        async with stdio_server(stdin=nothing) as (ended, sent), ended, anyio.create_task_group() as tasks:
            write, read = anyio.create_memory_object_stream[SessionMessage | Exception]()
            tasks.start_soon(_receive, lines, write, sent)
            await server.run(read, sent, server.create_initialization_options())

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: _end(service, number))
    asyncio.run(serve())
    service.stop()
    return 0


def _own_input() -> IO[bytes]:
    """The input of this process, which other code and programs that it starts find at its end."""
    own = os.fdopen(os.dup(0), "rb", closefd=False)  # a thread that waits for a line still has it at the end
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return own


async def _receive(lines: AsyncIterable[bytes], accepted: Any, sent: Any) -> None:
    """Pass on the messages, and answer lines that are none: the package would drop them, and the client would wait."""
    async with accepted:
        async for line in lines:
            try:
                await accepted.send(SessionMessage(message(line)))
            except NoMessage as error:
                await sent.send(SessionMessage(error.answer))


def _end(service: Service, number: int) -> None:
    """End at a signal. A thread that waits for the next line of stdin would keep the interpreter from ending."""
    service.stop()  # what is being written is completed
    sys.stderr.flush()
    os._exit(128 + number)
