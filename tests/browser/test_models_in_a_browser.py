"""The pages of indexes and of models in Chromium: an index from its making to its dump, and a run of training."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from chromium import buttons, needs_chromium, text, until
from helpers.checkpoints import copied
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from semsearch import Document, Index, admin
from semsearch.training import training_run

pytestmark = needs_chromium
WORDS = ["diesel", "engine", "bread", "salt", "star", "planet", "river", "bridge", "winter", "cat", "dog", "music"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home called `indexes`; models are made beside it. Without STS-B, which would take longest of all to score."""
    with pytest.MonkeyPatch.context() as changed:
        changed.delenv("SEMSEARCH_DATA", raising=False)
        home = tmp_path_factory.mktemp("home") / "indexes"
        home.mkdir()
        yield home


def opened(browser: Any, server: str, page: str) -> None:
    browser.get(f"{server}/{page}")


def go(browser: Any, page: str) -> None:
    """Follow the link of the rail, and wait for the page."""

    def named(css: str) -> list[Any]:
        return [
            each for each in browser.find_elements(By.CSS_SELECTOR, css) if page in each.get_property("textContent")
        ]

    until(lambda: named(".st-key-rail [data-testid=stPageLink] a"))[0].click()
    until(lambda: named("h1"))


def box(browser: Any, label: str) -> Any:
    """The box with this label, once it can be typed in."""
    places = f"input[aria-label^='{label}'], [aria-label^='{label}'] input"
    return until(lambda: [each for each in browser.find_elements(By.CSS_SELECTOR, places) if each.is_displayed()])[0]


def fill(browser: Any, label: str, value: str, key: str = Keys.TAB) -> None:
    """Type into a box; again where the page was drawn anew under the typing."""

    def typed() -> bool:
        one = box(browser, label)
        one.send_keys(Keys.CONTROL, "a")
        one.send_keys(value)
        found = one.get_attribute("value") == value
        one.send_keys(key)
        return bool(found)

    until(typed)
    time.sleep(0.3)  # the server takes it in


def unfold(browser: Any, label: str) -> None:
    until(lambda: [each for each in browser.find_elements(By.TAG_NAME, "summary") if label in each.text])[0].click()


def press(browser: Any, label: str) -> None:
    until(lambda: [each for each in buttons(browser, label) if each.is_displayed() and each.is_enabled()])[0].click()


@pytest.mark.long
def test_an_index_is_made_and_every_page_acts_on_it_alone(
    browser: Any, server: str, home: Path, tmp_path: Path
) -> None:
    with Index.create("aaa", home=home, encoder="hashing") as index:  # the first one, and with a document
        index.add([Document("other.txt", "Of another index.")])
    (tmp_path / "a.txt").write_text("A diesel engine.", encoding="utf-8")
    opened(browser, server, "library?n=aaa&add=true")
    fill(browser, "Folder or file on this machine", str(tmp_path))
    until(lambda: "on this machine" in text(browser))  # the folder was looked at: nothing is drawn anew from here on
    until(lambda: box(browser, "Add to").click() or True)
    new = lambda: [e for e in browser.find_elements(By.CSS_SELECTOR, "[role='option']") if e.text == "A new index"]  # noqa: E731
    until(lambda: [each.click() or each for each in new()])
    until(lambda: "Name of the new index" in text(browser))
    fill(browser, "Name of the new index", "notes")
    unfold(browser, "Options")
    fill(browser, "Encoder", "hashing", Keys.ENTER)
    fill(browser, "Tokens per passage", "64")
    press(browser, "Make the index")
    until(lambda: "1 document" in text(browser) and browser.current_url == f"{server}/?n=notes")
    for page, path in (("Explore", "map"), ("Search", ""), ("Library", "library")):
        go(browser, page)
        assert browser.current_url == f"{server}/{path}?n=notes"
    opened(browser, server, "library?n=notes&shelf=indexes")
    unfold(browser, "Rename this index")
    fill(browser, "New name", "letters")
    press(browser, "Rename it")
    until(lambda: "notes was renamed to letters" in text(browser))
    assert "n=letters" in browser.current_url
    press(browser, "Dump")
    until(lambda: "are ready" in text(browser))  # a toast
    press(browser, "Done")
    press(browser, "Download")
    until(lambda: [each for each in browser.downloads.iterdir() if each.name == "letters.dump" and each.stat().st_size])
    assert admin.names(home) == ["aaa", "letters"]
    with Index.open(home / "aaa") as other, Index.open(home / "letters") as index:
        assert list(other.analysis.texts()) == ["Of another index."] and list(index.analysis.texts()) == [
            "A diesel engine."
        ]
        assert index.info()["recipe"]["splitter"]["size"] == 64


@pytest.mark.long
def test_a_run_is_watched_through_a_reload_until_it_is_done(
    browser: Any, server: str, home: Path, golden: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    base = copied(golden, "tiny-bert", tmp_path / "bert")
    lines = (" ".join(WORDS[(at * 5 + each * (1 + at % 3)) % 12] for each in range(7)) for at in range(40))
    (tmp_path / "texts.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    opened(browser, server, "models?part=Train")
    fill(browser, "Base model", str(base), Keys.ENTER)
    fill(browser, "Name of the new encoder", "mine")
    press(browser, "A file or folder")
    fill(browser, "File or folder", str(tmp_path / "texts.txt"))
    fill(browser, "Or steps", "40")
    fill(browser, "Batch size", "4")
    press(browser, "Train it")
    until(lambda: re.search(r"starting for \d+ s: (reading|loading|building)", text(browser)))
    opened(browser, server, "models?part=Train")
    until(lambda: "Best score" in text(browser))
    until(lambda: len(browser.find_elements(By.CSS_SELECTOR, "[data-testid='stVegaLiteChart']")) >= 2)
    assert "done · step 40 of 40" in text(browser)
    run = training_run(home.parent / "models" / "mine")
    assert (run.state, run.settings["method"], run.settings["recipe"]["batch"]) == ("done", "simcse", 4)
