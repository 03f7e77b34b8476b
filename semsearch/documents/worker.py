"""The program of a process that reads files for another one, which `isolation.process` starts and describes.

It limits its own memory and processor time where the system has such limits. What a parser prints goes nowhere, as
standard output is the pipe for the results.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO

from semsearch.documents import loaders
from semsearch.documents.isolation.limits import MIB, Limits
from semsearch.documents.isolation.messages import Message, TooLarge, packed, packed_item, receive
from semsearch.documents.isolation.process import resident_bytes
from semsearch.documents.loaders import Fields, Heartbeat
from semsearch.errors import SemsearchError, UsageError
from semsearch.types import Document, JsonMapping, JsonObject, Skipped

FLUSH_SECONDS = 0.05
CPU_FACTOR = 2  # the caller's clock ends a slow file; processor time is the limit should the caller be gone
TIRED_SHARE = 0.5  # of the memory limit: a process that has used so much leaves the next file to a new one
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Answer requests until the pipe that they come from is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    requests, results = _private(0, "rb"), _private(1, "wb")
    waiting: SimpleQueue[Message] = SimpleQueue()
    Thread(target=_listen, args=(requests, waiting), daemon=True).start()
    results.write(packed({"kind": "ready"}))
    results.flush()
    os.dup2(1, 2)
    while True:
        head = waiting.get().head
        answer = _answer(head, results)
        last = _bytes_in_use() > TIRED_SHARE * head["limits"]["memory_mb"] * MIB
        results.write(packed({**answer, "last": last}))
        results.flush()


def _answer(head: JsonMapping, results: BinaryIO) -> JsonMapping:
    """Send what is in a file; the message that ends the answer."""
    fields: JsonObject = {
        name: tuple(value) if isinstance(value, list) else value for name, value in head["fields"].items()
    }
    try:
        reading = _Reading(results, Limits(**head["limits"]))
        reading.send(head["loader"], Path(head["path"]), Fields(**fields))
    except MemoryError:
        return {"kind": "memory"}
    except TooLarge:
        return {"kind": "output"}
    except UsageError as error:
        return {"kind": "usage", "message": error.message, "fix": error.fix, "command": error.command}
    except SemsearchError as error:
        return {"kind": "unreadable", "message": error.message}
    except (TypeError, ValueError) as error:
        return {"kind": "unreadable", "message": f"its metadata cannot be written as JSON: {error}"}
    return {"kind": "end"}


class _Reading:
    """The reading of one file."""

    def __init__(self, results: BinaryIO, limits: Limits) -> None:
        self._results = results
        self._limits = limits
        self._flushed = time.monotonic()

    def send(self, loader: str, path: Path, fields: Fields) -> None:
        _limit_memory(self._limits.memory_mb * MIB)
        _limit_processor(self._limits.seconds)
        records = loaders.has_records(loader)
        for item in loaders.read(loader, path, fields):
            if isinstance(item, Heartbeat):
                self._results.write(packed({"kind": "alive"}))
            else:
                self._results.write(self._packed(item, path.name, records=records))
            if (now := time.monotonic()) - self._flushed > FLUSH_SECONDS:
                self._results.flush()
                self._flushed = now
                _limit_processor(self._limits.seconds)

    def _packed(self, item: Document | Skipped, file: str, *, records: bool) -> bytes:
        most = self._limits.output_mb * MIB
        try:
            return packed_item(item, most)
        except TooLarge:
            if not records or isinstance(item, Skipped):
                raise
            place = item.id if item.id.startswith("#") else f" {item.id!r:.80}"
            return packed_item(Skipped(f"{file}{place}", f"longer than {self._limits.output_mb} MB"), most)


def _listen(requests: BinaryIO, waiting: SimpleQueue[Message]) -> None:
    """Pass requests on. The end of the pipe is the end of the caller, and so of this process, whatever it is doing."""
    while (message := receive(requests, 2**30)) is not None:
        waiting.put(message)
    os._exit(0)


def _private(descriptor: int, mode: str) -> BinaryIO:
    """The stream at `descriptor`, under another number; parsers that read or print there find nothing."""
    stream = os.fdopen(os.dup(descriptor), mode, buffering=2**16)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, descriptor)
    os.close(nothing)
    return stream  # type: ignore[return-value]


def _end_with_parent() -> None:
    """Linux: SIGKILL when the thread that started this process ends, even if a parser never lets `_listen` run."""
    if sys.platform != "linux":
        return
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit_memory(most: int) -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _limit_processor(seconds: int) -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime) + CPU_FACTOR * seconds + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _bytes_in_use() -> int:
    """The memory of this process; elsewhere than on Linux the most that it has had, which costs no look into /proc."""
    if sys.platform == "linux":  # where ru_maxrss of a new process begins with that of its parent
        return resident_bytes(os.getpid())
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
