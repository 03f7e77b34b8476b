"""A PostgreSQL server of its own, with pgvector, for tests and measurements: of the binaries of the package pgserver.

    python scripts/postgres_server.py FOLDER        runs one until Ctrl+C, and prints what to write after --store

It listens on a Unix socket in its folder alone, and ends by its process id. PostgreSQL refuses to run as root, so there
the processes run as the user nobody.
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

PATIENCE = 60.0  # seconds until a server answers, or has ended
USER = "semsearch"
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")  # for tests that pull no plug
MAX_CONNECTIONS = 40


def binaries() -> Path | None:
    """The folder with initdb and postgres; None where the package pgserver is not installed."""
    found = importlib.util.find_spec("pgserver")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / "pginstall" / "bin"


class PostgresServer:
    """A server with its data in `folder`."""

    def __init__(self, folder: Path, *, settings: Sequence[str] = ()) -> None:
        self.folder, self.settings = folder, tuple(settings)
        self.data, self.sockets, self.log = folder / "data", folder / "s", folder / "log"
        self.process: subprocess.Popen[bytes] | None = None

    def address(self, database: str = "postgres", user: str = USER) -> str:
        """What stands after `--store postgres:`."""
        return f"postgresql:///{database}?host={self.sockets}&user={user}"

    def prepare(self) -> None:
        """Make its folders."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.sockets.mkdir(exist_ok=True)
        _hand_over(self.folder)

    def make(self) -> None:
        """Make an empty cluster of databases."""
        self.prepare()
        self.run("initdb", "-D", str(self.data), "-E", "UTF8", "--locale=C", "-A", "trust", "-U", USER)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ["-D", str(self.data), "-k", str(self.sockets), "-c", "listen_addresses="]
        for setting in (f"max_connections={MAX_CONNECTIONS}", *self.settings):
            options += ["-c", setting]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(_required() / "postgres"), *options],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                user=_user(),
                group=_group(),
                extra_groups=_groups(),
                preexec_fn=_die_with_parent,
            )
        end = time.monotonic() + PATIENCE
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"PostgreSQL did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def answers(self) -> bool:
        """Whether it takes connections."""
        command = [str(_required() / "pg_isready"), "-q", "-h", str(self.sockets), "-d", "postgres"]
        return subprocess.run(command, check=False).returncode == 0

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it as a power cut ends a process. What it had started ends by itself."""
        self._end(signal.SIGKILL)

    def sql(self, statement: str, database: str = "postgres") -> str:
        """The output of a statement, without a heading."""
        return self.run("psql", "-h", str(self.sockets), "-U", USER, "-d", database, "-X", "-A", "-t", "-c", statement)

    def run(self, program: str, *arguments: str) -> str:
        """Run one of PostgreSQL's programs. Raises RuntimeError with what it says."""
        command = [str(_required() / program), *arguments]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=self.folder,
            check=False,
            user=_user(),
            group=_group(),
            extra_groups=_groups(),
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr.strip()}")
        return done.stdout.strip()

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
    folder.chmod(0o755)
    server = PostgresServer(folder, settings=settings)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _required() -> Path:
    found = binaries()
    if found is None:
        raise RuntimeError("the package pgserver is not installed: pip install pgserver")
    return found


def _die_with_parent() -> None:
    """Let the server end with this process, also where that is killed (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG


def _user() -> str | None:
    return "nobody" if os.geteuid() == 0 else None


def _group() -> str | None:
    return "nogroup" if os.geteuid() == 0 else None


def _groups() -> list[str] | None:
    return [] if os.geteuid() == 0 else None


def _hand_over(folder: Path) -> None:
    if os.geteuid() == 0:
        for place in (folder, *folder.iterdir()):
            shutil.chown(place, "nobody", "nogroup")


def _children(parent: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    except OSError:
        return []


def main() -> None:
    server = PostgresServer(Path(sys.argv[1]).absolute())
    if not server.data.exists():
        server.make()
    server.start()
    print(f"postgres:{server.address()}", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        server.stop()


if __name__ == "__main__":
    main()
