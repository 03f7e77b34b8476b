"""Processes that are forked from a server which has loaded what they need, and that are killed."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any
from unittest.mock import patch

PRELOADED = ["pytest", "warm"]  # once, instead of every process for itself
PATIENCE = 120  # seconds until a process that should end counts as one that hangs


def context() -> ForkServerContext:
    """Where processes come from: a server that finds the modules of these tests."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(PRELOADED)
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
        forkserver.ensure_running()
    return found


@dataclass
class Ended:
    """What a process said until it ended, and whether it was killed."""

    killed: bool
    said: list[Any] = field(default_factory=list)


class Running:
    """A process of `target(*arguments, connection)`, which speaks through the connection."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        self._receive, send = context().Pipe(duplex=False)
        self.process: BaseProcess = context().Process(target=target, args=(*arguments, send), daemon=True)
        self.process.start()
        send.close()

    def next(self) -> Any:
        """The next thing that it says."""
        assert self._receive.poll(PATIENCE), f"it has said nothing for {PATIENCE} s"
        return self._receive.recv()

    def kill(self, after: float = 0) -> None:
        """Kill it, after so many seconds unless it has ended by then."""
        self.process.join(after)
        self.process.kill()

    def end(self) -> Ended:
        """Wait until it has ended; the rest of what it said."""
        said = []
        with contextlib.suppress(EOFError, OSError):  # the last message of one that was killed may be cut
            while True:
                said.append(self.next())
        self._receive.close()
        self.process.join(PATIENCE)
        if self.process.exitcode is None:
            self.kill()
            raise AssertionError(f"it went on for more than {PATIENCE} s after its last word")
        killed = self.process.exitcode == -signal.SIGKILL
        assert killed or self.process.exitcode == 0, f"it ended with {self.process.exitcode}"
        return Ended(killed, said)


def run(target: Callable[..., None], *arguments: Any, after: float | None = None, first: int = 1) -> Ended:
    """Run `target(*arguments, connection)` in a process; kill it `after` seconds once it has said `first` things."""
    running = Running(target, *arguments)
    said = []
    with contextlib.suppress(EOFError, OSError):
        while len(said) < first:
            said.append(running.next())
        if after is not None:
            running.kill(after)
    ended = running.end()
    return Ended(ended.killed, said + ended.said)
