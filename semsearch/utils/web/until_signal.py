"""A server that answers until a signal ends it, and the exit code that tells which."""

from __future__ import annotations

import signal
import socket
import sys

import uvicorn

STARTUP_FAILURE = 3  # uvicorn's exit code; ours means "not found"


def run(server: uvicorn.Server, listening: socket.socket, *, not_started: str = "") -> int:
    """Answer at `listening` until a signal comes; 128 and its number, or 1 where the application did not start.

    not_started: a line for stderr in that case, beside what uvicorn says.
    """
    # Connections inherit it. asyncio sets it on sockets of its own; without it an answer can take 40 ms longer.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    signal.signal(signal.SIGTERM, _terminated)  # uvicorn raises a signal again once all is closed
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except SystemExit as ended:
        if server.started or ended.code != STARTUP_FAILURE:
            raise
        sys.stderr.write(not_started)
        return 1
    return 0


def _terminated(number: int, _: object) -> None:
    raise SystemExit(128 + number)
