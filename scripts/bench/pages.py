"""From Enter to hits on the screen, in Chromium, on an index of 30,000 passages: the search page's speed.

    python -m scripts.bench.pages [--passages N] [--encoder NAME] [--home DIR] [-o FIGURES.json]
    python -m scripts.bench.pages --first-run [-o FIGURES.json]

Needs chromium, its driver, pip install '.[cpu,ui,dev]' and the public data. The texts are first paragraphs of
Wikipedia, with a number and a word as metadata so that the filters have something to offer. Three things take turns on
the same questions: the page on the large index, the page on one of 300 passages, and `Index.search` with its snippets
in this process. Every question is new to all of them, so that nothing is remembered. "first" is when the first hit of
the new answer is painted, "all" when every hit is, and "sentences" when each shows its best sentence by meaning, which
the encoder looks for after that; "re-rank" is a click on another mode, until all; "typed" is from the last letter of
other words to the first hit that has them, without Enter. With --home, indexes that are there
are used as they are.

With --first-run: from the click that makes an index of 300 documents that were never read, on a bare home, to the first
hit of a question typed into the page that follows; "notes" and "manuals" are those of scripts/bench/first_hit.py.
Of the processor, the seconds are those of the server, which other work on the machine disturbs least.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from scripts.bench import first_hit
from scripts.bench.serve import processor
from scripts.shared import figures
from scripts.shared.browser import awaited, browsing, served
from scripts.shared.places import leads
from semsearch import Document, Index, admin

PAGES = LARGE, SMALL = ("large", "small")
FEW = 300
TIMES = ("first", "all", "sentences")
PARTS = (*TIMES, "re-rank", "typed")
GOALS_MS = {"first": 300.0, "all": 600.0, "typed": 250.0}
WINDOW = (1300, 1600)
QUESTIONS = (
    "who discovered the structure of the atom",
    "a river that crosses several countries",
    "how do plants make energy from light",
    "an early computer built during the war",
    "food that is eaten at a religious feast",
    "a painter known for his use of light",
    "the capital of a country in South America",
    "what causes tides in the sea",
    "a battle that ended an empire",
    "an instrument that is played with a bow",
    "a disease carried by mosquitoes",
)
FIRST_RUN = 10.0  # seconds from the click to the first hit
PLACE = "input[aria-label='Folder or file on this machine']"
BOX = "input[aria-label='What are you looking for?']"
WATCH = """
const [event, key] = arguments, seen = {}, look = () => {
  const hit = document.querySelector(".passage"), foot = document.querySelector(".hits .times");
  return [hit && hit.textContent, foot && foot.textContent, document.querySelector(".hits[data-done=true]")];
}, [hit, foot] = look();
window.bench = seen;
const frame = () => {
  const [newHit, newFoot, done] = look(), took = performance.now() - seen.from;
  if (!seen.first && newHit && newHit !== hit) seen.first = took;
  if (newFoot && newFoot !== foot) { seen.first ||= took; seen.all ||= took; }
  if (seen.all && done) seen.sentences = took; else requestAnimationFrame(frame);
};
document.addEventListener(event, told => {
  if (key && told.key !== key) return;
  if (!seen.from) { seen.from = performance.now(); frame(); }
}, { capture: true });
"""


def main() -> int:
    parser = figures.arguments(__doc__)
    parser.add_argument("--passages", type=int, default=30_000)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--home", type=Path, help="where the two indexes are, or will be")
    parser.add_argument("--first-run", action="store_true", help="from the click that makes an index to its first hit")
    options = parser.parse_args()
    if options.first_run:
        took = {kind: first_run(kind) for kind in first_hit.QUESTION}
        rows = [[kind, *(f"{seconds:.1f}" for seconds in each)] for kind, each in took.items()]
        heads = [f"{FEW} documents", "seconds", "of the processor"]
        figures.show(figures.table(heads, rows), f"Load {os.getloadavg()[0]:.1f} at the end.", took, options.output)
        return 0 if all(wall <= FIRST_RUN for wall, _ in took.values()) else 1
    with tempfile.TemporaryDirectory() as scratch:
        home = options.home or Path(scratch)
        for name, count in ((LARGE, options.passages), (SMALL, FEW)):
            build(home, name, count, options.encoder)
        os.environ["SEMSEARCH_CACHE"] = str(Path(scratch) / "cache.db")  # no sentence was read in an earlier run
        results = measured(home)
    note = (
        f"{results['questions']} questions, encoder {options.encoder}. The first hit on the large index takes "
        f"{results[LARGE]['first'] / results[SMALL]['first']:.2f} times as long as on the small one; the page "
        f"{results[LARGE]['sentences'] / results['search']['all']:.1f} times as long as the search alone. "
        f"Load {os.getloadavg()[0]:.1f} at the end."
    )
    figures.show(table(results), note, results, options.output)
    return 0 if all(results[LARGE][part] <= goal for part, goal in GOALS_MS.items()) else 1


def first_run(kind: str) -> tuple[float, float]:
    """Seconds from the click to the first hit, and those of the server's processor."""
    with tempfile.TemporaryDirectory() as scratch, browsing(*WINDOW) as browser:
        first_hit.written(kind, Path(scratch, kind), FEW)
        os.environ["SEMSEARCH_CACHE"] = str(Path(scratch, "cache.db"))
        with served(Path(scratch, "home")) as server:
            browser.get(server.printed)
            box = awaited(lambda: browser.find_elements(By.CSS_SELECTOR, PLACE))[0]
            ActionChains(browser).click(box).send_keys(str(Path(scratch, kind))).perform()
            awaited(lambda: " passages, " in browser.find_element(By.TAG_NAME, "body").text)
            button = awaited(
                lambda: [
                    each for each in browser.find_elements(By.CSS_SELECTOR, ".st-key-add button") if each.is_enabled()
                ]
            )[0]
            began, before = time.perf_counter(), processor(server.pid)
            button.click()
            box = awaited(lambda: browser.find_elements(By.CSS_SELECTOR, BOX))[0]
            ActionChains(browser).click(box).send_keys(first_hit.QUESTION[kind]).perform()
            awaited(lambda: browser.find_elements(By.CSS_SELECTOR, ".hit"))
            return time.perf_counter() - began, processor(server.pid) - before


