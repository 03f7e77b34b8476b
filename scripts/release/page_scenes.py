"""The pages in the states that screenshots.py takes pictures of: an address, a sign, and what is done there."""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By

from scripts.shared.browser import awaited
from semsearch import SemsearchError
from semsearch.evaluation import sts_pairs

SETTLED = 4  # seconds until nothing on a page moves
QUESTION = "how+is+the+fuel+of+a+diesel+set+on+fire"
PAIRS = (  # where the public data are not here
    ("A man plays the guitar.", "Someone is making music.", 3.8),
    ("A plane is taking off.", "An aeroplane leaves the ground.", 5.0),
    ("A woman slices an onion.", "A woman is cutting vegetables.", 3.6),
    ("The bridge was closed by snow.", "Snow shut the crossing.", 4.4),
    ("A cat drinks milk.", "A dog chases a cat.", 1.2),
    ("He did not pass the exam.", "He passed the exam.", 1.8),
    ("She paints the fence white.", "The stock market fell on Monday.", 0.0),
)


class Scene(NamedTuple):
    """A page as it is looked at: its address, what can be read on it once it is drawn, and what is done there first."""

    path: str
    sign: str
    act: Callable[[Any], None] = lambda browser: None


def read(browser: Any) -> str:
    return str(browser.find_element(By.TAG_NAME, "body").text)


def press(browser: Any, label: str) -> None:
    """Click the first button that begins so, once it is there."""
    xpath = f"//button[starts-with(normalize-space(.), {label!r}) or contains(., {label!r})]"
    button = awaited(lambda: [each for each in browser.find_elements(By.XPATH, xpath) if each.is_displayed()])[0]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    time.sleep(SETTLED)


def _into_view(browser: Any, heading: str) -> None:
    """Scroll to a heading."""
    results = awaited(lambda: browser.find_elements(By.XPATH, f"//*[self::h2 or self::h3][contains(., '{heading}')]"))[
        0
    ]
    browser.execute_script("arguments[0].scrollIntoView()", results)
    time.sleep(1)


