"""Pictures of every page, light and dark, wide and narrow, of an index of scripts/sample.

python -m scripts.release.screenshots -o DIR            needs chromium, its driver, and pip install '.[cpu,ui,dev]'
python -m scripts.release.screenshots -o docs/pictures --readme     the four of the README, in few colours
python -m scripts.release.screenshots -o docs/pictures --film       first-run.gif: from a bare home to the first hit
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
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By

from scripts.shared.browser import Pages, awaited, browsing, served
from scripts.shared.places import SAMPLE
from semsearch import Index
from semsearch.evaluation import sts_pairs

SIZES = {"wide": (1440, 900), "middle": (1024, 768), "narrow": (420, 900)}
FILM, FRAME_MS = (960, 600), 900
THEMES = ("light", "dark")
README = {"search": "light", "compare": "light", "map": "dark", "pairs": "light"}
MEASURED = 300  # seconds until two encoders have compared 1,500 pairs
SETTLED = 4  # seconds until nothing on a page moves
QUESTION = "how+does+a+heat+pump+work"
CHARTS = ".stVegaLiteChart canvas, .stVegaLiteChart svg"


class Scene(NamedTuple):
    """A page: its address, what can be read on it once it is drawn, and what is done there first."""

    path: str
    sign: str
    act: Callable[[Any], None] = lambda browser: None


def _open(browser: Any) -> None:
    """Open the first hit in its document."""
    _all(browser, ".hit .title")[0].click()


def _charts(browser: Any) -> None:
    """Wait for the charts, which come after the words around them."""
    awaited(lambda: len(browser.find_elements(By.CSS_SELECTOR, CHARTS)) > 2)


def _upload_pairs(browser: Any) -> None:
    """Upload STS-B dev, of the public data; then down to how scores and judgements agree."""
    (subset,) = sts_pairs("stsb", split="dev").values()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pairs.csv")
        with file.open("w", newline="", encoding="utf-8") as out:
            rows = ((*pair, score) for pair, score in zip(subset.pairs, subset.gold, strict=True))
            csv.writer(out).writerows([("sentence1", "sentence2", "score"), *rows])
        _all(browser, "input[type=file]")[0].send_keys(str(file))
        press(browser, "Measure")
    found = awaited(lambda: browser.find_elements(By.XPATH, "//h2[contains(., 'Agreement with')]"), MEASURED)
    heading = found[0]
    _all(browser, CHARTS)
    browser.execute_script("arguments[0].scrollIntoView()", heading)
    ActionChains(browser).move_by_offset(1, 1).perform()  # away from what shows tools under the mouse


SCENES = {
    "search": Scene(f"?q={QUESTION}&n=sample", "encoded in"),
    "opened": Scene(f"?q={QUESTION}&n=sample", "encoded in", _open),
    "compare": Scene("compare", "default", _charts),
    "pairs": Scene("compare?kind=pairs", "Pairs", _upload_pairs),
    "documents": Scene("library?n=sample", "Documents"),
    "indexes": Scene("library?n=sample&shelf=indexes", "exact search"),
    "map": Scene("map?n=sample&layout=PCA", "the two axes"),
    "clusters": Scene("map?n=sample&view=clusters&k=6", "Over time"),
    "labels": Scene("map?n=sample&view=labels", "Or texts"),
    "evaluate": Scene("evaluate?n=sample", "How good is my search?", lambda browser: press(browser, "Measure")),
    "templates": Scene("templates", "Templates"),
    "models": Scene("models", "Encoders"),
    "train": Scene("models?part=Train", "Train it"),
    "export": Scene("models?part=Export", "Export"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--page", choices=tuple(SCENES), action="append", help="one alone; repeatable")
    parser.add_argument("--readme", action="store_true", help="the pictures of the README")
    parser.add_argument("--film", action="store_true", help="the first run, as an animated picture")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.film:
        film(options.out.resolve() / "first-run.gif")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with Index.create("sample", home=home) as index:
            index.sync(SAMPLE)
        with served(home) as server:
            if options.readme:
                for name, theme in README.items():
                    shoot(server, [name], options.out, "", (1360, 850), theme)
                    few_colours(options.out / f"{name}.png")
                return 0
            for size, measures in SIZES.items():
                for theme in THEMES:
                    shoot(server, options.page or SCENES, options.out, f"-{size}-{theme}", measures, theme)
    return 0


def shoot(server: Pages, scenes: Iterable[str], out: Path, suffix: str, size: tuple[int, int], theme: str) -> None:
    """One picture of each scene in one size and theme."""
    with _browser(size, theme) as browser:
        browser.get(server.printed)
        for name in scenes:
            scene = SCENES[name]
            browser.get(f"{server.address}/{scene.path}")
            try:
                awaited(lambda sign=scene.sign: sign in read(browser))  # type: ignore[misc]
                time.sleep(SETTLED)
                scene.act(browser)
                time.sleep(SETTLED)
            except (TimeoutError, WebDriverException) as error:  # the picture shows what is there instead
                print(f"{name}{suffix}: {str(error).splitlines()[0]}", file=sys.stderr)
            browser.save_screenshot(str(out / f"{name}{suffix}.png"))
            print(out / f"{name}{suffix}.png")


def film(file: Path) -> None:
    """The first run on a bare home: a path, a click, an example, the hits."""
    frames: list[Image.Image] = []
    with (
        tempfile.TemporaryDirectory() as place,
        chdir(place),  # its folders are offered
        _browser(FILM, "light") as browser,
    ):
        os.environ["HOME"] = place  # of the server, after the browser was started
        (Path(place) / "indexes").mkdir()
        shutil.copytree(SAMPLE, Path(place) / "notes")

        def take(times: int = 1) -> None:
            for _ in range(times):
                frames.append(Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB"))
                time.sleep(FRAME_MS / 1000)

        with served(Path(place) / "indexes") as server:
            browser.get(server.printed)
            box = _all(browser, "input[aria-label='Folder or file on this machine']")[0]
            take()
            ActionChains(browser).click(box).send_keys("~/no").perform()
            take(2)
            ActionChains(browser).send_keys("tes").perform()
            awaited(lambda: "on this machine" in read(browser) and " files (" in read(browser))
            take(2)
            press(browser, "Make the index")
            time.sleep(SETTLED)
            take(2)
            _all(browser, "[class*='st-key-example'] button")[0].click()
            awaited(lambda: "searched in" in read(browser))
            take(3)
    small = [frame.quantize(64) for frame in frames]
    small[0].save(file, save_all=True, append_images=small[1:], duration=FRAME_MS, loop=0, optimize=True)
    print(file)


def read(browser: Any) -> str:
    return str(browser.find_element(By.TAG_NAME, "body").text)


def press(browser: Any, label: str) -> None:
    """Click the first button that begins so, once it is there."""
    xpath = f"//button[starts-with(normalize-space(.), {label!r}) or contains(., {label!r})]"
    button = awaited(lambda: [each for each in browser.find_elements(By.XPATH, xpath) if each.is_displayed()])[0]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()


def _all(browser: Any, css: str) -> Any:
    """The elements that a selector gives, once there are some."""
    return awaited(lambda: browser.find_elements(By.CSS_SELECTOR, css))


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
    """The same picture in 256 colours: a third of its size, with the green of a strong hit."""
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(256).save(file, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
