"""A bare home in Chromium: two clicks and one typed path to the first hit, and what is left when the server is gone."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from accessibility import violations
from chromium import SAMPLE, buttons, entered, needs_chromium, one_line, text, until
from helpers.served import running
from selenium.webdriver.common.by import By

pytestmark = needs_chromium


def found(browser: Any, css: str) -> list[Any]:
    return list(browser.find_elements(By.CSS_SELECTOR, css))


def missing(browser: Any) -> list[str]:
    """What the console says of addresses that do not exist."""
    return [row["message"] for row in browser.get_log("browser") if "404" in row["message"]]


def test_two_clicks_and_one_path_lead_to_the_first_hit(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    with running(tmp_path / "home") as server:
        address = entered(browser, server)
        until(lambda: "Try the sample" in text(browser))
        assert violations(browser) == []
        box = until(lambda: found(browser, "input[aria-label='Folder or file on this machine']"))[0]
        box.send_keys(str(SAMPLE / "chem"))
        until(lambda: buttons(browser, "sample/chemistry"))[0].click()  # completed as it is typed
        until(lambda: "on this machine" in text(browser) and " files (" in text(browser))
        until(lambda: [each for each in buttons(browser, "“chemistry”") if each.is_enabled()])[0].click()
        until(lambda: found(browser, "[class*='st-key-example'] button"))[0].click()
        until(lambda: found(browser, ".hit .strength") and "1. " in one_line(browser))
        assert browser.current_url.startswith(f"{address}/?n=chemistry&q=")
        until(lambda: "passages in all" in text(browser))  # a toast
        until(lambda: found(browser, ".st-key-rail [data-testid='stPopoverButton']"))[0].click()
        until(lambda: "Indexing" in text(browser))
        assert violations(browser) == []  # with the outcome of the job and its history
        for page in ("library", "models"):  # opened directly
            browser.get(f"{address}/{page}?n=chemistry")
            until(lambda page=page: found(browser, "h1") and found(browser, "h1")[0].text.lower() == page)
        assert missing(browser) == []
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
        until(lambda: "semsearch has stopped" in text(browser))
        assert json.loads(browser.execute_script("return JSON.stringify(document.getElementById('root').inert)"))
