"""Pictures of every page, light and dark, wide and narrow, of an index of scripts/sample.

python scripts/screenshots.py -o DIR            needs chromium, its driver, and pip install '.[cpu,ui,dev]'
python scripts/screenshots.py -o docs/pictures --readme         the four of the README, in few colours
python scripts/screenshots.py -o docs/pictures --film           first-run.gif: from a bare home to the first hit
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pages_served import Pages, served
from PIL import Image
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from semsearch import Index, SemsearchError
from semsearch.evaluation import Judgements, sts_pairs

HERE = Path(__file__).resolve().parent
SIZES = {"wide": (1440, 900), "middle": (1024, 768), "narrow": (420, 900)}
FILM, FRAME_MS = (960, 600), 900
THEMES = ("light", "dark")
PATIENCE, SETTLED = 120, 4  # seconds until a page is there, and until nothing on it moves
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


def _press(browser: Any, label: str) -> None:
    """Click the first button that begins so, once it is there."""
    xpath = f"//button[starts-with(normalize-space(.), {label!r}) or contains(., {label!r})]"
    button = _awaited(lambda: [each for each in browser.find_elements(By.XPATH, xpath) if each.is_displayed()])[0]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()
    time.sleep(SETTLED)


def _into_view(browser: Any, heading: str) -> None:
    """Scroll to a heading."""
    found = _awaited(lambda: browser.find_elements(By.XPATH, f"//*[self::h2 or self::h3][contains(., '{heading}')]"))[0]
    browser.execute_script("arguments[0].scrollIntoView()", found)
    time.sleep(1)


def _judge(home: Path) -> None:
    """Mark the article that answers each of the questions about the sample, and some hits that do not."""
    kept = Judgements("sample", home)
    with (HERE / "sample" / "queries.tsv").open(encoding="utf-8") as file, Index.open("sample", home=home) as index:
        for question, document in list(csv.reader(file, delimiter="\t"))[1:25]:
            for hit in index.search(question, k=4):
                kept.judge(question, hit.document, 0)
            kept.judge(question, document, 1)


def _upload_pairs(browser: Any) -> None:
    """STS-B dev, or a few pairs; then down to what the scores of people are held against."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pairs.csv")
        with file.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([("sentence1", "sentence2", "score"), *_pairs()])
        _awaited(lambda: browser.find_elements(By.CSS_SELECTOR, "input[type=file]"))[0].send_keys(str(file))
        _awaited(lambda: any(sign in _read(browser) for sign in ("Measure", "Agreement with")))
        if "Measure" in _read(browser):
            _press(browser, "Measure")
        heading = "//h3[contains(., 'Agreement with')] | //h2[contains(., 'Agreement with')]"
        _awaited(lambda: browser.find_elements(By.XPATH, heading))
        _awaited(lambda: browser.find_elements(By.CSS_SELECTOR, ".stVegaLiteChart canvas, .stVegaLiteChart svg"))
        _awaited(lambda: "Agreement with" in (read := _read(browser)) and "encoders are done" not in read)
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


