"""How long the page Map takes to draw 2,000, 20,000 and 100,000 passages, and how fluid it is then, in Chromium.

python -m scripts.bench.map                 needs chromium, its driver, and pip install '.[cpu,ui,dev]'
python -m scripts.bench.map --points 2000   --home DIR keeps the indexes, which take the most time to make

first     seconds from opening the page until every point is drawn, coloured by folder: nothing is in memory yet
again     the same for one who opens it after that
draw      ms to draw all points once, the median while the map is dragged
frame     ms between two frames while it is dragged: the median, and the slowest of twenty; 16.7 is 60 a second
hover     the same two while the pointer wanders over the points
click     seconds from a click on a point until its passage stands under the map
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from scripts.shared.browser import Pages, awaited, browsing, served
from semsearch import Document, Index, admin

PATIENCE = 300  # seconds
FIELD = """
const host = [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")][0];
const field = host && host.shadowRoot.querySelector(".field"); """
DRAWN = FIELD + "return field && field.dataset.drawn"
PLACE = (
    FIELD
    + """
field.scrollIntoView({block: "center"});
const {x, y, width, height} = field.getBoundingClientRect(); return [x, y, width, height]"""
)
WATCH = (
    FIELD
    + """
window.frames_ = []; window.draws_ = []; window.over_ = false;
(function frame(now) {
  window.frames_.push(now);
  if (window.frames_.length % 2) window.draws_.push(field.dataset.drawn);
  if (!window.over_) requestAnimationFrame(frame);
})(performance.now());"""
)
MOVES, SLOW = 60, 0.95


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", type=int, nargs="+", default=[2_000, 20_000, 100_000])
    parser.add_argument("--home", type=Path, help="where the indexes are, or are made and kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as empty:
        home = options.home or Path(empty)
        for count in options.points:
            make(home, count)
        with served(home) as server:
            print("points   first s  again s  draw ms  frame ms      hover ms      click s")
            for count in options.points:
                print(measure(server, count), flush=True)
    return 0


def name_of(count: int) -> str:
    return f"map{count}"


def make(home: Path, count: int) -> None:
    """An index of so many passages of made-up words, ten folders, each with words of its own."""
    if name_of(count) in admin.names(home):
        return
    with Index.create(name_of(count), home=home, encoder="hashing") as index:
        index.add(documents(count))


def documents(count: int) -> Iterator[Document]:
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnoprstuvw", k=draw.randint(4, 9))) for _ in range(5_000)]
    for at in range(count):
        own = words[500 * (at % 10) : 500 * (at % 10 + 1)]
        text = " ".join(draw.choices(own, k=12) + draw.choices(words, k=6))
        yield Document(f"notes/folder{at % 10}/{at}.txt", text, {"year": 1990 + at % 30})


def measure(server: Pages, count: int) -> str:
    """One line of the table."""
    with browsing(1360, 1000) as browser:
        browser.get(server.printed)
        url = f"{server.address}/map?n={name_of(count)}&by=folder&layout=PCA"

        def opened() -> None:
            browser.get(url)
            awaited(lambda: browser.execute_script(DRAWN), PATIENCE)

        first, again = seconds(opened), seconds(opened)
        x, y, width, height = browser.execute_script(PLACE)
        time.sleep(2)  # texts under the pointer are unpacked meanwhile
        middle = (x + width / 2, y + height / 2)

        def hand(kind: str, dx: float, dy: float, held: int = 0) -> None:
            event = {"type": kind, "x": middle[0] + dx, "y": middle[1] + dy, "buttons": held, "clickCount": 1}
            browser.execute_cdp_cmd("Input.dispatchMouseEvent", event | {"button": "left" if held else "none"})

        def drag() -> None:
            hand("mousePressed", 0, 0, 1)
            for at in range(MOVES):
                hand("mouseMoved", 3 * at, at, 1)
            hand("mouseReleased", 3 * MOVES, MOVES, 1)

        frames, draws = watched(browser, drag)

        def wander() -> None:
            for at in range(MOVES):
                hand("mouseMoved", 4 * at - 120, at)

        hovers, _ = watched(browser, wander)

        def click() -> None:
            for kind in ("mousePressed", "mouseReleased"):
                hand(kind, 4 * (MOVES // 2) - 120, MOVES // 2, 1)
            awaited(lambda: browser.execute_script("return document.querySelectorAll('.passage').length"), PATIENCE)

        took = seconds(click)
        cells = (
            f"{statistics.median(each):5.1f} {sorted(each)[int(SLOW * len(each))]:6.1f}" for each in (frames, hovers)
        )
        return (
            f"{count:<8,} {first:7.1f}  {again:7.1f}  {statistics.median(draws):7.1f}  {'  '.join(cells)}  {took:7.1f}"
        )


def watched(browser: Any, act: Callable[[], Any]) -> tuple[Sequence[float], Sequence[float]]:
    """The ms between frames while `act` runs, and the ms that each drawing of the points took."""
    browser.execute_script(WATCH)
    act()
    times, drawn = browser.execute_script("window.over_ = true; return [window.frames_, window.draws_]")
    draws = [float(re.findall(r"[\d.]+(?= ms)", one)[0]) for one in drawn]
    return [after - before for before, after in pairwise(times)], draws


def seconds(act: Callable[[], Any]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
