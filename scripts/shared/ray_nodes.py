"""A Ray cluster of several nodes on this machine, each a group of processes, ended by their ids.

Ray's servers listen on every address of the machine, so this is only for a network namespace that has the loopback
alone: `scripts/test --scale` runs the tests in one, and scripts go into one themselves (`enter`).
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from scripts.shared.programs import command

PORT = 6399  # outside the ports of Ray's own workers
AGENTS = 20_100  # ports of the agents of the nodes: a node waits 15 s for those that it is not given
AGENT_PORTS = (
    "dashboard-agent-grpc-port",
    "dashboard-agent-listen-port",
    "runtime-env-agent-port",
    "metrics-export-port",
)
WAIT_S = 300.0
ACTOR = "EmbeddingActor"  # in the name of the process of an actor
STARTED = "Ray runtime started"  # what `ray start` prints
STORE_BYTES = 150_000_000  # of each node, in /dev/shm
TRIES = 3  # a start takes more than Ray's own limit of 30 s on a busy machine
NAMESPACES = ("--net", "--pid", "--fork", "--kill-child", "--mount-proc")  # nothing of it outlives this process


class Cluster:
    """A head without processors, on which drivers run, and nodes."""

    def __init__(self, folder: Path) -> None:
        self.address = f"127.0.0.1:{PORT}"
        self.environment = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(24),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DISABLE_MEMORY_MONITOR": "1",
            "RAY_gcs_server_request_timeout_seconds": "240",  # in place of 60, as below: a busy machine takes longer
            "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "240",
            "RAY_worker_niceness": "0",  # in place of 15, with which workers starve beside whatever else runs here
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
            "SEMSEARCH_EMBEDDING_CACHE_MB": "0",  # each text is embedded
        }
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else every worker compiles every module
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def head(self) -> None:
        """Start the head."""
        self._start("--head", f"--port={PORT}", "--include-dashboard=false", "--num-cpus=0")

    def node(self, cpus: int = 2, gpus: int = 0) -> int:
        """Start a node; its process. Ray counts processors and GPUs, whatever the machine has."""
        return self._start(f"--address={self.address}", f"--num-cpus={cpus}", f"--num-gpus={gpus}")

    def kill(self, pid: int) -> None:
        """kill -9 of a node with everything in it."""
        _kill(descendants(pid))
        for started in self._started:
            if started.pid == pid:
                started.wait(WAIT_S)

    def actors(self) -> list[int]:
        """The processes of the actors that embed."""
        return [process for started in self._started for process in _actors(started.pid)]

    def with_actors(self) -> list[int]:
        """The processes of the nodes on which actors embed."""
        return [started.pid for started in self._started if _actors(started.pid)]

    def processor(self) -> float:
        """Seconds of processor time of all that is running, and of what it has waited for."""
        return processor(*(started.pid for started in self._started))

    def close(self) -> None:
        """End every process, by its id."""
        _kill([process for started in self._started for process in descendants(started.pid)])
        for started in self._started:
            started.wait(WAIT_S)

    def _start(self, *arguments: str) -> int:
        """Start a node, at the TRIES-th time at the latest; its process."""
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--node-ip-address=127.0.0.1"]
        store = [f"--object-store-memory={STORE_BYTES}", "--disable-usage-stats"]
        if "--head" in arguments:
            store.append(f"--temp-dir={self._folder}")
        for _ in range(TRIES):
            first = AGENTS + len(AGENT_PORTS) * len(self._started)
            ports = [f"--{name}={first + at}" for at, name in enumerate(AGENT_PORTS)]
            place = self._folder / f"node-{len(self._started)}.log"
            with place.open("wb") as log:
                started = subprocess.Popen(
                    [*ray, *store, *ports, *arguments], env=self.environment, stdout=log, stderr=log
                )
            self._started.append(started)
            end = time.monotonic() + WAIT_S  # one after the other: two that start at the same instant may hang
            while STARTED not in (said := place.read_text(errors="replace")):
                if started.poll() is not None or time.monotonic() > end:
                    break
                time.sleep(0.2)
            else:
                return started.pid
            self.kill(started.pid)
            if "--head" in arguments:  # what it has left has other parents now
                _kill([pid for pid in _every_pid() if str(self._folder) in _command(pid) and pid != os.getpid()])
        raise AssertionError(said)


@contextmanager
def cluster(nodes: int, cpus: int = 2) -> Iterator[Cluster]:
    """A head and so many nodes, with so many processors each."""
    folder = Path(tempfile.mkdtemp(prefix="ray-"))  # short: Ray makes sockets in it
    cluster = Cluster(folder)
    try:
        cluster.head()
        for _ in range(nodes):
            cluster.node(cpus)
        yield cluster
    finally:
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)


def enter(module: str) -> None:
    """Go into a network namespace with nothing but the loopback: `scripts.MODULE` begins again there."""
    if not isolated():
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        again = ["bash", "-c", 'ip link set lo up && exec "$@"', module, *command(module, *sys.argv[1:])]
        os.execvp("unshare", ["unshare", *user, *NAMESPACES, *again])


def processor(*pids: int) -> float:
    """Seconds of processor time of these processes, of all below them, and of what these have waited for."""
    ticks = 0
    for each in {below for pid in pids for below in descendants(pid)}:
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """A process and all below it, parents first."""
    children: dict[int, list[int]] = {}
    for each in _every_pid():
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(each)
    family = [pid]
    for process in family:
        family += children.get(process, [])
    return family


def isolated() -> bool:
    """Whether this process has a network of its own, without any address but the loopback."""
    devices = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    return devices == ["lo"]


def _actors(node: int) -> list[int]:
    return [process for process in sorted(descendants(node)) if ACTOR in _command(process)]


def _every_pid() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _kill(pids: Sequence[int]) -> None:
    for pid in reversed(pids):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""
