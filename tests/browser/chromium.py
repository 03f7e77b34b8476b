"""What the tests in a real browser share: Debian's Chromium, and patience."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.served import PATIENCE, Server
from selenium import webdriver
from selenium.common.exceptions import ElementNotInteractableException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

SAMPLE = Path(__file__).resolve().parents[2] / "scripts" / "sample"
SWITCHES = ("--no-sandbox", "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1300,1600")
needs_chromium = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="needs Debian's packages chromium and chromium-driver",
)


@contextmanager
def browsing() -> Iterator[Any]:
    """Chromium without a window; what it downloads goes to `browser.downloads`, an empty folder of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for each in SWITCHES:
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory() as downloads:
        options.add_experimental_option("prefs", {"download.default_directory": downloads})
        driver: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        driver.downloads = Path(downloads)
        try:
            yield driver
        finally:
            driver.quit()


def entered(browser: Any, server: Server) -> str:
    """Open the printed address, as a person does; returns the one without the token, which the browser then shows."""
    browser.get(server.printed)
    until(lambda: browser.current_url.startswith(server.address) and "token" not in browser.current_url)
    return server.address


def refusals(browser: Any) -> list[str]:
    """What the content security policy has kept the pages from doing since this was last asked."""
    return [row["message"] for row in browser.get_log("browser") if "Content Security Policy" in row["message"]]


def until(true: Callable[[], Any]) -> Any:
    """What `true` gives as soon as that is something; what a page draws anew or still moves is asked for again."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if found := true():
                return found
        except (ElementNotInteractableException, StaleElementReferenceException):
            pass
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.2)


def click(browser: Any, selector: str) -> None:
    """Click the first element that a CSS selector matches, as soon as it can be clicked."""
    until(lambda: [each.click() or each for each in browser.find_elements(By.CSS_SELECTOR, selector)[:1]])


def downloaded(browser: Any, pattern: str) -> Path:
    """The file of this name that the browser has saved; it begins as an empty one."""
    return until(lambda: [file for file in browser.downloads.glob(pattern) if file.stat().st_size])[0]


def text(browser: Any) -> str:
    """All that can be read on the page; nothing while it is exchanged for another."""
    return "".join(str(body.text) for body in browser.find_elements(By.TAG_NAME, "body"))


def one_line(browser: Any) -> str:
    """The same with single spaces between the words: the number of a hit and its title are boxes of their own."""
    return " ".join(text(browser).split())


def buttons(browser: Any, label: str) -> list[Any]:
    """The buttons whose label has these words."""
    return [each for each in browser.find_elements(By.TAG_NAME, "button") if label in each.text]


def ask(browser: Any, server: str, query: str) -> None:
    """Search by hand: open the page, type, press Enter, wait for the hits."""
    browser.get(server)
    box = until(lambda: browser.find_elements(By.CSS_SELECTOR, "input[placeholder^='Ask in your own words']"))[0]
    box.send_keys(query, Keys.ENTER)
    until(lambda: "encoded in" in text(browser))
