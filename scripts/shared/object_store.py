"""An object store of its own, for tests and measurements: moto's S3 in a process, with a bucket, and a wait if asked.

    python -m scripts.shared.object_store PORT MILLISECONDS

It keeps everything in memory and listens on 127.0.0.1. The wait, before every request, is that of a distant bucket; the
server answers several requests at once, as one does.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from scripts.shared.places import CHECKOUT
from scripts.shared.programs import command

PATIENCE = 60.0  # seconds until it answers
BUCKET = "bucket"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}


class ObjectStore:
    """A running one."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self._process, self.port = process, port

    @property
    def store(self) -> str:
        """What stands after `--store`."""
        return f"lance:s3://{BUCKET}/indexes?endpoint=http://127.0.0.1:{self.port}&allow_http=true&region=us-east-1"

    def away(self, seconds: float) -> None:
        """Answer nothing for some seconds: connections are taken, and wait."""
        self._process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._process.send_signal(signal.SIGCONT)


@contextmanager
def running(milliseconds: float = 0) -> Iterator[ObjectStore]:
    """An object store with an empty bucket, whose credentials are in the environment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ |= CREDENTIALS
    started = command("shared.object_store", port, milliseconds)
    process = subprocess.Popen(started, cwd=CHECKOUT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while not _made(port):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the object store did not start: is moto installed (the extra dev)?")
            time.sleep(0.2)
        yield ObjectStore(process, port)
    finally:
        process.kill()
        process.wait()


def _made(port: int) -> bool:
    with suppress(URLError, OSError), urlopen(Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")):
        return True
    return False


def main(port: int, seconds: float) -> None:
    """Serve until the process is ended."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import run_simple

    moto: Callable[..., Iterable[bytes]] = DomainDispatcherApplication(create_backend_app)

    def answer(environment: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        time.sleep(seconds)
        return moto(environment, start)

    run_simple("127.0.0.1", port, answer, threaded=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]) / 1000)