def _upload_pairs(browser: Any) -> None:
    """STS-B dev, or a few pairs; then down to what the scores of people are held against."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pairs.csv")
        with file.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([("sentence1", "sentence2", "score"), *_pairs()])
        awaited(lambda: browser.find_elements(By.CSS_SELECTOR, "input[type=file]"))[0].send_keys(str(file))
        awaited(lambda: any(sign in read(browser) for sign in ("Measure", "Agreement with")))
        if "Measure" in read(browser):
            press(browser, "Measure")
        heading = "//h3[contains(., 'Agreement with')] | //h2[contains(., 'Agreement with')]"
        awaited(lambda: browser.find_elements(By.XPATH, heading))
        awaited(lambda: browser.find_elements(By.CSS_SELECTOR, ".stVegaLiteChart canvas, .stVegaLiteChart svg"))
        awaited(lambda: "Agreement with" in (said := read(browser)) and "encoders are done" not in said)
    time.sleep(SETTLED)
    browser.execute_script("arguments[0].scrollIntoView()", browser.find_elements(By.XPATH, heading)[0])
    ActionChains(browser).move_by_offset(1, 1).perform()  # away from what shows tools under the mouse
    time.sleep(1)


def _pairs() -> Sequence[tuple[str, str, float]]:
    try:
        (subset,) = sts_pairs("stsb", split="dev").values()
    except SemsearchError:
        return PAIRS
    return [(*pair, score) for pair, score in zip(subset.pairs, subset.gold, strict=True)]


def _open(browser: Any) -> None:
    """Open the first hit in its document."""
    awaited(lambda: browser.find_elements(By.CSS_SELECTOR, ".hit .title"))[0].click()
    time.sleep(SETTLED)


def _choose(browser: Any) -> None:
    """Select two hits, mark two, and open the menu of exports."""
    awaited(lambda: browser.find_elements(By.CSS_SELECTOR, ".hit .thumb"))
    for css, places in ((".choose", (0, 1)), (".thumb[data-grade='1']", (0,)), (".thumb[data-grade='0']", (1,))):
        for at in places:
            results = browser.find_elements(By.CSS_SELECTOR, f".hit {css}")[at]
            if results.get_attribute("aria-pressed") != "true":  # a second press takes the mark back
                results.click()
    press(browser, "Export 2 selected")


def _menus(browser: Any) -> None:
    """The scores of the first hit, and what can be copied of it."""
    for menu, entry in {"More": "Why this hit", "Copy": ""}.items():
        css = f".hit [aria-label='{menu}']"
        awaited(partial(browser.find_elements, By.CSS_SELECTOR, css))[0].click()
        if entry:
            press(browser, entry)


def _charts(browser: Any) -> None:
    """Wait for the charts, which come after the words around them."""
    drawn = ".stVegaLiteChart canvas, .stVegaLiteChart svg"
    awaited(lambda: len(browser.find_elements(By.CSS_SELECTOR, drawn)) > 2)
    time.sleep(SETTLED)


def _exports(browser: Any) -> None:
    """Scroll to the buttons that save a chart."""
    results = awaited(lambda: browser.find_elements(By.CSS_SELECTOR, ".export"))[0]
    browser.execute_script("arguments[0].scrollIntoView({block: 'end'})", results)
    time.sleep(1)


def _lock(browser: Any) -> None:
    """The page of a browser that has not opened the printed address."""
    browser.delete_all_cookies()
    browser.refresh()
    awaited(lambda: "This page needs the address" in read(browser))


LASSO = "area=0,-9_9,-9_9,9_0,9"
SCENES = {
    "search": Scene(f"?q={QUESTION}&n=sample", "encoded in"),
    "opened": Scene(f"?q={QUESTION}&n=sample", "encoded in", _open),
    "empty": Scene("?n=sample", "For example"),
    "refined": Scene(f"?q={QUESTION}&n=sample&min=0.3&b.folder=engines", "searched in"),
    "chosen": Scene(f"?q={QUESTION}&n=sample", "encoded in", _choose),
    "menus": Scene(f"?q={QUESTION}&n=sample", "encoded in", _menus),
    "keys": Scene(f"?q={QUESTION}&n=sample", "encoded in", lambda browser: press(browser, "Keys")),
    "markdown": Scene("?q=how+does+a+host+name+become+an+address&n=sample", "encoded in", _open),
    "paper": Scene("?q=who+invented+the+shipping+container&n=sample", "encoded in", _open),
    "nothing": Scene("?q=zeppelins&n=sample&min=0.95&path=*.md", "Nothing was found"),
    "compare": Scene("compare", "cot-small", _charts),
    "exports": Scene("compare?m=default&m=cot-small", "Two sentences", _exports),
    "pairs": Scene("compare?kind=pairs", "Pairs", _upload_pairs),
    "documents": Scene("library?n=sample", "Documents"),
    "adding": Scene("library?n=sample&add=true", "Or drop files here"),
    "copies": Scene("library?n=sample&shelf=copies", "Copies"),
    "clusters": Scene("map?n=sample&view=clusters&k=6", "Over time"),
    "periods": Scene(
        "map?n=sample&view=clusters&k=9&time=true&by=year&field=year",
        "Over time",
        lambda browser: _into_view(browser, "Over time"),
    ),
    "labels": Scene("map?n=sample&view=labels", "Or texts"),
    "map": Scene("map?n=sample&layout=PCA", "the two axes"),
    "umap": Scene("map?n=sample&layout=UMAP", "UMAP"),
    "crowd": Scene("map?n=words&layout=PCA&by=folder", "the two axes"),
    "lasso": Scene(f"map?n=sample&layout=PCA&by=folder&{LASSO}", "Within the lasso"),
    "times": Scene("map?n=words&layout=PCA&by=folder&from=2012-03-17&until=2016-05-17", "2012-03-17 to"),
    "folders": Scene(f"map?n=sample&layout=PCA&by=folder&q={QUESTION}", "ringed"),
    "words": Scene("compare?look=Words", "brings together", lambda browser: _into_view(browser, "Two sentences")),
    "evaluate": Scene("evaluate?n=sample", "How good is my search?", lambda browser: press(browser, "Measure")),
    "judged": Scene("evaluate?n=sample", "Which is better", lambda browser: _into_view(browser, "How good it is")),
    "measures": Scene("evaluate?n=sample&measure=without+labels", "Does the index find"),
    "templates": Scene("templates", "Templates"),
    "indexes": Scene("library?n=sample&shelf=indexes", "exact search"),
    "models": Scene("models", "Encoders"),
    "train": Scene("models?part=Train", "Train it"),
    "export": Scene("models?part=Export", "Export"),
    "locked": Scene("?n=sample", "For example", _lock),
}
