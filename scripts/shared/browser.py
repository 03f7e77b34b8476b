"""The pages in Chromium: their server, a browser, and waiting for what it draws."""

from __future__ import annotations

import http.client
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service

PATIENCE = 120  # seconds until the server answers, or a page has what is awaited
FLAGS = ("--no-sandbox", "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")


class Pages(NamedTuple):
    """The address of the pages, the one with the token, which every new browser opens first, and their process."""

    address: str
    printed: str
    pid: int


@contextmanager
def served(home: Path) -> Iterator[Pages]:
    """The pages of that home of indexes, while they are served."""
    command = [sys.executable, "-m", "semsearch", "--home", str(home), "ui", "--no-browser"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert running.stderr is not None
        address = re.search(r"http://\S+", running.stderr.readline())
        if not address:
            sys.exit("error: the server did not start.")
        end = time.monotonic() + PATIENCE
        while not _answers(address[0]):
            if time.monotonic() > end:
                sys.exit("error: the server does not answer.")
            time.sleep(0.2)
        yield Pages(address[0].partition("/?")[0], address[0], running.pid)
    finally:
        running.terminate()
        running.wait(30)


@contextmanager
def browsing(width: int, height: int) -> Iterator[Any]:
    """Chromium with a window of that size, of whatever driver is on the path."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--window-size={width},{height}"):
        options.add_argument(flag)
    browser: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield browser
    finally:
        browser.quit()


def awaited(true: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """What a call returns, once that is true. Raises TimeoutError."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        with suppress(StaleElementReferenceException):  # drawn anew meanwhile
            if result := true():
                return result
        time.sleep(0.05)
    raise TimeoutError("what should be on the page did not come")


def _answers(printed: str) -> bool:
    host, _, query = printed.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=5)
    try:
        connection.request("GET", f"/{query}")
        return connection.getresponse().status == 200
    except OSError:
        return False
