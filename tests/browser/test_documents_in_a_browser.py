"""The documents page in Debian's Chromium: folders, dropped files, long work that runs on while one searches."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from chromium import SAMPLE, buttons, downloaded, needs_chromium, text, until
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from semsearch import Index

HOSTILE = "=1+1 <img src=x onerror=\"document.title='owned'\"> **b** $x$ [l](javascript:1).md"
ROWS = 40_000  # a minute and more of work: the test stops it long before
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = tmp_path_factory.mktemp("files")
    for folder in ("engines", "cooking"):
        shutil.copytree(SAMPLE / folder, files / folder)
    return files


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Path:
    home = tmp_path_factory.mktemp("home")
    with Index.create("notes", home=home, encoder="hashing") as index:
        index.sync(files)
    return home


def opened(browser: Any, server: str, **url: str) -> None:
    """The page, once all of it is there."""
    browser.get(f"{server}/library?" + "&".join(f"{key}={value}" for key, value in url.items()))
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "[data-testid='stMultiSelect'] input[aria-label*='Chosen']"))


def working(browser: Any) -> list[Any]:
    """The sign at the end of the rail that something is being done."""
    rail = browser.find_elements(By.CSS_SELECTOR, ".st-key-rail [data-testid='stPopoverButton']")
    return [each for each in rail if "%" in each.text]


def unfold(browser: Any, label: str) -> None:
    """Open the part of the page that this label folds away."""
    until(lambda: [each for each in browser.find_elements(By.TAG_NAME, "summary") if label in each.text])[0].click()


def press(browser: Any, label: str) -> None:
    """Press the button with these words, once it can be pressed; one that is drawn anew just then, once more."""

    def pressed() -> bool:
        found = [each for each in buttons(browser, label) if each.is_enabled() and each.is_displayed()]
        if found:
            found[0].click()
        return bool(found)

    until(pressed)


def test_a_title_in_the_table_opens_the_reader_and_back_leads_to_the_table(browser: Any, server: str) -> None:
    opened(browser, server, title="diesel")
    table = until(lambda: browser.find_elements(By.CSS_SELECTOR, "[data-testid='stDataFrame'] canvas"))[0]
    box = table.rect
    first_title = int(box["x"] + 60), int(box["y"] + 52)  # behind the boxes to tick, below the names of the columns
    hand = ActionChains(browser)
    hand.w3c_actions.pointer_action.move_to_location(*first_title).click()
    hand.perform()
    until(lambda: "open=notes" in browser.current_url)
    until(lambda: "diesel" in until(lambda: browser.find_elements(By.CSS_SELECTOR, ".reader header"))[0].text)
    browser.back()
    until(lambda: "1 document. Click a title" in text(browser))


@pytest.mark.long
def test_a_folder_is_added_with_options_and_its_outcome_is_told(browser: Any, server: str, tmp_path: Path) -> None:
    (tmp_path / HOSTILE.replace("/", "")).write_text("# About zeppelins\n\nThey float.\n", encoding="utf-8")
    (tmp_path / "left-out.txt").write_text("No.", encoding="utf-8")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    opened(browser, server)
    unfold(browser, "Add documents")
    box = until(lambda: browser.find_elements(By.CSS_SELECTOR, "input[placeholder='~/notes']"))[0]
    box.send_keys(str(tmp_path))
    until(lambda: "on this machine" in text(browser) and " files (" in text(browser))
    unfold(browser, "Options")
    fields = "input[aria-label*='(--exclude)']"
    until(lambda: [e.click() or e for e in browser.find_elements(By.CSS_SELECTOR, fields) if e.is_displayed()])
    browser.switch_to.active_element.send_keys("*.txt", Keys.ENTER)
    press(browser, "Add to notes")
    until(lambda: "1 added; " in text(browser))
    until(lambda: "1 skipped file: reasons" in text(browser))
    opened(browser, server, title="zeppelins")
    assert "1 document. Click a title" in text(browser)
    assert browser.title != "owned"


@pytest.mark.long
def test_a_dropped_file_becomes_a_document_that_can_be_downloaded_as_a_row_and_deleted(
    browser: Any, server: str, tmp_path: Path
) -> None:
    dropped = tmp_path / HOSTILE.replace("/", "").replace("zeppelins", "dropped")
    dropped.write_text("# Dropped\n\nThis one was dropped.\n", encoding="utf-8")
    opened(browser, server)
    unfold(browser, "Add documents")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "input[type='file']"))[0].send_keys(str(dropped))
    until(lambda: "ript:1).md" in text(browser))  # the page shortens it
    press(browser, "Add to notes")
    until(lambda: "1 added; " in text(browser) and "Adding 1 file" in text(browser))
    opened(browser, server, title="Dropped")
    until(lambda: "CSV (1)" in text(browser))
    assert not browser.find_elements(By.CSS_SELECTOR, "[aria-label='Download as CSV']")
    press(browser, "CSV (1)")
    saved = downloaded(browser, "notes*.csv")
    assert saved.read_text(encoding="utf-8").splitlines()[1].startswith(("'=1+1", "\"'=1+1"))
    press(browser, "Delete all that match the filters (1)")
    until(lambda: "The files stay where they are" in text(browser))
    press(browser, "Delete 1 document")
    until(lambda: "1 deleted; the files stay" in text(browser))
    until(lambda: "No document matches" in text(browser))
    assert browser.title != "owned"


@pytest.mark.long
def test_everything_is_read_again_while_one_searches_in_another_tab_reloads_and_stops_it(
    browser: Any, server: str, home: Path, files: Path
) -> None:
    rows = ({"id": f"row-{number}", "text": f"Row {number} of a long table."} for number in range(ROWS))
    (files / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    opened(browser, server)
    press(browser, "Sources")
    press(browser, "Re-index everything")
    until(lambda: working(browser))
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(f"{server}/?q=how+does+a+diesel+engine+ignite&path=engines/**")  # however many rows there are by now
    until(lambda: "diesel.txt" in text(browser) and working(browser))
    browser.get(f"{server}/?q=long+table&mode=keyword")
    until(lambda: "of a long table" in text(browser) and working(browser))
    browser.close()
    browser.switch_to.window(first)
    browser.refresh()
    until(lambda: working(browser))[0].click()
    until(lambda: "Re-indexing everything" in text(browser))
    press(browser, "Stop")
    until(lambda: "was stopped. What was stored so far stays" in text(browser))
    with Index.open("notes", home=home) as index:
        assert 12 < len(index) < ROWS
