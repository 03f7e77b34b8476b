"""The server that `semsearch ui` starts, in a process of its own, and requests to it."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from semsearch import Document, Index

PATIENCE = 120  # seconds; a machine may be busy
SECRET = "the boiler is under the stairs"


@dataclass(frozen=True)
class Server:
    """A running server. `printed` is the address with the token, `output` a file of stdout and stderr."""

    process: subprocess.Popen[bytes]
    port: int
    printed: str
    output: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return self.printed.partition("?token=")[2]

    def said(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def get(self, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
        """Status, headers by lower-case name, and text of an answer; `_` in the name of a header stands for `-`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
            answer = connection.getresponse()
            found = {name.lower(): text for name, text in answer.getheaders()}
            return answer.status, found, "" if answer.status == 101 else answer.read().decode("utf-8", "replace")
        finally:
            connection.close()

    def cookie(self) -> str:
        """The cookie of a browser that has opened the printed address."""
        status, headers, _ = self.get(f"/?token={self.token}")
        assert status == 200
        return headers["set-cookie"].partition(";")[0]


def home_with_a_secret(home: Path) -> Path:
    """`home` with the index `house`, in which SECRET is."""
    with Index.create("house", encoder="hashing", home=home) as index:
        index.add([Document("note.txt", SECRET)])
    return home


@contextmanager
def running(home: Path, *flags: str, port: int = 0, **environment: str) -> Iterator[Server]:
    """A server of that home of indexes, as soon as it answers."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output"
        for _ in range(1 if port else 5):  # a port that is free now may be taken when the server binds it
            server = _started(home, flags, port or free_port(), output, os.environ | environment)
            if server:
                break
        assert server, output.read_text(encoding="utf-8")
        try:
            yield server
        finally:
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(60)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _started(home: Path, flags: tuple[str, ...], port: int, output: Path, environment: dict[str, str]) -> Server | None:
    """The server, or None where it has ended instead."""
    command = [sys.executable, "-m", "semsearch", "--home", str(home), "ui", "--port", str(port)]
    command += flags if "--browser" in flags else ["--no-browser", *flags]
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        printed = re.search(r"http://\S+", output.read_text(encoding="utf-8"))
        if printed and _answers(port):
            return Server(process, port, printed[0], output)
        time.sleep(0.1)
    if process.poll() is not None:
        return None
    process.kill()
    process.wait()
    raise AssertionError(f"the server does not answer: {output.read_text(encoding='utf-8')}")


def _answers(port: int) -> bool:
    """Whether the server refuses a stranger: it is up then."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 403
    except OSError:
        return False
    finally:
        connection.close()
