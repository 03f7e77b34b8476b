"""The connection to a Ray cluster, and whether a job fits into it.

Ray waits for ever, without an error, for room for an actor. So a job that could not begin is refused.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from semsearch.errors import MissingExtra, NotFound, SemsearchError, UsageError
from semsearch.utils.untrusted import one_line

Ray: TypeAlias = Any  # the package, and what it gives: it has no types

REACH_SECONDS = 5.0
STDERR = 2  # its file
START = "Start one: ray start --head. Or name its address: --ray-address HOST:PORT."
TOKEN = "Set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN (or RAY_AUTH_TOKEN_PATH) to the token of the cluster."
_ADDRESS = re.compile(r"(?P<host>\[[^\]]+\]|[^:/]+):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True)
class Engine:
    """How a job runs on Ray. address: auto or HOST:PORT. workers: as many as fit for None. cpus, gpus: of a worker."""

    address: str = "auto"
    workers: int | None = None
    cpus: float = 1.0
    gpus: float = 0.0

    def __post_init__(self) -> None:
        if self.address != "auto" and not _ADDRESS.fullmatch(self.address):
            fix = "Write auto or HOST:PORT, on a machine of the cluster."
            raise UsageError(f"{self.address!r} is no address of a Ray cluster.", fix)
        for option, number in {"cpus-per-worker": self.cpus, "gpus-per-worker": self.gpus or 1}.items():
            if not 0 < number < float("inf"):
                raise UsageError(f"--{option}: {number:g} is no number above 0.", "Leave it out for the usual one.")


@contextmanager
def connected(engine: Engine) -> Iterator[Ray]:
    """Ray, connected to the cluster. Raises MissingExtra; NotFound, UsageError, SemsearchError if that fails."""
    ray = imported()
    if ray.is_initialized():  # by a program that uses semsearch as a library
        yield ray
        return
    _reach(engine.address)
    handler = signal.getsignal(signal.SIGTERM)
    said: list[str] = []
    try:
        with _captured(said):
            ray.init(engine.address, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:
        raise _not_connected(engine.address, error, " ".join(said)) from error
    with redirect_stdout(sys.stderr):  # Ray prints that a worker has died, some of it when it ends
        try:
            if handler is not None and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, handler)  # Ray's own would end this process at once
            yield ray
        finally:
            with suppress(Exception):  # it must not take the place of Ctrl-C, or of the error that ended the job
                ray.shutdown()


def imported() -> Ray:
    """The package Ray. Raises MissingExtra."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # of what goes wrong Ray raises what matters
    try:
        return import_module("ray")
    except ImportError as error:
        raise MissingExtra("--engine ray", "scale", "Ray") from error


def workers(engine: Engine, nodes: Sequence[dict[str, float]]) -> int:
    """The workers of a job on nodes with these resources ("CPU", "GPU"). Raises UsageError where they do not fit.

    >>> workers(Engine(), [{"CPU": 2.0}, {"CPU": 2.0}])
    4
    """
    fit = sum(_slots(engine, node) for node in nodes)
    number = engine.workers or max(1, fit)
    if number > fit:
        gpus = f" and {engine.gpus:g} GPUs" if engine.gpus else ""
        has = f"{sum(node.get('CPU', 0.0) for node in nodes):g} processors on {len(nodes)} nodes"
        if engine.gpus:
            has += f" and {sum(node.get('GPU', 0.0) for node in nodes):g} GPUs"
        raise UsageError(
            f"{number} workers with {engine.cpus:g} processors{gpus} each do not fit: the cluster has {has}. "
            "Ray would wait for ever.",
            f"Choose fewer: --workers {fit}." if fit else "Choose --cpus-per-worker below what a node has, or add one.",
        )
    return number


def _slots(engine: Engine, node: dict[str, float]) -> int:
    slots = int(node.get("CPU", 0.0) / engine.cpus + 1e-9)
    return min(slots, int(node.get("GPU", 0.0) / engine.gpus + 1e-9)) if engine.gpus else slots


def _reach(address: str) -> None:
    """Raise NotFound where nobody listens: Ray itself would try for a minute, and then print a page."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return
    try:
        socket.create_connection((match["host"].strip("[]"), int(match["port"])), REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise NotFound(f"there is no Ray cluster at {address}: {reason}.", START) from error


@contextmanager
def _captured(said: list[str]) -> Iterator[None]:
    """Take what native code writes to stderr: of a refused token, Ray tells there alone, in 20 lines."""
    with tempfile.TemporaryFile() as file:
        usual = os.dup(STDERR)
        os.dup2(file.fileno(), STDERR)
        try:
            yield
        finally:
            os.dup2(usual, STDERR)
            os.close(usual)
            file.seek(0)
            said.append(file.read().decode("utf-8", "replace"))


def _not_connected(address: str, error: Exception, native: str) -> SemsearchError:
    """Why Ray refused, in one line. native: what it wrote to stderr."""
    said = one_line(str(error))
    small = f"{said} {native}".lower()
    if "token" in small or "authent" in small:
        return UsageError(f"the Ray cluster at {address} refused this client: its token is missing or wrong.", TOKEN)
    if "version mismatch" in small:
        return SemsearchError(
            f"the Ray cluster at {address} runs other versions: {said[:300]}", "Use the versions of the cluster."
        )
    if isinstance(error, ConnectionError) or "could not find any running" in small or "failed to connect" in small:
        return NotFound(f"there is no Ray cluster at {address}.", START)
    return SemsearchError(f"the Ray cluster at {address} cannot be used: {said[:300]}", "See `ray status`.")
