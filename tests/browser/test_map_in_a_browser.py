"""The map in Debian's Chromium: points are read, chosen and searched for, and nothing of a document runs."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from chromium import ask, buttons, needs_chromium, text, until
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
            known = {"topic": topic, "date": f"20{10 + at}-05-17"}
            documents.append(Document(f"notes/{topic}/{at}.txt", f"{words} {word} {word}", known))
    with Index.create("notes", home=home, encoder="hashing") as index:
        index.add(documents)
    crowd = [
        Document(f"{topic}/{at}.txt", " ".join(words.split()[part] for part in (at % 4, 4 + at % 3, at // 12 % 8)))
        for topic, words in TOPICS.items()
        for at in range(700)
    ]
    with Index.create("crowd", home=home, encoder="hashing") as index:
        index.add(crowd)
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

    def __init__(self, browser: Any, server: str, query: str = "", *, topics: bool = False) -> None:
        """Without the names of `topics`, which lie over points."""
        self.browser = browser
        browser.get("about:blank")
        browser.get(f"{server}/map{query}")
        until(lambda: self.legend() and self.one(".field").get_attribute("data-drawn"))
        if not topics:
            self.press("Topics")

    def press(self, tool: str) -> None:
        next(each for each in self.all(".tools button") if each.text == tool).click()

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

    def topics(self) -> list[str]:
        """The labels that are seen."""
        return [each.text for each in self.all(".topic") if each.is_displayed()]

    def view(self) -> str:
        return str(self.one(".field").get_attribute("data-haze"))


def passages(browser: Any) -> list[str]:
    return [each.text for each in browser.find_elements(By.CSS_SELECTOR, ".passage")]


def test_a_click_on_a_point_reads_its_passage_and_leads_to_a_search_in_the_same_tab(browser: Any, server: str) -> None:
    page = Map(browser, server, "?n=notes&by=folder")
    spot = page.spots()[0]
    page.at(spot).perform()
    path, group, said = until(lambda: page.tip().splitlines())
    page.at(spot).click().perform()
    until(lambda: passages(browser) == [said])
    assert path in text(browser)
    assert group.split(" · ")[0] in page.legend()
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
    page = Map(browser, server, "?n=notes&by=topic+(metadata)")
    assert sorted(page.legend()) == sorted(["<i>odd</i>", *TOPICS])
    page.all(".legend button")[page.legend().index("birds")].click()
    until(lambda: len(passages(browser)) == 8 and all("falcon" in each for each in passages(browser)))
    until(lambda: "group=birds" in browser.current_url)
    again = Map(browser, server, "?n=notes&by=topic+(metadata)&group=birds")
    until(lambda: len(passages(browser)) == 8)
    pressed = [each.text for each in again.all(".legend button[aria-pressed=true]")]
    assert [each.split()[0] for each in pressed] == ["birds"]
    assert "group=birds" in browser.current_url


@pytest.mark.long
def test_a_lasso_lists_what_lies_in_it_and_the_url_brings_it_back(browser: Any, server: str) -> None:
    page = Map(browser, server, "?n=notes&by=folder")
    spots, size = page.spots(), page.one(".field").size
    page.press("Lasso")
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


def test_topics_stand_on_the_map_and_finer_ones_come_with_a_click_or_a_key(browser: Any, server: str) -> None:
    page = Map(browser, server, "?n=crowd&clusters=3&layout=PCA", topics=True)
    coarse = until(page.topics)
    assert set(coarse) == {each for each in page.legend()[:3] if each in coarse} and len(coarse) >= 2
    first = next(each for each in page.all(".topic") if each.is_displayed())
    first.click()  # with the pointer
    until(lambda: set(page.topics()) - set(page.legend()))
    page.one(".field").send_keys("0")
    until(lambda: set(page.topics()) <= set(page.legend()))
    next(each for each in page.all(".topic") if each.is_displayed()).send_keys(Keys.ENTER)
    until(lambda: set(page.topics()) - set(page.legend()))
    boxes = [each.rect for each in page.all(".topic") if each.is_displayed()]
    for at, one in enumerate(boxes):
        for other in boxes[at + 1 :]:
            apart = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
            assert apart or one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
    page.press("Topics")
    until(lambda: not page.topics())
    assert len(page.all(".times .slider")) == 1  # the map was drawn again when its topics were found
    assert "points=" not in browser.current_url and "group=" not in browser.current_url


def test_a_crowd_is_a_haze_from_afar_and_points_when_one_comes_near(browser: Any, server: str) -> None:
    page = Map(browser, server, "?n=crowd&by=folder&layout=PCA")
    assert float(page.view()) > 0.3
    for _ in range(9):
        page.one(".field").send_keys("+")
    until(lambda: float(page.view()) < 0.3)
    small = Map(browser, server, "?n=notes&by=folder&layout=PCA")
    assert float(small.view()) == 0


def test_the_time_slider_shows_and_chooses_the_points_between_two_days(browser: Any, server: str) -> None:
    page = Map(browser, server, "?n=notes&by=folder&layout=PCA")
    many = len(page.spots())
    low = page.all(".times input")[0]
    assert low.get_attribute("aria-valuetext").startswith("2010-05")
    low.send_keys(Keys.PAGE_UP * 5, Keys.ARROW_RIGHT * 10)  # a page is a tenth of the 200 places, an arrow one of them
    first, last = (date(year, 5, 17) for year in (2010, 2017))
    chosen = (first + (last - first) * 110 / 200).isoformat()
    until(lambda: page.one(".times .dates").text.startswith(f"{chosen} – "))
    until(lambda: f"from={chosen}" in browser.current_url and "passages, the most central first" in text(browser))
    assert 0 < len(page.spots()) < many
    assert low.get_attribute("aria-valuetext") == chosen
    again = Map(browser, server, "?" + browser.current_url.partition("?")[2])
    until(lambda: again.one(".times .dates").text.startswith(chosen))
    next(each for each in again.all(".times button") if each.text == "All dates").click()
    until(lambda: "from=" not in browser.current_url)


@pytest.mark.long
def test_hits_of_the_last_search_are_marked_and_the_map_keeps_its_view(browser: Any, server: str) -> None:
    ask(browser, f"{server}/?n=notes", "falcon wings")
    links = ".st-key-rail [data-testid=stPageLink] a"
    until(
        lambda: [
            each
            for each in browser.find_elements(By.CSS_SELECTOR, links)
            if "Explore" in each.get_property("textContent")
        ]
    )[0].click()
    box = until(lambda: browser.find_elements(By.CSS_SELECTOR, "input[aria-label='Show the hits of a search']"))[0]
    until(lambda: box.get_attribute("value") == "falcon wings" and "ringed" in text(browser))
    shown = "const canvas = arguments[0]; return canvas.toDataURL().length"
    page = Map(browser, server, "?n=notes&by=folder&layout=PCA")
    plain = browser.execute_script(shown, page.one(".over"))
    marked = Map(browser, server, "?n=notes&by=folder&layout=PCA&q=falcon+wings")
    until(lambda: browser.execute_script(shown, marked.one(".over")) > plain)


@pytest.mark.long
def test_what_is_chosen_becomes_a_filter_of_the_search_and_a_tag_by_its_button(
    browser: Any, server: str, home: Path
) -> None:
    Map(browser, server, "?n=notes&by=topic+(metadata)&layout=PCA&group=birds")
    until(lambda: len(passages(browser)) == 8)
    until(lambda: [each for each in buttons(browser, "Tag 8 documents") if each.is_displayed()])[0].click()
    value = until(lambda: browser.find_elements(By.CSS_SELECTOR, "input[aria-label='Value']"))[0]
    value.send_keys("flying", Keys.TAB)
    until(lambda: [each for each in buttons(browser, "Set tag to flying") if each.is_displayed()])[0].click()
    until(lambda: "8 documents changed under tag" in text(browser))
    with Index.open(home / "notes") as index:
        assert index.count("tag = 'flying'") == 8
    Map(browser, server, "?n=notes&by=topic+(metadata)&layout=PCA&group=birds")
    until(lambda: browser.find_elements(By.PARTIAL_LINK_TEXT, "Search in these 8 documents"))[0].click()
    until(lambda: "where=document+in" in browser.current_url)
    until(lambda: "filter: document in" in text(browser))


def test_nothing_of_a_document_is_markup_under_the_pointer_or_in_the_legend(browser: Any, server: str) -> None:
    page = Map(browser, server, "?n=notes&by=topic+(metadata)")
    found = set()
    for spot in page.spots():
        page.at(spot).perform()
        found.add(page.tip())
    [odd] = [each for each in found if "zeppelin" in each]
    assert odd.splitlines() == ["notes/odd/<b>bold<b>.txt", "<i>odd</i>", HOSTILE]
    assert not page.all(".tip img, .tip script, .legend i i, .tip b b")
    assert browser.title != "owned"
