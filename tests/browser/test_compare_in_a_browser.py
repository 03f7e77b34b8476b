"""The compare page in Debian's Chromium: maps beside each other, figures as the command line gives them, clicks."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
from PIL import Image

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from chromium import needs_chromium, text, until
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from semsearch import sts

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> **bold** $x$"
PAIRS = f"""sentence1,sentence2,score
a red car,a red car,5
a red car,a red cart,3.5
a diesel engine,a diesel motor,4
a diesel engine,a bowl of soup,0.5
"{HOSTILE.replace('"', '""')}",a bowl of soup,2
"""
TEXTS = ["a red car", "a red cart", "a bowl of soup"]
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def opened(browser: Any, server: str, **url: Any) -> None:
    browser.get(f"{server}/compare?{urlencode(url, doseq=True)}")


def charts(browser: Any) -> list[Any]:
    """The charts that are drawn."""
    return list(browser.find_elements(By.CSS_SELECTOR, "[data-testid=stVegaLiteChart] svg.marks"))


def uploaded(browser: Any, server: str, file: Path) -> None:
    opened(browser, server, kind="pairs", m="hashing")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "input[type=file]"))[0].send_keys(str(file))
    until(lambda: "Agreement with human scores" in text(browser) and len(charts(browser)) == 1)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "rated.csv"
    file.write_text(PAIRS, encoding="utf-8-sig")
    return file


@pytest.mark.long
def test_the_maps_of_two_encoders_stand_beside_each_other_and_their_difference_below(browser: Any, server: str) -> None:
    opened(browser, server, m=["hashing", "default"], s="\n".join(TEXTS))
    until(lambda: len(charts(browser)) == 3)
    left, right, apart = charts(browser)
    assert left.location["y"] == right.location["y"] < apart.location["y"]
    assert left.location["x"] < right.location["x"]
    cosines = [sts([(TEXTS[0], TEXTS[2])], encoder=name).cosines[0] for name in ("hashing", "default")]
    for chart, cosine in zip((left, right), cosines, strict=True):
        assert chart.text.count(f"{cosine:.2f}") >= 2
    assert "default − hashing" in apart.text
    assert f"{cosines[1] - cosines[0]:+.2f}" in apart.text
    cell = left.find_elements(By.CSS_SELECTOR, ".mark-rect path")[5]  # the second sentence and the third
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", cell)
    ActionChains(browser).move_to_element(cell).click().perform()
    until(lambda: "x=2" in browser.current_url and "y=3" in browser.current_url)


@pytest.mark.long
def test_an_uploaded_file_gives_the_figures_of_the_command_line_and_outlives_a_reload(
    browser: Any, server: str, pairs: Path
) -> None:
    uploaded(browser, server, pairs)
    command = [sys.executable, "-m", "semsearch", "sts", "--pairs", str(pairs), "-m", "hashing", "--json"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["models"]["hashing"]
    wanted = f"Spearman {found['spearman']:.2f} %; Pearson {found['pearson']:.2f} %"
    until(lambda: wanted in charts(browser)[0].text)
    browser.refresh()
    until(lambda: "rated.csv, 5 pairs" in text(browser))
    until(lambda: charts(browser) and wanted in charts(browser)[0].text)


def test_a_click_on_a_point_opens_its_pair_and_nothing_of_a_cell_is_markup(
    browser: Any, server: str, pairs: Path
) -> None:
    uploaded(browser, server, pairs)
    points = charts(browser)[0].find_elements(By.CSS_SELECTOR, ".mark-symbol path")
    assert len(points) == 5
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", points[4])
    ActionChains(browser).move_to_element(points[4]).click().perform()
    until(lambda: "Pair 5 · gold score 2" in text(browser))
    until(lambda: "pair=5" in browser.current_url)
    assert f"1 {HOSTILE}" in text(browser) and f"First {HOSTILE}" in text(browser)  # under the chart, and as the pair
    tip = until(lambda: browser.find_elements(By.ID, "vg-tooltip-element"))[0]
    until(lambda: "<script>" in tip.text)
    assert not browser.find_elements(By.CSS_SELECTOR, "#vg-tooltip-element img, [data-testid=stMain] img")
    assert browser.title != "owned"


def files(browser: Any, server: str, kind: str) -> bytes:
    """The file that a button below the map gives."""
    for file in browser.downloads.iterdir():
        file.unlink()
    opened(browser, server, m="hashing", s="\n".join(TEXTS))
    until(lambda: charts(browser))
    [button] = until(lambda: browser.find_elements(By.XPATH, f"//div[@class='export']/button[.='{kind}']"))
    button.click()
    name = browser.downloads / f"cosines-of-hashing.{kind.lower()}"
    until(lambda: name.exists() and name.stat().st_size)
    return bytes(name.read_bytes())


def cosines() -> list[float]:
    """Of every sentence with every other, row by row."""
    found = sts([(one, other) for one in TEXTS for other in TEXTS], encoder="hashing")
    return list(found.cosines)


def test_the_svg_of_a_map_has_its_numbers_names_and_colours(browser: Any, server: str) -> None:
    picture = ElementTree.fromstring(files(browser, server, "SVG").decode("utf-8"))
    texts = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text") if each.text]
    numbers = [f"{cosine:.2f}" for cosine in cosines()]
    assert sorted(text for text in texts if text in numbers and text != "0.00").count("1.00") >= 3
    assert set(numbers) <= set(texts)
    for number, name in enumerate(TEXTS, 1):
        assert f"{number}  {name}" in texts
    fills = {each.get("fill") for each in picture.iter()}
    assert "rgb(253, 231, 37)" in fills or "#fde725" in fills  # of cosine 1


def test_the_png_of_a_map_is_the_picture(browser: Any, server: str) -> None:
    with Image.open(io.BytesIO(files(browser, server, "PNG"))) as picture:
        size = charts(browser)[0].size
        assert picture.size == pytest.approx((2 * size["width"], 2 * size["height"]), abs=4)
        counts = {colour: count for count, colour in picture.convert("RGB").getcolors(1 << 24)}
    whole = sum(counts.values())
    assert counts[253, 231, 37] > 0.1 * whole  # three cells of nine, of cosine 1
    assert max(counts, key=counts.__getitem__) in ((255, 255, 255), (253, 231, 37)) and len(counts) > 50


def test_going_back_leads_to_the_pairs_that_were_left(browser: Any, server: str) -> None:
    opened(browser, server, m="hashing")
    pairs = "//button[contains(., 'pairs')]"
    until(lambda: browser.find_elements(By.XPATH, pairs))[0].click()
    until(lambda: "Pairs, one per line" in text(browser) and "kind=pairs" in browser.current_url)
    until(lambda: browser.find_elements(By.XPATH, "//a[contains(., 'Templates')]"))[0].click()
    until(lambda: "Tokens of the template" in text(browser))
    browser.back()
    until(lambda: "Pairs, one per line" in text(browser))
    assert "kind=pairs" in browser.current_url
