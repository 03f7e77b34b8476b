"""One process that reads files, seen from the one that started it. What it runs is `semsearch.documents.worker`.

It is a fresh interpreter, never a fork, and imports nothing of the caller's `__main__`. It reads requests from a pipe
and ends when that is closed, so it does not outlive its caller, even a killed one. Another thread has to call `check`
every now and then: that ends a process that is beyond its limits, and the thread that waits for it sees the pipe close.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, Literal

import semsearch
from semsearch.documents.isolation import limits as reasons
from semsearch.documents.isolation.limits import Exceeded, Limits
from semsearch.documents.isolation.messages import Malformed, Message, TooLarge, item_of, packed, receive
from semsearch.documents.parsing.records import Fields
from semsearch.errors import Unreadable, UsageError
from semsearch.types import Document, Skipped

if TYPE_CHECKING:
    from subprocess import Popen

START_SECONDS = 60.0  # usually 0.1; on a machine that is busy otherwise, 60 is not the fault of a file
CRASH_SHARE = 0.5  # of the memory limit: a parser that crashes there has probably failed to get more
_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from semsearch.documents.worker import main; main()"
_FROM_OUTSIDE = {"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"}  # not the file's doing, so the next run tries it again


class ReaderProcess:
    """A process that reads one file at a time. Starting it takes 0.1 s; `check` may be called from any thread."""

    def __init__(self) -> None:
        import subprocess  # 15 ms, and every index imports this module

        self._process: Popen[bytes] = subprocess.Popen(
            _command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=2**16,
            process_group=0,  # Ctrl-C in the terminal is for the caller
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._path = list(sys.path)
        self._lock = Lock()
        self._killed_for: Literal["", "time", "memory"] = ""
        self._deadline: float | None = None
        self._most_memory = 0  # bytes; 0 for no limit
        self._peak = 0
        self.ready = False
        """Whether it can take a file now."""
        self.idle_since = time.monotonic()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Returns once it runs. Raises Unreadable where it cannot be started."""
        try:
            message = self._receive(START_SECONDS, 1000)
        except (Malformed, TooLarge):  # not this program
            message = None
        if message is None or message.head["kind"] != "ready":
            self.kill()
            code = self._process.returncode
            raise Unreadable(f"no process could be started to read it ({sys.executable} ended with {code})")
        self.ready = True

    def read(self, loader: str, path: Path, fields: Fields, limits: Limits, most: int) -> Iterator[Document | Skipped]:
        """What the loader finds in a file, up to `most` bytes of it.

        Raises Unreadable and UsageError as the loader does, Exceeded beyond a limit or after a crash.
        """
        self.ready = False
        self._most_memory = limits.memory_mb * reasons.MIB
        request = {"kind": "read", "loader": loader, "path": str(path.absolute()), "fields": asdict(fields)}
        self._send(packed({**request, "limits": asdict(limits)}))
        while True:
            message = self._next(limits)
            if message.head["kind"] == "alive":  # the time begins again
                continue
            if message.head["kind"] not in ("document", "skipped"):
                break
            most -= message.size
            if most < 0:
                raise reasons.too_long(limits)
            try:
                yield item_of(message)
            except Malformed as error:
                raise Exceeded("its reader crashed: it sent something else than documents") from error
        self._finish(message, limits)

    def check(self) -> None:
        """End the process if it is beyond a limit. Does nothing to one that has ended."""
        memory = resident_bytes(self.pid)
        with self._lock:
            self._peak = max(self._peak, memory)
            if self._deadline is not None and time.monotonic() > self._deadline:
                self._kill("time")
            elif 0 < self._most_memory < memory:
                self._kill("memory")

    def is_usable(self) -> bool:
        """Whether it still runs, and finds the modules that this process finds."""
        with self._lock:
            return self._process.poll() is None and self._path == sys.path

    def kill(self) -> None:
        """End the process, and return when it has ended."""
        self.ready = False
        with self._lock:
            self._kill("")
            self._reap()
        for pipe in self._pipes():
            with suppress(OSError):
                pipe.close()

    def abandon(self) -> None:
        """Close the pipes in a fork of the caller: the process belongs to the original."""
        self._process.returncode = 0  # or it would be waited for
        for pipe in self._pipes():
            with suppress(OSError):
                pipe.raw.close()  # type: ignore[attr-defined]  # a thread that no longer exists may hold its buffer

    def _send(self, request: bytes) -> None:
        stream = self._pipes()[0]
        with suppress(OSError):  # the answer will be the end of the stream
            stream.write(request)
            stream.flush()

    def _next(self, limits: Limits) -> Message:
        try:
            message = self._receive(limits.seconds, limits.output_mb * reasons.MIB)
        except TooLarge as error:
            raise reasons.too_long(limits) from error
        except Malformed as error:
            raise Exceeded("its reader crashed: it sent something else than documents") from error
        if message is None:
            raise self._reason_of_death(limits)
        return message

    def _receive(self, seconds: float, most: int) -> Message | None:
        """The next message; None if the process ends, as it does after so many seconds."""
        with self._lock:
            self._deadline = time.monotonic() + seconds
        try:
            return receive(self._pipes()[1], most)
        finally:
            with self._lock:
                self._deadline = None

    def _finish(self, message: Message, limits: Limits) -> None:
        """The end of a file: ready for the next one, or an error."""
        kind = message.head["kind"]
        self.idle_since = time.monotonic()
        self.ready = kind in ("end", "unreadable", "usage") and not message.head.get("last")
        if kind == "memory":
            raise reasons.too_much_memory(limits)
        if kind == "output":
            raise reasons.too_long(limits)
        parts = [str(message.head.get(name, "")) for name in ("message", "fix", "command")]
        if kind == "usage":
            raise UsageError(*parts)
        if kind != "end":
            raise Unreadable(parts[0])

    def _reason_of_death(self, limits: Limits) -> Unreadable:
        """Why the process has ended in the middle of a file."""
        with self._lock:
            self._reap()
            code, killed_for, peak = self._process.returncode, self._killed_for, self._peak
        name = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        if killed_for == "time" or name == "SIGXCPU":
            return reasons.too_slow(limits)
        if killed_for == "memory":
            return reasons.too_much_memory(limits)
        if name in _FROM_OUTSIDE:
            return Unreadable(f"the process that read it was killed ({name})")
        if peak > CRASH_SHARE * self._most_memory:
            return Exceeded(f"{reasons.too_much_memory(limits).message} ({name})")
        return Exceeded(f"its reader crashed ({name})")

    def _kill(self, why: Literal["", "time", "memory"]) -> None:
        if self._process.poll() is not None:
            return
        self._killed_for = why
        with suppress(OSError):  # the pid is ours until it is waited for, which happens under the same lock
            os.killpg(self.pid, signal.SIGKILL) if hasattr(os, "killpg") else self._process.kill()

    def _reap(self) -> None:
        """Wait for the end of a process whose pipe is closed, or that was killed."""
        import subprocess

        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _pipes(self) -> tuple[BinaryIO, BinaryIO]:
        """Requests, results."""
        requests, results = self._process.stdin, self._process.stdout
        assert requests is not None and results is not None
        return requests, results  # type: ignore[return-value]


