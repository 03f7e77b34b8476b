"""Pictures of every page, light and dark, wide and narrow, of an index of scripts/sample.

python -m scripts.release.screenshots -o DIR            needs chromium, its driver, and pip install '.[cpu,ui,dev]'
python -m scripts.release.screenshots -o docs/pictures --readme         the four of the README, in few colours
python -m scripts.release.screenshots -o docs/pictures --film           first-run.gif: from a bare home to the first hit
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By

from scripts.release.page_scenes import SCENES, SETTLED, press, read
from scripts.shared.browser import Pages, awaited, browsing, served
from scripts.shared.places import SAMPLE
from semsearch import Document, Index
from semsearch.evaluation import Judgements

SIZES = {"wide": (1440, 900), "middle": (1024, 768), "narrow": (420, 900)}
CROWD = {  # words of texts that lie on each other on the map
    "engines": ["diesel", "engine", "fuel", "petrol", "piston", "gear", "brake", "clutch"],
    "baking": ["flour", "salt", "yeast", "dough", "oven", "crust", "loaf", "bake"],
    "birds": ["falcon", "wings", "feathers", "nest", "beak", "flight", "talon", "plume"],
}
FILM, FRAME_MS = (960, 600), 900
THEMES = ("light", "dark")
README = {"search": "light", "compare": "light", "map": "dark", "pairs": "light"}


def _judge(home: Path) -> None:
    """Mark the article that answers each of the questions about the sample, and some hits that do not."""
    kept = Judgements("sample", home)
    with (SAMPLE / "queries.tsv").open(encoding="utf-8") as file, Index.open("sample", home=home) as index:
        for question, document in list(csv.reader(file, delimiter="\t"))[1:25]:
            for hit in index.search(question, k=4):
                kept.judge(question, hit.document, 0)
            kept.judge(question, document, 1)


def _crowd(home: Path) -> None:
    """An index of two thousand texts of a few words each, with dates."""
    documents = [
        Document(
            f"{topic}/{at}.txt",
            " ".join((words[at % 4], words[4 + at % 3], words[at // 12 % 8])),
            {"date": f"20{10 + at % 13}-{1 + at % 12:02}-17"},
        )
        for topic, words in CROWD.items()
        for at in range(700)
    ]
    with Index.create("words", home=home, encoder="hashing") as index:
        index.add(documents)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--page", choices=tuple(SCENES), action="append", default=[], help="one alone; repeatable")
    parser.add_argument("--size", choices=tuple(SIZES), action="append", default=[], help="one alone; repeatable")
    parser.add_argument("--home", type=Path, help="a home of indexes that has `sample` and `words`")
    parser.add_argument("--readme", action="store_true", help="the pictures of the README")
    parser.add_argument("--film", action="store_true", help="the first run, as an animated picture")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.film:
        film(options.out / "first-run.gif")
        return 0
    with tempfile.TemporaryDirectory() as own:
        home = options.home or Path(own)
        if not options.home:
            with Index.create("sample", home=home) as index:
                index.sync(SAMPLE)
            _judge(home)
            _crowd(home)
        with served(home) as server:
            if options.readme:
                for name, theme in README.items():
                    shoot(server, [name], options.out, "", (1360, 850), theme)
                    few_colours(options.out / f"{name}.png")
                return 0
            for size, measures in SIZES.items():
                for theme in THEMES:
                    if size in (options.size or SIZES):
                        shoot(server, options.page or list(SCENES), options.out, f"-{size}-{theme}", measures, theme)
    return 0


def shoot(server: Pages, scenes: list[str], out: Path, suffix: str, size: tuple[int, int], theme: str) -> None:
    """One picture of each scene in one size and theme."""
    with _browser(size, theme) as browser:
        for name in scenes:
            scene = SCENES[name]
            if not browser.get_cookies():  # at first, and after the scene that drops them
                browser.get(server.printed)
            browser.get(f"{server.address}/{scene.path}")
            try:
                awaited(lambda sign=scene.sign: sign in read(browser))  # type: ignore[misc]
                time.sleep(SETTLED)
                scene.act(browser)
            except (TimeoutError, WebDriverException) as error:  # the picture shows what is there instead
                print(f"{name}{suffix}: {str(error).splitlines()[0]}", file=sys.stderr)
            browser.save_screenshot(str(out / f"{name}{suffix}.png"))
            print(out / f"{name}{suffix}.png")


def film(file: Path) -> None:
    """The first run on a bare home: a path, a click, an example, the hits."""
    frames: list[Image.Image] = []
    with tempfile.TemporaryDirectory() as place, _browser(FILM, "light") as browser:
        os.environ["HOME"] = place  # of the server, after the browser was started
        (Path(place) / "indexes").mkdir()
        shutil.copytree(SAMPLE, Path(place) / "notes")

        def take(times: int = 1) -> None:
            for _ in range(times):
                frames.append(Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB"))
                time.sleep(FRAME_MS / 1000)

        with served(Path(place) / "indexes") as server:
            browser.get(server.printed)
            field = "input[aria-label='Folder or file on this machine']"
            box = awaited(lambda: browser.find_elements(By.CSS_SELECTOR, field))[0]
            take()
            ActionChains(browser).click(box).send_keys("~/no").perform()
            take(2)
            ActionChains(browser).send_keys("tes").perform()
            awaited(lambda: "on this machine" in read(browser) and " files (" in read(browser))
            take(2)
            press(browser, "Make the index")
            take(2)
            example = "[class*='st-key-example'] button"
            awaited(lambda: browser.find_elements(By.CSS_SELECTOR, example))[0].click()
            awaited(lambda: "searched in" in read(browser))
            take(3)
    small = [frame.quantize(64) for frame in frames]
    small[0].save(file, save_all=True, append_images=small[1:], duration=FRAME_MS, loop=0, optimize=True)
    print(file)


@contextmanager
def _browser(size: tuple[int, int], theme: str) -> Iterator[Any]:
    with browsing(*size) as browser:
        browser.execute_cdp_cmd(  # a window of its own has a least width
            "Emulation.setDeviceMetricsOverride",
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False},
        )
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        )
        yield browser


def few_colours(file: Path) -> None:
    """The same picture in 128 colours: a quarter of its size."""
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(128).save(file, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
