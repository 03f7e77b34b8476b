"""The process that serves: it listens, answers until a signal comes, and finishes what it has begun."""

from __future__ import annotations

import ctypes
import logging
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

import uvicorn
from starlette.types import ASGIApp

from semsearch.errors import SemsearchError, UsageError
from semsearch.serve import access
from semsearch.serve.access import Token
from semsearch.serve.app import application
from semsearch.serve.gate import JsonLines
from semsearch.serve.options import ServeOptions
from semsearch.serve.receiving import protocol
from semsearch.serve.service import Service
from semsearch.utils.web import until_signal
from semsearch.utils.web.visitors import HERE

Kind = TypeVar("Kind", bound=ServeOptions)
LOOPBACK = (HERE, "::1")
ARENA_MAX, ARENAS = -8, 2  # M_ARENA_MAX of glibc's mallopt
log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Serve. Returns the exit code."""
    try:
        options, tokens, service = begun(arguments, ServeOptions, "semsearch serve")
        listening = listen(options)
    except SemsearchError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    log_to_stderr()
    return answering(application(service, tokens), service, listening)


def begun(arguments: Sequence[str], kind: type[Kind], command: str) -> tuple[Kind, tuple[Token, ...], Service]:
    """The options in the only argument, which `command` passes, their tokens, and the service.

    Raises SemsearchError.
    """
    if len(arguments) != 1:
        raise UsageError(f"the server is started by `{command}`.", "Run that.")
    share_memory()
    options = kind.read(arguments[0])
    tokens = access.parse(options.tokens, os.environ)
    check(options)
    service = Service(options)
    named = {index for token in tokens for index in token.caller.indexes}
    for index in sorted(named.difference(service.indexes.names())) if named else ():
        sys.stderr.write(f"warning: a token is for the index {index!r}, which there is not.\n")
    return options, tokens, service


def answering(app: ASGIApp, service: Service, listening: socket.socket, path: str = "") -> int:
    """Answer with `app` until a signal comes; the exit code. `path` is what its address ends with."""
    options = service.options
    config = uvicorn.Config(
        app,
        lifespan="on",
        http=protocol(options.seconds),
        ws="none",
        log_config=None,
        proxy_headers=bool(options.proxies),  # nobody else is believed
        forwarded_allow_ips=list(options.proxies),
        server_header=False,
        access_log=False,  # the gate logs requests, without their queries
        timeout_graceful_shutdown=options.seconds,
    )
    address = f"http://{options.host}:{options.port}{path}"
    sys.stderr.write(f"{address}{'' if path else '/docs'}   (ready in a few seconds; Ctrl-C stops it)\n")
    log.info("listening", extra={"fields": {"address": address, "pid": os.getpid()}})
    server = uvicorn.Server(config)
    service.give_up = lambda: setattr(server, "should_exit", True)
    with listening:
        code = until_signal.run(server, listening)
    if service.failure is not None:
        sys.stderr.write(f"error: {service.failure}\n")
        return service.failure.exit_code
    return code


def share_memory() -> None:
    """Have threads take memory from few arenas: glibc gives each thread its own, which keeps what was freed in it.

    Under load this made the memory of an upload grow from 57 to 93 MB. Other C libraries have no such limit.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(ARENA_MAX, ARENAS)


def check(options: ServeOptions) -> None:
    """Raises UsageError for an address of other machines without a token."""
    if options.host not in LOOPBACK and not options.tokens:
        raise UsageError(
            f"{options.host} can be reached from other machines, so it needs a token.",
            "Put one into an environment variable and name it: --token-env NAME",
        )


def listen(options: ServeOptions) -> socket.socket:
    """A socket at which the operating system already queues connections."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        problem = f"{options.host}, port {options.port} cannot be used: {error.strerror}."
        raise SemsearchError(problem, "Choose another with --port.") from None


def log_to_stderr() -> None:
    """Have the log written as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name in ("semsearch", "uvicorn"):
        logging.getLogger(name).setLevel(logging.INFO)