def build(home: Path, name: str, count: int, encoder: str) -> None:
    """An index of so many paragraphs, unless it is there."""
    if name in admin.names(home):
        return
    print(f"indexing {count:,} paragraphs into {name} …", file=sys.stderr)
    with Index.create(name, home=home, encoder=encoder) as index:
        index.add(islice(paragraphs(), count))


def paragraphs() -> Iterator[Document]:
    for row in leads():
        metadata = {"words": len(row["text"].split()), "initial": row["title"][:1].lower(), "url": row["url"]}
        yield Document(row["_id"], row["text"], metadata, title=row["title"])


def measured(home: Path) -> dict[str, Any]:
    """Medians in ms; the first question warms everything up and does not count."""
    took: dict[str, dict[str, list[float]]] = {name: {} for name in (LARGE, SMALL, "search")}
    with (
        served(home) as server,
        browsing(*WINDOW) as one,
        browsing(*WINDOW) as other,
        Index.open(home / LARGE) as index,
    ):
        pages = {LARGE: one, SMALL: other}  # a browser each: one that lies behind another window paints nothing
        for name, browser in pages.items():
            browser.get(server.printed)
            opened(browser, f"{server.address}/?n={name}")
        for at, question in enumerate(QUESTIONS):
            for name, browser in pages.items():
                keep(took[name] if at else {}, asked(browser, question))
                keep(took[name] if at else {}, {"re-rank": turned(browser, "semantic")["all"]})
                turned(browser, "hybrid")
                keep(took[name] if at else {}, {"typed": typed(browser, question.rpartition(" ")[0])["first"]})
            began = time.perf_counter()
            index.snippets(index.search(question))
            keep(took["search"] if at else {}, {"all": (time.perf_counter() - began) * 1000})
        passages = index.info()["passages"]
    medians = {name: {part: median(each) for part, each in parts.items()} for name, parts in took.items()}
    return {"questions": len(QUESTIONS) - 1, "passages": passages, **medians, "each": took}


def keep(into: dict[str, list[float]], results: dict[str, float]) -> None:
    for part, ms in results.items():
        into.setdefault(part, []).append(ms)


def opened(browser: Any, url: str) -> None:
    """The page, drawn."""
    browser.get(url)
    awaited(lambda: browser.find_elements(By.CSS_SELECTOR, BOX))


def asked(browser: Any, question: str) -> dict[str, float]:
    """Type a question and press Enter: ms until the first hit, all of them, and their best sentences."""
    box = browser.find_element(By.CSS_SELECTOR, BOX)
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys(question)
    browser.execute_script(WATCH, "keydown", "Enter")
    box.send_keys(Keys.ENTER)
    return seen(browser)


def typed(browser: Any, words: str) -> dict[str, float]:
    """Type words without Enter: the same, from the last letter."""
    box = browser.find_element(By.CSS_SELECTOR, BOX)
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys(words[:-1])
    time.sleep(2)  # until these are answered
    browser.execute_script(WATCH, "keydown", "")
    box.send_keys(words[-1])
    return seen(browser)


def turned(browser: Any, mode: str) -> dict[str, float]:
    """Click on another mode of searching: the same."""
    results = f"return [...document.querySelectorAll('button')].find(each => each.textContent === '{mode}')"
    button = awaited(lambda: browser.execute_script(results))
    browser.execute_script(WATCH, "click", "")
    browser.execute_script("arguments[0].click()", button)
    return seen(browser)


def seen(browser: Any) -> dict[str, float]:
    awaited(lambda: browser.execute_script("return window.bench.sentences"))
    results = browser.execute_script("return window.bench")
    time.sleep(0.5)  # until nothing is drawn any more
    return {part: float(results[part]) for part in TIMES}


def table(results: dict[str, Any]) -> str:
    rows = [
        [f"page, {count:,} passages", *(f"{results[name][part]:.0f}" for part in PARTS)]
        for name, count in ((LARGE, results["passages"]), (SMALL, FEW))
    ]
    rows.append(["Index.search and snippets alone", "", "", f"{results['search']['all']:.0f}", "", ""])
    return figures.table(["ms, median", "first hit", "all hits", "best sentences", "re-rank", "typed"], rows)


if __name__ == "__main__":
    sys.exit(main())
