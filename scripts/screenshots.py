"""Pictures of every page, light and dark, wide and narrow, of an index of scripts/sample.

python scripts/screenshots.py -o DIR            needs chromium, its driver, and pip install '.[cpu,ui,dev]'
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from semsearch import Index

HERE = Path(__file__).resolve().parent
SIZES = {"wide": (1360, 1000), "narrow": (420, 900)}
PAGES = {  # name: (path with its query, what is on the page when it is drawn)
    "search": ("?q=how+is+the+fuel+of+a+diesel+set+on+fire", "encoded in"),
    "compare": ("compare", "Compare"),
    "documents": ("documents", "Documents"),
    "map": ("map", "Map"),
    "evaluate": ("evaluate", "Evaluate"),
    "templates": ("templates", "Templates"),
    "indexes": ("indexes", "Indexes"),
}
PATIENCE, SETTLED = 120, 4  # seconds until a page is there, and until nothing on it moves


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--page", choices=tuple(PAGES), action="append", default=[], help="one alone; repeatable")
    wanted = parser.parse_args()
    wanted.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        with Index.create("sample", home=Path(home)) as index:
            index.sync(HERE / "sample")
        command = [sys.executable, "-m", "semsearch", "--home", home, "ui", "--no-browser"]
        running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        try:
            assert running.stderr is not None
            found = re.search(r"http://\S+", running.stderr.readline())
            assert found, "the server did not start"
            time.sleep(SETTLED)
            for size, (width, height) in SIZES.items():
                for theme in ("light", "dark"):
                    shoot(found[0], wanted.page or list(PAGES), wanted.out, f"{size}-{theme}", width, height, theme)
        finally:
            running.terminate()
            running.wait(30)
    return 0


def shoot(server: str, pages: list[str], out: Path, suffix: str, width: int, height: int, theme: str) -> None:
    """One picture of each page in one size and theme."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for each in ("--no-sandbox", "--headless", "--disable-gpu", f"--window-size={width},{height}"):
        options.add_argument(each)
    browser: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        )
        for name in pages:
            path, sign = PAGES[name]
            browser.get(f"{server}/{path}")
            end = time.monotonic() + PATIENCE
            while sign not in browser.find_element(By.TAG_NAME, "body").text and time.monotonic() < end:
                time.sleep(0.3)
            time.sleep(SETTLED)
            browser.save_screenshot(str(out / f"{name}-{suffix}.png"))
            print(out / f"{name}-{suffix}.png")
    finally:
        browser.quit()


if __name__ == "__main__":
    sys.exit(main())