SCENES = {
    "search": Scene(f"?q={QUESTION}&n=sample", "encoded in"),
    "opened": Scene(f"?q={QUESTION}&n=sample", "encoded in", lambda browser: _press(browser, "Open")),
    "nothing": Scene("?q=zeppelins&n=sample&min=0.95&path=*.md", "Nothing was found"),
    "compare": Scene("compare", "cot-small"),
    "pairs": Scene("compare?kind=pairs", "Pairs", _upload_pairs),
    "documents": Scene("documents?n=sample", "Documents"),
    "copies": Scene("groups?n=sample", "Groups"),
    "clusters": Scene("groups?n=sample&kind=clusters&k=6&time=true", "Over time"),
    "labels": Scene("groups?n=sample&kind=labels", "Or texts"),
    "map": Scene("map?n=sample&layout=PCA", "the two axes"),
    "folders": Scene(f"map?n=sample&layout=PCA&by=folder&q={QUESTION}", "ringed"),
    "words": Scene("compare?words=true", "brings together", lambda browser: _into_view(browser, "Two sentences")),
    "evaluate": Scene("evaluate?n=sample", "How good is my search?", lambda browser: _press(browser, "Measure")),
    "judged": Scene("evaluate?n=sample", "Which is better", lambda browser: _into_view(browser, "How good it is")),
    "measures": Scene("evaluate?n=sample&measure=without+labels", "Does the index find"),
    "templates": Scene("templates", "Templates"),
    "indexes": Scene("indexes?n=sample", "exact search"),
    "models": Scene("models", "Encoders"),
}
README = {"search": "light", "compare": "light", "map": "dark", "pairs": "light"}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--page", choices=tuple(SCENES), action="append", default=[], help="one alone; repeatable")
    parser.add_argument("--home", type=Path, help="a home of indexes that has one named sample")
    parser.add_argument("--readme", action="store_true", help="the pictures of the README")
    parser.add_argument("--film", action="store_true", help="the first run, as an animated picture")
    wanted = parser.parse_args()
    wanted.out.mkdir(parents=True, exist_ok=True)
    if wanted.film:
        film(wanted.out / "first-run.gif")
        return 0
    with tempfile.TemporaryDirectory() as own:
        home = wanted.home or Path(own)
        if not wanted.home:
            with Index.create("sample", home=home) as index:
                index.sync(HERE / "sample")
            _judge(home)
        with served(home) as server:
            if wanted.readme:
                for name, theme in README.items():
                    shoot(server, [name], wanted.out, "", (1360, 850), theme)
                    few_colours(wanted.out / f"{name}.png")
                return 0
            for size, measures in SIZES.items():
                for theme in THEMES:
                    shoot(server, wanted.page or list(SCENES), wanted.out, f"-{size}-{theme}", measures, theme)
    return 0


def shoot(server: Pages, scenes: list[str], out: Path, suffix: str, size: tuple[int, int], theme: str) -> None:
    """One picture of each scene in one size and theme."""
    with _browser(size, theme) as browser:
        browser.get(server.printed)
        for name in scenes:
            scene = SCENES[name]
            browser.get(f"{server.address}/{scene.path}")
            _awaited(lambda sign=scene.sign: sign in _read(browser))  # type: ignore[misc]
            time.sleep(SETTLED)
            scene.act(browser)
            browser.save_screenshot(str(out / f"{name}{suffix}.png"))
            print(out / f"{name}{suffix}.png")


def film(file: Path) -> None:
    """The first run on a bare home: a path, a click, an example, the hits."""
    frames: list[Image.Image] = []
    with tempfile.TemporaryDirectory() as place, _browser(FILM, "light") as browser:
        os.environ["HOME"] = place  # of the server, after the browser was started
        (Path(place) / "indexes").mkdir()
        shutil.copytree(HERE / "sample", Path(place) / "notes")

        def take(times: int = 1) -> None:
            for _ in range(times):
                frames.append(Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB"))
                time.sleep(FRAME_MS / 1000)

        with served(Path(place) / "indexes") as server:
            browser.get(server.printed)
            box = _awaited(lambda: browser.find_elements(By.CSS_SELECTOR, "[aria-label='Folder']"))[0]
            take()
            ActionChains(browser).click(box).send_keys("~/notes").perform()
            take()
            ActionChains(browser).send_keys(Keys.ENTER).perform()
            _awaited(lambda: "on this machine" in _read(browser) and " files (" in _read(browser))
            take(2)
            _press(browser, "Make the index")
            take(2)
            example = "[class*='st-key-example'] button"
            _awaited(lambda: browser.find_elements(By.CSS_SELECTOR, example))[0].click()
            _awaited(lambda: "searched in" in _read(browser))
            take(3)
    small = [frame.quantize(64) for frame in frames]
    small[0].save(file, save_all=True, append_images=small[1:], duration=FRAME_MS, loop=0, optimize=True)
    print(file)


@contextmanager
def _browser(size: tuple[int, int], theme: str) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for each in ("--no-sandbox", "--headless", "--hide-scrollbars", "--window-size={},{}".format(*size)):
        options.add_argument(each)
    browser: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        browser.execute_cdp_cmd(  # a window of its own has a least width
            "Emulation.setDeviceMetricsOverride",
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False},
        )
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        )
        yield browser
    finally:
        browser.quit()


def few_colours(file: Path) -> None:
    """The same picture in 128 colours: a quarter of its size."""
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(128).save(file, optimize=True)


def _read(browser: Any) -> str:
    return str(browser.find_element(By.TAG_NAME, "body").text)


def _awaited(true: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        if time.monotonic() > end:
            raise TimeoutError("what should be on the page did not come")
        time.sleep(0.3)
    return found


if __name__ == "__main__":
    sys.exit(main())
