"""What the tests in a real browser share: Debian's Chromium, the server that `semsearch ui` starts, and patience."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

SAMPLE = Path(__file__).resolve().parents[2] / "scripts" / "sample"
PATIENCE = 120  # seconds; a machine may be busy
SWITCHES = ("--no-sandbox", "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1300,1600")
needs_chromium = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="needs Debian's packages chromium and chromium-driver",
)


@contextmanager
def serving(home: Path, **environment: str) -> Iterator[str]:
    """The address of a server of that home of indexes, while it runs."""
    for _ in range(5):  # a port that is free now may be taken when the server binds it
        running, url = _start(home, os.environ | environment)
        if url:
            break
    assert url, "the server did not start"
    try:
        until(lambda: _healthy(url))
        yield url
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(60)


def _start(home: Path, environment: dict[str, str]) -> tuple[subprocess.Popen[str], str]:
    """A server on a free port, and its address: "" where it has ended instead."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, "-m", "semsearch", "--home", str(home), "ui", "--no-browser", "--port", port]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment)
    assert running.stderr is not None
    found = re.search(r"http://\S+", running.stderr.readline())
    return running, found[0] if found else ""


@contextmanager
def browsing() -> Iterator[Any]:
    """Chromium without a window; what it downloads goes to `browser.downloads`, an empty folder of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for each in SWITCHES:
        options.add_argument(each)
    with tempfile.TemporaryDirectory() as downloads:
        options.add_experimental_option("prefs", {"download.default_directory": downloads})
        driver: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        driver.downloads = Path(downloads)
        try:
            yield driver
        finally:
            driver.quit()


def until(true: Callable[[], Any]) -> Any:
    """What `true` gives as soon as that is something; what a page drew anew meanwhile is asked for again."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if found := true():
                return found
        except StaleElementReferenceException:
            pass
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.2)


def text(browser: Any) -> str:
    """All that can be read on the page."""
    return str(browser.find_element(By.TAG_NAME, "body").text)


def buttons(browser: Any, label: str) -> list[Any]:
    """The buttons whose label has these words."""
    return [each for each in browser.find_elements(By.TAG_NAME, "button") if label in each.text]


def ask(browser: Any, server: str, query: str) -> None:
    """Search by hand: open the page, type, press Enter, wait for the hits."""
    browser.get(server)
    box = until(lambda: browser.find_elements(By.CSS_SELECTOR, "input[placeholder^='Ask in your own words']"))[0]
    box.send_keys(query, Keys.ENTER)
    until(lambda: "encoded in" in text(browser))


def _healthy(url: str) -> bool:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
