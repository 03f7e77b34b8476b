"""A PostgreSQL server of its own, with pgvector, for tests and measurements: of the binaries of the package pgserver.

It listens on a Unix socket in its folder, and ends by its process id.
PostgreSQL refuses to run as root, so there the processes run as the user nobody. SEMSEARCH_POSTGRES may name a folder
with other binaries, such as those of a PostgreSQL with a newer pgvector.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

PATIENCE = 60.0  # seconds until a server answers, or has ended
USER = "semsearch"
PORT = 5432  # also part of the name of the socket
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")  # for tests that pull no plug
MAX_CONNECTIONS = 40
STILL_THERE = "pre-existing shared memory block"  # of a server that was killed, whose processes end by themselves


def binaries() -> Path | None:
    """The folder with initdb and postgres; None where the package pgserver is not installed."""
    if chosen := os.environ.get("SEMSEARCH_POSTGRES"):
        return Path(chosen)
    spec = importlib.util.find_spec("pgserver")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


class PostgresServer:
    """A server with its data in `folder`. host: an address on which it listens too."""

    def __init__(self, folder: Path, *, settings: Sequence[str] = (), host: str = "", port: int = PORT) -> None:
        self.folder, self.settings, self.host, self.port = folder, tuple(settings), host, port
        self.data, self.sockets, self.log = folder / "data", folder / "s", folder / "log"
        self.process: subprocess.Popen[bytes] | None = None

    def address(self, database: str = "postgres", user: str = USER) -> str:
        """What stands after `--store postgres:`."""
        if self.host:
            return f"postgresql://{user}@{self.host}:{self.port}/{database}"
        return f"postgresql:///{database}?host={self.sockets}&port={self.port}&user={user}"

    @property
    def store(self) -> str:
        """What stands after `--store`."""
        return f"postgres:{self.address()}"

    def prepare(self) -> None:
        """Make its folders."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.sockets.mkdir(exist_ok=True)
        _hand_over(self.folder)

    def make(self) -> None:
        """Make an empty cluster of databases."""
        self.prepare()
        self.run("initdb", "-D", str(self.data), "-E", "UTF8", "--locale=C", "-A", "trust", "-U", USER)
        if self.host:
            with (self.data / "pg_hba.conf").open("a", encoding="utf-8") as file:
                file.write("host all all samenet trust\n")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ["-D", str(self.data), "-k", str(self.sockets), "-c", f"listen_addresses={self.host}"]
        options += ["-p", str(self.port)]
        for setting in (f"max_connections={MAX_CONNECTIONS}", *self.settings):
            options += ["-c", setting]
        end = time.monotonic() + PATIENCE
        while not self._came(options, end):
            time.sleep(0.2)

    def _came(self, options: list[str], end: float) -> bool:
        """Whether it answers; False where processes of one that was killed have not ended yet."""
        with self.log.open("ab") as log:
            before = log.tell()
            self.process = self._started([str(_required() / "postgres"), *options], log)
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                said = self.log.read_bytes()[before:].decode(errors="replace")
                if STILL_THERE in said and time.monotonic() < end:
                    return False
                raise RuntimeError(f"PostgreSQL did not start: {said[-2000:]}")
            time.sleep(0.05)
        return True

    def _started(self, command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        how = {"stdout": log, "stderr": log, "cwd": self.folder, **_user()}
        return subprocess.Popen(command, preexec_fn=_die_with_parent, **how)

    def runs(self) -> bool:
        """Whether its process is there."""
        return self.process is not None and self.process.poll() is None

    def answers(self) -> bool:
        """Whether it takes connections."""
        command = [str(_required() / "pg_isready"), "-q", *self._reached(), "-d", "postgres"]
        return subprocess.run(command, check=False).returncode == 0

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it as a power cut ends a process. What it had started ends by itself."""
        self._end(signal.SIGKILL)

    def sql(self, statement: str, database: str = "postgres") -> str:
        """The output of a statement, without a heading."""
        return self.run("psql", *self._reached(), "-U", USER, "-d", database, "-X", "-A", "-t", "-c", statement)

    def _reached(self) -> list[str]:
        return ["-h", str(self.sockets), "-p", str(self.port)]

    def run(self, program: str, *arguments: str) -> str:
        """Run one of PostgreSQL's programs. Raises RuntimeError with what it says."""
        command = [str(_required() / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False, **_user())
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr.strip()}")
        return str(done.stdout).strip()

    def _end(self, how: signal.Signals) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        children = _children(process.pid)
        process.send_signal(how)
        process.wait(PATIENCE)
        for child in children if how == signal.SIGKILL else ():  # else the next start waits for them
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


@contextmanager
def running(*settings: str) -> Iterator[PostgresServer]:
    """A server in a temporary folder: the path of a socket may have 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        with running_at(folder, settings=settings) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_at(
    folder: Path, *, settings: Sequence[str] = (), host: str = "", port: int = PORT
) -> Iterator[PostgresServer]:
    """A new server with its data in `folder`, which its user has to reach."""
    server = PostgresServer(folder, settings=settings, host=host, port=port)
    try:
        server.make()
        folder.chmod(0o755)
        server.start()
        yield server
    finally:
        server.stop()


def _required() -> Path:
    folder = binaries()
    if folder is None:
        raise RuntimeError("the package pgserver is not installed: pip install pgserver")
    return folder


def _die_with_parent() -> None:
    """Let the server end with this process, also where that is killed (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG


def _user() -> dict[str, Any]:
    """As whom a program runs."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


def _hand_over(folder: Path) -> None:
    if os.geteuid() == 0:
        for place in (folder, *folder.iterdir()):
            shutil.chown(place, "nobody", "nogroup")


def _children(parent: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    except OSError:
        return []