def _command() -> list[str]:
    """A Python like this one, with the same search path for modules."""
    flags = ["-P", *(flag for flag, is_set in _flags().items() if is_set)]
    cache = ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
    return [sys.executable, *flags, *cache, "-c", _BOOT, json.dumps(_places())]


def _places() -> list[str]:
    """Where this process looks for modules, as absolute paths, and where it found this package."""
    places = []
    for place in [*sys.path, str(Path(semsearch.__file__).resolve().parents[1])]:
        with suppress(OSError, TypeError):  # a working directory that is gone; an entry that is no text
            places.append(str(Path(place).absolute()))
    return list(dict.fromkeys(places))


def _flags() -> dict[str, int]:
    now = sys.flags
    return {"-I": now.isolated, "-E": now.ignore_environment, "-S": now.no_site, "-B": now.dont_write_bytecode}


def resident_bytes(pid: int) -> int:
    """The resident set of a process; 0 where it has ended, and on Windows, where memory is not limited."""
    try:
        if sys.platform == "linux":
            return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return 0 if sys.platform == "win32" else _by_ps(pid)
    except (OSError, ValueError, IndexError):
        return 0


def _by_ps(pid: int) -> int:
    import subprocess  # 15 ms, and only where there is no /proc

    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, timeout=5, check=False)
    return int(shown.stdout) * 1024
