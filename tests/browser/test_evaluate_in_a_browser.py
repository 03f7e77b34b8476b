"""Evaluate and Templates in Debian's Chromium: the linter while one types, and runs that outlive the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from chromium import ask, buttons, entered, needs_chromium, text, until
from helpers.served import running
from helpers.stsdata import tiny_sts
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from semsearch import Document, Index
from semsearch.evaluation import Judgements, list_runs

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    with Index.create("notes", encoder="hashing", home=home) as index:
        index.add([
            Document("diesel.txt", "A diesel engine ignites fuel by compression. It has no spark plug at all."),
            Document("bread.txt", "Bread needs salt and time and a hot oven. Yeast makes the dough rise slowly."),
        ])  # fmt: skip
    return home


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_sts(tmp_path_factory.mktemp("data"))


def measure(browser: Any, url: str) -> None:
    """Open the page, press Measure, wait for the runs."""
    browser.get(url)
    until(lambda: buttons(browser, "Measure") and buttons(browser, "Measure")[0].is_enabled())
    buttons(browser, "Measure")[0].click()
    until(lambda: "Delete runs" in text(browser))


@pytest.mark.long
def test_runs_are_measured_in_the_browser_and_outlive_the_server(
    browser: Any, home: Path, data: Path, request: pytest.FixtureRequest
) -> None:
    tasks = "evaluate?measure=STS+tasks&encoders=hashing&encoders=default"
    with running(home, SEMSEARCH_DATA=str(data)) as started:
        address = entered(browser, started)
        measure(browser, f"{address}/{tasks}")
        kept = list(list_runs(home).values())
        assert [run["encoder"] for run in kept] == ["hashing", "minilm"]
        measure(browser, f"{address}/evaluate?measure=without+labels&n=notes&sample=2")
    browser.get(f"{request.getfixturevalue('server')}/{tasks}")  # another server, of the same home
    until(lambda: "Delete runs" in text(browser))


def thumb(browser: Any, hit: int, grade: int) -> Any:
    css = f".thumb[data-grade='{grade}']"
    return card(browser, hit).find_element(By.CSS_SELECTOR, css)


def card(browser: Any, hit: int) -> Any:
    """A hit by its rank; those that are no better than chance are shown for it."""
    found = until(lambda: browser.find_elements(By.CSS_SELECTOR, ".hit")[hit - 1 : hit])[0]
    if not found.is_displayed():
        browser.find_element(By.CSS_SELECTOR, ".chance button").click()
        until(found.is_displayed)
    return found


def test_hits_are_marked_by_mouse_and_keyboard_and_measured_in_words(browser: Any, server: str, home: Path) -> None:
    ask(browser, server, "spark plug of an engine")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".hits[data-done='true']"))
    thumb(browser, 1, 1).click()
    until(lambda: thumb(browser, 1, 1).get_attribute("aria-pressed") == "true")
    until(lambda: Judgements("notes", home).grades() == {"spark plug of an engine": {"diesel.txt": 1}})
    assert browser.switch_to.active_element == thumb(browser, 1, 1)  # the cards were not drawn anew
    browser.execute_script("arguments[0].querySelector('.title').focus()", card(browser, 2))
    browser.switch_to.active_element.send_keys("-")
    until(lambda: Judgements("notes", home).of("spark plug of an engine") == {"diesel.txt": 1, "bread.txt": 0})
    browser.refresh()
    until(lambda: thumb(browser, 2, 0).get_attribute("aria-pressed") == "true")
    thumb(browser, 2, 0).click()
    until(lambda: Judgements("notes", home).of("spark plug of an engine") == {"diesel.txt": 1})
    browser.get(f"{server}/evaluate?n=notes")
    until(lambda: "1 question with 1 marked hit: 1 helpful, 0 not." in text(browser))
    until(lambda: buttons(browser, "Measure") and buttons(browser, "Measure")[0].is_enabled())
    buttons(browser, "Measure")[0].click()
    until(lambda: "★ is the best of its column" in text(browser) and "Which is better" in text(browser))
    assert "too few questions differ" in text(browser) or "the same for every question" in text(browser)


def test_a_template_is_checked_as_it_is_typed(browser: Any, server: str) -> None:
    browser.get(f"{server}/templates")
    box = until(lambda: browser.find_elements(By.CSS_SELECTOR, "input[aria-label='Template']"))[0]
    until(lambda: "Tokens of the template are in" in text(browser))
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys("<b>This</b> means [MASK]")
    until(lambda: "There is no slot for the sentence" in text(browser))  # neither Enter nor Tab was pressed
    assert browser.switch_to.active_element == box
    box.send_keys(" [X] .")
    until(lambda: "There is no slot for the sentence" not in text(browser))
    assert box.get_attribute("value") == "<b>This</b> means [MASK] [X] ."
    until(lambda: "[b]" in text(browser))  # its tokens
    assert not browser.find_elements(By.CSS_SELECTOR, "[data-testid=stMarkdown] b")
