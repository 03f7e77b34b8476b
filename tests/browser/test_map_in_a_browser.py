"""The map in Debian's Chromium: points are read, chosen and searched for, and nothing of a document runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from chromium import needs_chromium, text, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from semsearch import Document, Index

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"> zeppelin frame"
TOPICS = {
    "cars": "diesel engine fuel petrol piston gear brake clutch",
    "bread": "flour salt yeast dough oven crust loaf bake",
    "birds": "falcon wings feathers nest beak flight talon plume",
}
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    documents = [Document("notes/odd/<b>bold<b>.txt", HOSTILE, {"topic": "<i>odd</i>"})]
    for topic, words in TOPICS.items():
        for at, word in enumerate(words.split()):
            documents.append(Document(f"notes/{topic}/{at}.txt", f"{words} {word} {word}", {"topic": topic}))
    with Index.create("notes", home=home, encoder="hashing") as index:
        index.add(documents)
    return home


INK = """
const canvas = arguments[0], dense = canvas.width / canvas.clientWidth, spots = [];
const {data, width, height} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
for (let at = 0; at < data.length; at += 4) {
  const colour = Math.abs(data[at] - data[0]) + Math.abs(data[at + 1] - data[1]) + Math.abs(data[at + 2] - data[2]);
  const x = (at / 4 % width) / dense, y = Math.floor(at / 4 / width) / dense;
  if (colour > 60 && !spots.some((spot) => Math.hypot(spot[0] - x, spot[1] - y) < 10)) spots.push([x, y + 3]);
}
return spots;"""


class Map:
    """The map on the page that a browser shows."""

    def __init__(self, browser: Any, server: str, query: str = "") -> None:
        self.browser = browser
        browser.get("about:blank")
        browser.get(f"{server}/map{query}")
        until(lambda: self.legend() and self.one(".field").get_attribute("data-drawn"))

    def all(self, selector: str) -> list[Any]:
        hosts = self.browser.find_elements(By.CSS_SELECTOR, "[data-testid=stBidiComponentIsolated]")
        return hosts[0].shadow_root.find_elements(By.CSS_SELECTOR, selector) if hosts else []

    def one(self, selector: str) -> Any:
        return until(lambda: self.all(selector))[0]

    def legend(self) -> list[str]:
        return [each.text for each in self.all(".legend .entry .name")]

    def spots(self) -> list[tuple[float, float]]:
        """Where points are drawn, from the left upper corner of the map; those of one place once."""
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", self.one(".field"))
        found = self.browser.execute_script(INK, self.one(".points"))
        return [(float(x), float(y)) for x, y in found]

    def at(self, spot: tuple[float, float]) -> ActionChains:
        """The pointer over a place of the map."""
        size, hand = self.one(".field").size, ActionChains(self.browser, duration=20)
        return hand.move_to_element_with_offset(
            self.one(".field"), int(spot[0] - size["width"] / 2), int(spot[1] - size["height"] / 2)
        )

    def tip(self) -> str:
        return str(self.one(".tip").text)


def passages(browser: Any) -> list[str]:
    return [each.text for each in browser.find_elements(By.CSS_SELECTOR, ".passage")]


def test_a_click_on_a_point_reads_its_passage_and_leads_to_a_search_in_the_same_tab(browser: Any, server: str) -> None:
    page = Map(browser, server, "?by=folder")
    spot = page.spots()[0]
    page.at(spot).perform()
    path, group, said = until(lambda: page.tip().splitlines())
    page.at(spot).click().perform()
    until(lambda: passages(browser) == [said])
    assert path in text(browser)
    assert group in page.legend()
    until(lambda: "points=" in browser.current_url)
    url = browser.current_url
    again = Map(browser, server, "?" + url.partition("?")[2])
    until(lambda: passages(browser) == [said])
    assert again.legend() == page.legend()
    until(lambda: browser.find_elements(By.PARTIAL_LINK_TEXT, "Search for more like this"))[0].click()
    until(lambda: "encoded in" in text(browser) or "hits" in text(browser))
    assert "more=" in browser.current_url
    assert len(browser.window_handles) == 1


@pytest.mark.long
def test_a_group_of_the_legend_is_listed_kept_in_the_url_and_chosen_again_from_it(browser: Any, server: str) -> None:
    page = Map(browser, server, "?by=topic+(metadata)")
    assert sorted(page.legend()) == sorted(["<i>odd</i>", *TOPICS])
    page.all(".legend button")[page.legend().index("birds")].click()
    until(lambda: len(passages(browser)) == 8 and all("falcon" in each for each in passages(browser)))
    until(lambda: "group=birds" in browser.current_url)
    again = Map(browser, server, "?by=topic+(metadata)&group=birds")
    until(lambda: len(passages(browser)) == 8)
    pressed = [each.text for each in again.all(".legend button[aria-pressed=true]")]
    assert [each.split()[0] for each in pressed] == ["birds"]
    assert "group=birds" in browser.current_url


@pytest.mark.long
def test_a_lasso_lists_what_lies_in_it_and_the_url_brings_it_back(browser: Any, server: str) -> None:
    page = Map(browser, server, "?by=folder")
    spots, size = page.spots(), page.one(".field").size
    next(each for each in page.all(".tools button") if each.text == "Lasso").click()
    hand = page.at((4, 4)).click_and_hold()
    for x, y in ((size["width"] - 8, 0), (0, size["height"] - 8), (8 - size["width"], 0)):
        hand.move_by_offset(x, y)
    hand.release().perform()
    until(lambda: "25 passages" in text(browser))
    assert len(spots) > 3
    until(lambda: "area=" in browser.current_url)
    Map(browser, server, "?" + browser.current_url.partition("?")[2])
    until(lambda: "Within the lasso" in text(browser) and "25 passages" in text(browser))
    page.one(".field").send_keys(Keys.ESCAPE)
    until(lambda: "area=" not in browser.current_url and not passages(browser))


def test_nothing_of_a_document_is_markup_under_the_pointer_or_in_the_legend(browser: Any, server: str) -> None:
    page = Map(browser, server, "?by=topic+(metadata)")
    found = set()
    for spot in page.spots():
        page.at(spot).perform()
        found.add(page.tip())
    [odd] = [each for each in found if "zeppelin" in each]
    assert odd.splitlines() == ["notes/odd/<b>bold<b>.txt", "<i>odd</i>", HOSTILE]
    assert not page.all(".tip img, .tip script, .legend i i, .tip b b")
    assert browser.title != "owned"
