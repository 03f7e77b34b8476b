"""A Ray cluster of several nodes on this machine, each a group of processes, ended by their ids.

Ray's servers listen on every address of the machine, so this is only for a network namespace that has the loopback
alone: `scripts/test --scale` runs the tests in one, and `scripts/bench_scale_job.py` goes into one itself.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PORT = 6399  # outside the ports of Ray's own workers
WAIT_S = 180.0
SAMPLES_S = 0.5
STARTED = "Ray runtime started"  # what `ray start` prints
STORE_BYTES = 150_000_000  # of each node, in /dev/shm


class Cluster:
    """A head without processors, on which drivers run, and nodes with two each."""

    def __init__(self, folder: Path) -> None:
        self.address = f"127.0.0.1:{PORT}"
        self.environment = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(24),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DISABLE_MEMORY_MONITOR": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
        }
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def head(self) -> None:
        """Start the head."""
        self._start("--head", f"--port={PORT}", "--include-dashboard=false", "--num-cpus=0")

    def node(self, cpus: int = 2) -> int:
        """Start a node; its process."""
        return self._start(f"--address={self.address}", f"--num-cpus={cpus}")

    def kill(self, pid: int) -> None:
        """kill -9 of a node with everything in it."""
        for process in reversed(descendants(pid)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for started in self._started:
            if started.pid == pid:
                started.wait(WAIT_S)

    def pids(self) -> list[int]:
        """The process of each node."""
        return [started.pid for started in self._started]

    def actors(self, kind: str = "Embedder") -> list[int]:
        """The processes of the actors of a class: those that embed, or those that search ("Answerer")."""
        inside = {process for started in self._started for process in descendants(started.pid)}
        return [process for process in sorted(inside) if kind in _command(process)]

    def close(self) -> None:
        """End every process, by its id."""
        everything = [process for started in self._started for process in descendants(started.pid)]
        for process in reversed(everything):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for started in self._started:
            started.wait(WAIT_S)

    def _start(self, *arguments: str) -> int:
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--node-ip-address=127.0.0.1"]
        store = [f"--object-store-memory={STORE_BYTES}", "--disable-usage-stats"]
        if "--head" in arguments:
            store.append(f"--temp-dir={self._folder}")
        place = self._folder / f"node-{len(self._started)}.log"
        with place.open("wb") as log:
            started = subprocess.Popen([*ray, *store, *arguments], env=self.environment, stdout=log, stderr=log)
        self._started.append(started)
        end = time.monotonic() + WAIT_S  # one after the other: two that start at the same instant may hang
        while STARTED not in (said := place.read_text(errors="replace")):
            assert started.poll() is None and time.monotonic() < end, said
            time.sleep(0.2)
        return started.pid


@contextmanager
def cluster(nodes: int) -> Iterator[Cluster]:
    """A head and so many nodes."""
    folder = Path(tempfile.mkdtemp(prefix="ray-"))  # short: Ray makes sockets in it
    found = Cluster(folder)
    try:
        found.head()
        for _ in range(nodes):
            found.node()
        yield found
    finally:
        found.close()
        shutil.rmtree(folder, ignore_errors=True)


def descendants(pid: int) -> list[int]:
    """A process and all below it, parents first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for process in found:
        found += children.get(process, [])
    return found


class Meter:
    """The processor seconds of some processes and all below them, while the block lasts.

    They are looked at SAMPLES_S apart, as nobody has those of an actor after its end: its last ones are not counted.
    """

    def __init__(self, pids: list[int]) -> None:
        self._pids, self._ended = pids, threading.Event()
        self._seconds: dict[int, float] = {}
        self._before: dict[int, float] = {}
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Meter:
        self._before = self._now()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """User and system time since the beginning."""
        return sum(spent - self._before.get(pid, 0.0) for pid, spent in self._seconds.items())

    def _watch(self) -> None:
        while True:
            last = self._ended.wait(SAMPLES_S)
            self._seconds.update(self._now())
            if last:
                return

    def _now(self) -> dict[int, float]:
        found = {}
        for pid in [each for top in self._pids for each in descendants(top)]:
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                found[pid] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
        return found


def isolated() -> bool:
    """Whether this process has a network of its own, without any address but the loopback."""
    devices = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    return devices == ["lo"]


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""
