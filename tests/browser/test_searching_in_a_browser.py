"""The search page in Debian's Chromium: filters, weighted chips, URLs that are shared, PDFs, and writers beside it."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from chromium import ask, browsing, buttons, click, downloaded, entered, needs_chromium, text, until
from helpers import filemaking
from helpers.served import Server
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from semsearch import Document, Index

MARKUP = "<img src=x onerror=\"document.title='owned'\">[a](javascript:alert(1)) **b**"
LINKS = "www.evil.example by me@evil.example, http: x.txt"
SUBJECTS = ("diesel engine", "petrol engine", "steam engine", "bread and salt")
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home, files = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("files")
    told = ("Bread needs salt and time.", "A zeppelin is lifted by hydrogen.", "A knot holds a rope.")
    filemaking.pdf(files / "paper.pdf", [[one] * 45 for one in told])
    (files / "a <b>name<b>.txt").write_text("A hostile name about volcanoes.", encoding="utf-8")
    (files / LINKS).write_text("Another name, about volcanoes too.", encoding="utf-8")
    with Index.create("notes", home=home, encoder="hashing") as index:
        index.sync(files)
        for n, subject in enumerate(SUBJECTS * 3):
            known = {"kind": subject, "tag": MARKUP if n else "t"}
            index.add([Document(f"d{n}", f"Number {n} tells of a {subject}.", known)])
    return home


def first(browser: Any) -> str:
    return str(until(lambda: browser.find_elements(By.CSS_SELECTOR, ".passage"))[0].text)


def shows(browser: Any, words: str) -> bool:
    return words in first(browser)


def advanced(browser: Any) -> None:
    """Unfold what is rarely needed."""
    fold = until(lambda: browser.find_elements(By.CSS_SELECTOR, ".st-key-narrow details"))[0]
    if fold.get_attribute("open") is None:
        fold.find_element(By.TAG_NAME, "summary").click()


def choose(browser: Any, label: str, value: str) -> None:
    """Write into a box of several choices under Advanced, as a person does: with the keyboard alone."""
    advanced(browser)
    box = until(lambda: browser.find_elements(By.CSS_SELECTOR, f"input[aria-label='{label}']"))[0]
    box.send_keys(value, Keys.ENTER)


def test_the_cursor_is_in_the_box_and_a_slash_brings_it_back(browser: Any, server: str) -> None:
    browser.get(server)
    until(lambda: browser.switch_to.active_element.get_attribute("aria-label") == "What are you looking for?")
    browser.switch_to.active_element.send_keys("/")  # on a fresh page the box has the focus already
    browser.switch_to.active_element.send_keys("engine", Keys.ENTER)
    until(lambda: "encoded in" in text(browser) and "q=engine" in browser.current_url)
    browser.execute_script("document.activeElement.blur()")
    browser.find_element(By.TAG_NAME, "body").send_keys("/")
    until(lambda: browser.switch_to.active_element.get_attribute("aria-label") == "What are you looking for?")


@pytest.mark.long
def test_a_filter_and_a_weighted_chip_come_back_from_a_shared_url(browser: Any, server: str, started: Server) -> None:
    ask(browser, server, "engine")
    choose(browser, "kind", "petrol")
    until(lambda: "f.kind=" in browser.current_url and "petrol" in first(browser))
    choose(browser, "Less like", "number 5 ^0.5")
    until(lambda: "less=" in browser.current_url)
    until(lambda: "3 hits" in text(browser))
    url = browser.current_url
    with browsing() as other:  # another person's browser
        entered(other, started)
        other.get(url)
        until(lambda: "3 hits" in text(other))
        until(lambda: first(other) == first(browser))
        until(lambda: "number 5 ^0.5" in text(other))


def test_no_value_of_the_metadata_and_no_file_name_is_markup(browser: Any, server: str) -> None:
    ask(browser, server, "volcanoes")
    until(lambda: "a <b>name<b>.txt" in text(browser))
    until(lambda: LINKS in text(browser).replace("\u2060", ""))
    advanced(browser)
    click(browser, "input[aria-label='tag']")
    until(lambda: MARKUP in text(browser))  # among the choices, letter by letter
    assert browser.title != "owned"
    assert not browser.find_elements(By.CSS_SELECTOR, "img[src='x'], a[href^='javascript'], a[href*='evil']")


@pytest.mark.long
def test_a_pdf_opens_at_its_page_with_its_passage_in_view(browser: Any, server: str) -> None:
    ask(browser, server, "zeppelin hydrogen")
    until(lambda: "paper.pdf · page 2" in text(browser))
    size = {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    try:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        click(browser, ".hit .title")
        until(lambda: browser.find_elements(By.CSS_SELECTOR, ".reader .sheet"))
        top = "return document.querySelector('.reader .text').getBoundingClientRect().top"
        before = browser.execute_script(top)
        picture = until(lambda: browser.find_elements(By.CSS_SELECTOR, "img[alt='page 2 of 3']"))[0]
        until(lambda: picture.get_property("naturalWidth") == 1400)
        assert abs(browser.execute_script(top) - before) <= 8
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    in_view = """
        const mark = document.querySelector(".passage.whole mark").getBoundingClientRect();
        let box = document.querySelector(".passage.whole");
        while (!/auto|scroll/.test(getComputedStyle(box).overflowY)) box = box.parentElement;
        const frame = box.getBoundingClientRect();
        return mark.top >= frame.top && mark.top < frame.bottom"""
    until(lambda: browser.execute_script(in_view))
    until(lambda: buttons(browser, "Next page"))[0].click()
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "img[alt='page 3 of 3']"))


def test_results_come_as_one_types_and_leave_one_entry_in_the_history(browser: Any, server: str) -> None:
    browser.get(server)
    box = until(lambda: browser.find_elements(By.CSS_SELECTOR, "input[placeholder^='Ask in your own words']"))[0]
    entries = browser.execute_script("return history.length")
    for part in ("bread", " and", " salt"):
        box.send_keys(part)
        until(lambda part=part: f"{part.strip()}" in browser.current_url)
        until(lambda: "salt" in first(browser))
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".hits[data-done='true']") and "encoded in" in text(browser))
    assert browser.execute_script("return history.length") == entries


def test_six_hits_stand_above_the_fold_and_filters_beside_them_or_in_a_sheet(browser: Any, server: str) -> None:
    ask(browser, server, "engine")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".hits[data-done='true']"))
    size = {"height": 900, "deviceScaleFactor": 1, "mobile": False}
    try:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1440, **size})
        bottoms = "return [...document.querySelectorAll('.hit')].map((hit) => hit.getBoundingClientRect().bottom)"
        until(lambda: sum(0 < each <= 900 for each in browser.execute_script(bottoms)) >= 6)
        assert browser.find_element(By.CSS_SELECTOR, ".facets").is_displayed()
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 420, **size})
        until(lambda: not browser.find_element(By.CSS_SELECTOR, ".facets").is_displayed())
        until(lambda: buttons(browser, "Filters"))[0].click()
        until(lambda: browser.find_element(By.CSS_SELECTOR, ".facets").is_displayed())
        assert browser.switch_to.active_element.text == "Close"
        browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        until(lambda: not browser.find_element(By.CSS_SELECTOR, ".facets").is_displayed())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 420
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.long
def test_an_open_document_leaves_six_hits_above_the_fold_and_stays_in_sight(browser: Any, server: str) -> None:
    size = {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    tops = "return ['.results', '.reader'].map((each) => document.querySelector(each).getBoundingClientRect().top)"
    bottoms = "return [...document.querySelectorAll('.hit')].map((hit) => hit.getBoundingClientRect().bottom)"
    try:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        ask(browser, server, "engine")
        click(browser, ".hit .title")
        until(lambda: browser.find_elements(By.CSS_SELECTOR, ".reader .near li"))
        assert sum(0 < each <= 900 for each in browser.execute_script(bottoms)) >= 6
        results, reader = browser.execute_script(tops)
        assert abs(results - reader) < 1
        browser.execute_script("document.querySelector('.stMain').scrollTo(0, 60)")
        until(lambda: browser.execute_script(tops)[0] <= results - 60)
        assert browser.execute_script(tops)[1] >= 80  # not with the hits, below the box
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_hits_are_read_with_the_keyboard_alone_chosen_and_saved(browser: Any, server: str) -> None:
    ask(browser, server, "engine")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".hits[data-done='true']"))
    hits = browser.find_elements(By.CSS_SELECTOR, ".hit h2 button")
    assert len(hits) == 10

    def press(*keys: str) -> None:
        browser.switch_to.active_element.send_keys(*keys)

    press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert browser.switch_to.active_element == hits[1]
    press("x")
    press(Keys.ENTER)
    until(lambda: "open=" in browser.current_url)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".reader .near li"))
    assert "match" not in browser.find_element(By.CSS_SELECTOR, ".reader header").text  # of a single passage
    press("?")
    until(lambda: "next and previous hit" in text(browser))
    press(Keys.ESCAPE)
    until(lambda: not browser.find_elements(By.CSS_SELECTOR, "dialog[open]"))
    press(Keys.ESCAPE)
    until(lambda: "open=" not in browser.current_url)
    assert browser.switch_to.active_element == hits[1]
    until(lambda: buttons(browser, "Export 1 selected"))[0].click()
    until(lambda: buttons(browser, "CSV"))[0].click()
    saved = downloaded(browser, "hits.csv")
    assert saved.read_text(encoding="utf-8").count("\nnotes") == 0 and "2,notes," in saved.read_text(encoding="utf-8")
    press(Keys.ESCAPE)
    until(lambda: browser.switch_to.active_element.get_attribute("aria-label") == "What are you looking for?")


def test_a_search_is_saved_under_a_name_with_the_keyboard_and_listed_once(browser: Any, server: str) -> None:
    ask(browser, server, "steam engine")
    for address in ("?n=notes&q=steam+engine", "?q=steam+engine&n=notes"):
        browser.get(f"{server}/{address}")
        until(lambda: "encoded in" in text(browser))
    until(lambda: [each.click() or each for each in buttons(browser, "Save")])
    browser.switch_to.active_element.send_keys("Steam", Keys.ENTER)
    until(lambda: browser.switch_to.active_element.text == "Save")  # nothing asks for a name again
    assert not browser.find_elements(By.CSS_SELECTOR, "dialog[open]")
    browser.get(f"{server}/?n=notes")
    until(lambda: "Saved searches" in text(browser))
    listed = [each.text for each in browser.find_elements(By.CSS_SELECTOR, ".start a")]
    assert (listed.count("steam engine"), listed.count("Steam")) == (1, 1)


def test_an_invalid_filter_is_told_in_place_of_the_grey_lines(browser: Any, server: str) -> None:
    browser.get(f"{server}/?n=notes&q=engine&where=kint+%3D+1")
    until(lambda: "No field is called" in text(browser))
    assert not browser.find_elements(By.CSS_SELECTOR, ".skeleton")


@pytest.mark.long
def test_searches_go_on_while_an_index_grows_and_find_what_is_new(browser: Any, server: str, home: Path) -> None:
    """The writer is another Index than the page's; each of its batches is a commit."""
    stop, written = threading.Event(), threading.Event()

    def grow() -> None:
        with Index.open(home / "notes", encoder="hashing") as index:
            index.add([Document("balloon", "A balloon rises with hot air.")])
            written.set()
            batch = 0
            while not stop.is_set():
                batch += 1
                index.add([Document(f"more{batch}.{n}", f"Filler {batch} {n} of cheese.") for n in range(20)])

    writer = threading.Thread(target=grow)
    ask(browser, server, "balloon")
    assert "balloon rises" not in text(browser)
    writer.start()
    try:
        assert written.wait(60)
        for question, found in (("a balloon rises", "hot air"), ("steam engine", "steam"), ("bread and salt", "salt")):
            box = until(lambda: browser.find_elements(By.CSS_SELECTOR, "input[placeholder^='Ask in your own words']"))[
                0
            ]
            box.send_keys(Keys.CONTROL, "a")
            box.send_keys(question, Keys.ENTER)
            until(partial(shows, browser, found))
        assert not browser.find_elements(
            By.CSS_SELECTOR, "[data-testid='stException'], [data-testid='stAlertContentError']"
        )
        assert writer.is_alive()
    finally:
        stop.set()
        writer.join(60)
