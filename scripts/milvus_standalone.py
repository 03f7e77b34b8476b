"""A standalone Milvus server of the package milvus==2.3.5 for tests: installed, started, killed, started again.

    python scripts/milvus_standalone.py install     into $SEMSEARCH_MILVUS_SERVER, else build/milvus-2.3.5: 455 MB
    unshare --net sh -c 'ip link set lo up; python scripts/milvus_standalone.py run FOLDER'     until its input ends

It listens on every address, so it starts only in a network namespace of its own, and it has known holes: production
takes 2.6.10 or later. Each server is ended by its id.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
ENVIRONMENT = Path(os.environ.get("SEMSEARCH_MILVUS_SERVER", CHECKOUT / "build" / "milvus-2.3.5"))
PACKAGES = ("milvus==2.3.5", "pymilvus==2.3.7", "setuptools<80", "marshmallow<4", "numpy")
LOOPBACK = "127.0.0.1"
CABLES = "faults"  # how cables to other networks of this kind begin: see server_faults
PORT = 19530
HEALTH = 9091
PATIENCE = 600.0  # seconds until a server answers: 14 at first, 57 after a kill, minutes beside other work

_STARTED = """
import socket, sys
from milvus import MilvusServer, MilvusServerConfig

def bound(self, port):  # also where connections of a server that was killed are still closing
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
    except OSError:
        found.close()
        return None
    return found

MilvusServerConfig.try_bind_port = bound
server = MilvusServer(MilvusServerConfig(), wait_for_started=False)
server.set_base_dir(sys.argv[1])
server.listen_port = int(sys.argv[2])
server.start()
print(server.server_proc.pid, flush=True)
sys.stdin.read()
"""


class Server:
    """A server with its data in `folder`. `inside`: what stands before its command; `host`: where it is reached."""

    def __init__(self, folder: Path, port: int = PORT, *, host: str = LOOPBACK, inside: Sequence[str] = ()) -> None:
        self.folder, self.port, self.host = folder, port, host
        self._inside = tuple(inside)
        self._parent: subprocess.Popen[str] | None = None
        self.pid = 0

    @property
    def address(self) -> str:
        """What stands after `--store milvus:`."""
        return f"http://{self.host}:{self.port}"

    @property
    def store(self) -> str:
        """What stands after `--store`."""
        return f"milvus:{self.address}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        require_namespace()
        command = [*self._inside, str(python()), "-c", _STARTED, str(self.folder), str(self.port)]
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._parent.stdout is not None
        self.pid = int(self._parent.stdout.readline() or 0)
        end = time.monotonic() + PATIENCE
        while not (self.is_healthy() and self.listens()):
            if self._parent.poll() is not None or time.monotonic() > end:
                ended = self._parent.poll() is not None or not self.runs()
                self.kill()
                raise RuntimeError(f"Milvus {'ended' if ended else 'did not answer'} in {self.folder}: {self._last()}")
            time.sleep(0.5)

    def _last(self) -> str:
        """The last lines that it wrote, which say more than the exit of a process."""
        files = sorted((self.folder / "logs").glob("milvus-std*.log"))
        return "\n".join(line for file in files for line in file.read_text(errors="replace").splitlines()[-5:])

    def listens(self) -> bool:
        """Whether it takes connections: it says that it is healthy before."""
        return self.runs() and self._accepts(self.port)

    def _accepts(self, port: int) -> bool:
        try:
            with socket.create_connection((self.host, port), timeout=1):
                return True
        except OSError:
            return False

    def is_healthy(self) -> bool:
        """Whether it says that all its parts answer."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:{HEALTH}/healthz", timeout=30) as answer:
                return bool(answer.read() == b"OK")
        except OSError:
            return False

    def runs(self) -> bool:
        """Whether its process is there."""
        return bool(self.pid) and is_running(self.pid)

    def kill(self) -> None:
        """End it at once, with SIGKILL, and the process that started it."""
        for process in (self.pid, self._parent.pid if self._parent else 0):
            if process:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        if self._parent is not None:
            self._parent.wait()
        while self.runs() or any(self._accepts(port) for port in (HEALTH, self.port)):  # its threads end later than it
            time.sleep(0.05)
        self._parent, self.pid = None, 0


def is_running(process: int) -> bool:
    """Whether a process is there, and has not ended without its parent's notice."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def python() -> Path:
    """The Python of the environment with the server. Raises RuntimeError without it."""
    found = ENVIRONMENT / "bin" / "python"
    if not found.is_file():
        raise RuntimeError(f"there is no Milvus server in {ENVIRONMENT}; install it: {sys.argv[0]} install")
    return found


def require_namespace() -> None:
    """Raise RuntimeError where this network has more than the loopback, or a cable to another such one."""
    lines = Path("/proc/self/net/dev").read_text(encoding="ascii").splitlines()[2:]
    names = [line.split(":")[0].strip() for line in lines]
    others = [name for name in names if name != "lo" and not name.startswith(CABLES)]
    if others:
        raise RuntimeError(f"this network has more than the loopback ({', '.join(others)}): use unshare --net.")


@contextmanager
def running(folder: Path, port: int = PORT, *, host: str = LOOPBACK, inside: Sequence[str] = ()) -> Iterator[Server]:
    """A server that is ended with the block."""
    server = Server(folder, port, host=host, inside=inside)
    try:
        server.start()
        yield server
    finally:
        server.kill()


def install() -> None:
    """Make the environment."""
    subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
    pip = [str(python()), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *PACKAGES], check=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["install"]:
        install()
    elif len(sys.argv) == 3 and sys.argv[1] == "run":
        with running(Path(sys.argv[2])) as started:
            print(f"ready: {started.address}, process {started.pid}", flush=True)
            sys.stdin.read()
    else:
        sys.exit(__doc__)
