"""`semsearch serve` in a process of its own, and requests to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.served import PATIENCE, free_port


@dataclass(frozen=True)
class Answer:
    """An answer: its status, its headers by lower-case name, and its body, read as JSON where it is that."""

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Serving:
    """A running server; `errors` is the file of its stderr."""

    process: subprocess.Popen[bytes]
    port: int
    errors: Path

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """An answer. A body of bytes is sent as it is; `_` in the name of a header stands for `-`."""
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, sent, {"content-type": "application/json", **named})
            answer = connection.getresponse()
            found = {name.lower(): text for name, text in answer.getheaders()}
            text = answer.read().decode()
            return Answer(answer.status, found, json.loads(text) if "json" in found.get("content-type", "") else text)
        finally:
            connection.close()

    def ok(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        """The body of an answer with status 200."""
        answer = self.ask(method, path, body, **headers)
        assert answer.status == 200, answer
        return answer.body

    def logged(self) -> list[Any]:
        """The lines of stderr that are JSON."""
        return [json.loads(line) for line in self.errors.read_text().splitlines() if line.startswith("{")]


@contextmanager
def serving(home: Path, *flags: str, **environment: str) -> Iterator[Serving]:
    """A server of that home of indexes, as soon as it is ready."""
    port = free_port()
    command = [sys.executable, "-m", "semsearch", "--home", str(home), "serve", "--port", str(port), *flags]
    with started(command, port, "/readyz", **environment) as server:
        yield server


@contextmanager
def started(command: Sequence[str], port: int, address: str, **environment: str) -> Iterator[Serving]:
    """The server that a command starts at this port, as soon as it answers at this address."""
    with tempfile.TemporaryDirectory() as folder:
        errors = Path(folder) / "stderr"
        own = {"SEMSEARCH_CACHE": str(Path(folder) / "cache.db")}
        with errors.open("wb") as file:
            process = subprocess.Popen(command, stderr=file, env=os.environ | own | environment)
        server = Serving(process, port, errors)
        try:
            _wait(server, address)
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def _wait(server: Serving, address: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.process.poll() is None:
        try:
            if server.ask("GET", address).status == 200:
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the server does not answer: {server.errors.read_text()}")


def speaks_python(text: str) -> bool:
    """Whether a message has what clients in other languages do not know."""
    return bool(re.search(r"\w\(\)|\b(None|True|False|nan|tuple|dict\w*|validation)\b|\w=[\[\"(]|\n", text))
