"""The server of the pages, for the scripts that look at them in Chromium."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

PATIENCE = 120  # seconds until it answers


class Pages(NamedTuple):
    """The address of the pages, and the one with the token, which every new browser opens first."""

    address: str
    printed: str


@contextmanager
def served(home: Path) -> Iterator[Pages]:
    """The pages of that home of indexes, while they are served."""
    command = [sys.executable, "-m", "semsearch", "--home", str(home), "ui", "--no-browser"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert running.stderr is not None
        found = re.search(r"http://\S+", running.stderr.readline())
        if not found:
            sys.exit("error: the server did not start.")
        end = time.monotonic() + PATIENCE
        while not _answers(found[0]):
            if time.monotonic() > end:
                sys.exit("error: the server does not answer.")
            time.sleep(0.2)
        yield Pages(found[0].partition("/?")[0], found[0])
    finally:
        running.terminate()
        running.wait(30)


def _answers(printed: str) -> bool:
    host, _, query = printed.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=5)
    try:
        connection.request("GET", f"/{query}")
        return connection.getresponse().status == 200
    except OSError:
        return False
