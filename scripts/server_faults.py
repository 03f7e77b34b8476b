"""What can happen to a server in the middle of its work: it is killed, its network is cut, its disk is full.

    kill    SIGKILL; it is started again at once
    cut     the driver and the server are in two network namespaces, joined by a cable that is cut for some seconds;
            every second time packets vanish without a word instead
    full    its data are on a small disk, which is filled for some seconds and then freed; started again where it ended

A server runs in a `Place`. Needs Linux, root in a namespace of the network and of mounts (`scale_faults` says how), and
Debian's iproute2 and util-linux.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

FAULTS = ("kill", "cut", "full")
LOOPBACK = "127.0.0.1"
DRIVER, SERVER = "10.77.0.1", "10.77.0.2"  # of the two ends of the cable
CABLE = ("faults0", "faults1")
_NOBODY = "02:00:00:00:00:07"  # a hardware address that no one has


class Server(Protocol):
    """What is to be broken. `store`: what stands after `--store`."""

    @property
    def store(self) -> str: ...
    def start(self) -> None: ...  # and wait until it answers
    def kill(self) -> None: ...
    def runs(self) -> bool: ...


class Cable:
    """A second network namespace, with a cable to this one, for the server."""

    def __init__(self) -> None:
        self._holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=-1)
        assert self._holder.stdout is not None
        self._holder.stdout.read(1)  # the namespace is there
        ours, theirs = CABLE
        _run("ip", "link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", str(self._holder.pid))
        _run("ip", "addr", "add", f"{DRIVER}/30", "dev", ours)
        _run("ip", "link", "set", ours, "up")
        _run(*self.inside, "ip", "link", "set", "lo", "up")
        _run(*self.inside, "ip", "addr", "add", f"{SERVER}/30", "dev", theirs)
        _run(*self.inside, "ip", "link", "set", theirs, "up")

    @property
    def inside(self) -> tuple[str, ...]:
        """What stands before a command that is to run at the server's end."""
        return "nsenter", f"--net=/proc/{self._holder.pid}/ns/net"

    def cut(self, *, silently: bool) -> None:
        """Let nothing through: what is sent fails at once, or, `silently`, arrives nowhere."""
        if silently:
            _run("ip", "neigh", "replace", SERVER, "lladdr", _NOBODY, "dev", CABLE[0], "nud", "permanent")
        else:
            _run("ip", "link", "set", CABLE[0], "down")

    def mend(self) -> None:
        """Join what was cut."""
        _run("ip", "neigh", "flush", "dev", CABLE[0], "nud", "permanent")
        _run("ip", "link", "set", CABLE[0], "up")

    def remove(self) -> None:
        """Remove the server's end, and with it the cable."""
        self._holder.kill()
        self._holder.communicate()


class SmallDisk:
    """A disk in memory, of so many megabytes."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "faults", str(folder))

    def fill(self) -> None:
        """Take all the room that is left, also that which is freed meanwhile."""
        with (self.folder / "filled").open("ab", buffering=0) as file:
            for size in (2**20, 2**12):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    def free(self) -> None:
        """Give back what `fill` took."""
        (self.folder / "filled").unlink()

    def remove(self) -> None:
        _run("umount", "--lazy", str(self.folder))


@dataclass(frozen=True)
class Place:
    """Where a server runs: the folder for its data, its address, and what stands before its command."""

    folder: Path
    host: str = LOOPBACK
    inside: tuple[str, ...] = ()
    cable: Cable | None = None
    disk: SmallDisk | None = None

    def cause(self, server: Server, seconds: float, trial: int) -> None:
        """Let the fault happen, and end, at once or after some seconds; then the server runs."""
        if self.cable is not None:
            self.cable.cut(silently=trial % 2 == 1)
            time.sleep(seconds)
            self.cable.mend()
        elif self.disk is not None:
            self._fill(self.disk, seconds)
            if not server.runs():
                server.kill()
                server.start()
        else:
            server.kill()
            server.start()

    @staticmethod
    def _fill(disk: SmallDisk, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            disk.fill()
            time.sleep(0.2)
        disk.free()


@contextmanager
def place(fault: str, scratch: Path, megabytes: int) -> Iterator[Place]:
    """Where a server runs that shall have this fault. `megabytes`: of the disk that is going to be full."""
    with ExitStack() as stack:
        if fault == "cut":
            cable = Cable()
            stack.callback(cable.remove)
            yield Place(scratch / "server", SERVER, cable.inside, cable=cable)
        elif fault == "full":
            disk = SmallDisk(scratch / "server", megabytes)
            stack.callback(disk.remove)
            yield Place(scratch / "server", disk=disk)
        else:
            yield Place(scratch / "server")


def require_namespace() -> None:
    """Raise RuntimeError where this network has more than the loopback, or a cable to another such one."""
    lines = Path("/proc/self/net/dev").read_text(encoding="ascii").splitlines()[2:]
    others = [name for line in lines if (name := line.split(":")[0].strip()) not in ("lo", *CABLE)]
    if others:
        raise RuntimeError(f"this network has more than the loopback ({', '.join(others)}): use unshare --net.")


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
