"""How long the page Map takes to draw 2,000 and 20,000 passages, and how smoothly it moves, in Chromium.

    python -m scripts.bench.map [--points 2000 20000 100000] [--home DIR] [-o FIGURES.json]

It needs chromium, its driver, pip install '.[cpu,ui,dev]', and three minutes; with 100,000 points, the most that the
page draws, ten. `--home` keeps the indexes, which take the most time to make.

Columns: seconds from opening the page until every point is drawn, nothing being in memory yet; milliseconds to draw all
points once while the map is dragged, and between two frames (16.7 is 60 a second), medians both.
"""

from __future__ import annotations

import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from selenium.webdriver import ActionChains

from scripts.shared import figures
from scripts.shared.browser import Pages, awaited, browsing, served
from semsearch import Document, Index, admin

PATIENCE = 300  # seconds
HEAD = ("points", "first drawn, s", "drawing, ms", "frame, ms")
FIELD = """
const host = document.querySelector("[data-testid=stBidiComponentIsolated]");
const field = host && host.shadowRoot.querySelector(".field"); """
WATCH = """
window.frames_ = []; window.draws_ = [];
(function frame(now) {
  window.frames_.push(now);
  window.draws_.push(field.dataset.drawn);
  requestAnimationFrame(frame);
})(performance.now());"""


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("--points", type=int, nargs="+", default=[2_000, 20_000])
    parser.add_argument("--home", type=Path, help="where the indexes are, or are made and kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as empty:
        home = options.home or Path(empty)
        for count in options.points:
            make(home, count)
        with served(home) as server:
            rows = [measure(server, count) for count in options.points]
    figures.show(figures.table(HEAD, rows), "", rows, options.output)


def make(home: Path, count: int) -> None:
    """An index of so many passages of made-up words, ten folders, each with words of its own."""
    if f"map{count}" not in admin.names(home):
        with Index.create(f"map{count}", home=home, encoder="hashing") as index:
            index.add(documents(count))


def documents(count: int) -> Iterator[Document]:
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnoprstuvw", k=draw.randint(4, 9))) for _ in range(5_000)]
    for at in range(count):
        own = words[500 * (at % 10) : 500 * (at % 10 + 1)]
        text = " ".join(draw.choices(own, k=12) + draw.choices(words, k=6))
        yield Document(f"notes/folder{at % 10}/{at}.txt", text, {"year": 1990 + at % 30})


def measure(server: Pages, count: int) -> tuple[str, ...]:
    """A row of the table."""
    with browsing(1360, 1000) as browser:
        browser.get(server.printed)
        began = time.monotonic()
        browser.get(f"{server.address}/map?n=map{count}&by=folder&layout=PCA")
        awaited(lambda: browser.execute_script(f"{FIELD} return field && field.dataset.drawn"), PATIENCE)
        first = time.monotonic() - began
        field = browser.execute_script(f"{FIELD} return field")
        browser.execute_script(FIELD + WATCH)
        drag = ActionChains(browser, duration=16).move_to_element(field).click_and_hold()
        for _ in range(60):
            drag.move_by_offset(3, 1)
        drag.release().perform()
        times, drawn = browser.execute_script("return [window.frames_, window.draws_]")
    draws = [float(each) for one in drawn for each in re.findall(r"([\d.]+) ms", one)]
    frames = [after - before for before, after in pairwise(times)]
    return f"{count:,}", f"{first:.1f}", f"{statistics.median(draws):.1f}", f"{statistics.median(frames):.1f}"


if __name__ == "__main__":
    main()
