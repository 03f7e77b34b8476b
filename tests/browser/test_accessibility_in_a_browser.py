"""axe-core on every page, light and dark: nothing that it calls serious or critical, a contrast below 4.5 among it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

pytest.importorskip("selenium", reason="the browser is driven by selenium")
from accessibility import violations
from chromium import SAMPLE, needs_chromium, text, until
from selenium.webdriver.common.by import By

from semsearch import Index
from semsearch.evaluation import Judgements, save_run

index_metrics = pytest.importorskip("semsearch_ui.evaluate.index_metrics")
PAGES = {  # addresses, and what can be read on each once it is there
    "?n=sample": "For example",
    "?n=sample&q=diesel": "searched in",
    "?n=sample&q=diesel&open=sample/1": "Nearest passages",
    "library?n=sample&shelf=copies": "Only exactly equal texts",
    "library?n=sample&add=true": "Or drop files here",
    "?n=sample&q=zeppelins&path=no.where": "No document has a path that matches",
    "library?n=sample&chosen=engines/diesel.txt": "passages: split at",
    "map?n=sample&layout=PCA": "PCA: the two axes",
    "map?n=sample&layout=PCA&by=folder&group=engines&q=diesel": "Search in these",
    "map?n=sample&view=clusters&k=2": "two documents of the whole index",
    "map?n=sample&view=labels": "Or texts",
    "compare?m=hashing&s=one+car%0Aa+car%0Abread": "Two sentences",
    "compare?m=hashing&m=default&s=one+car%0Aa+car&look=Words": "brings together",
    "compare?kind=pairs": "Pairs, one per line",
    "evaluate?n=sample": "Which is better",
    "evaluate?n=sample&measure=without+labels": "Sentences are drawn",
    "evaluate?measure=STS+tasks": "start these pages again",
    "templates": "Tokens of the template",
    "library?n=sample&shelf=indexes": "Rename this index",
    "models": "Made on this machine",
    "models?part=Train": "Train it",
    "models?part=Export": "Export",
    "models?part=Adapt": "Look first",
}
MOST_MOVED = 8  # pixels
MOVES = """
const done = arguments[arguments.length - 1];
new PerformanceObserver((list) => done(list.getEntries().flatMap((entry) => entry.sources).flatMap((each) => {
  const by = each.currentRect.y - each.previousRect.y;
  return each.node && Math.abs(by) > arguments[0] ? [`${each.node.textContent.slice(0, 60)}: ${by}`] : [];
}))).observe({ type: "layout-shift", buffered: true });
setTimeout(() => done([]), 2000);
"""  # with no shift at all the observer is not called
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home") / "indexes"
    with Index.create("sample", home=home, encoder="hashing") as index:
        for folder in ("engines", "chemistry"):
            copytree(SAMPLE / folder, home.parent / "texts" / folder)
        index.sync(home.parent / "texts")
        kept = Judgements("sample", home)
        for grade, hit in enumerate(index.search("diesel", k=2)):
            kept.judge("diesel", hit.document, grade)  # a thumb of each kind is pressed
        save_run(index_metrics.on_judged("sample", kept.test_set(), index, lambda step: None), home)
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("SEMSEARCH_DATA", raising=False)  # the page of STS tasks says how to set it
        yield home


@pytest.fixture(scope="module", params=["light", "dark"])
def theme(request: pytest.FixtureRequest, browser: Any) -> Iterator[str]:
    scheme = {"features": [{"name": "prefers-color-scheme", "value": request.param}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    yield request.param
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_no_page_has_a_serious_violation(page: str, theme: str, browser: Any, server: str) -> None:
    browser.get(f"{server}/{page}")
    until(lambda: PAGES[page] in text(browser))
    until(lambda: not browser.find_elements(By.CSS_SELECTOR, "[data-testid=stStatusWidget]"))
    assert violations(browser) == []


@pytest.mark.long
@pytest.mark.parametrize(
    "page", ["map?n=sample&view=labels", "map?n=sample&view=clusters&k=2", "models?part=Adapt", "models?part=Export"]
)
def test_no_field_moves_what_stands_below_it_while_a_page_is_loaded(page: str, browser: Any, server: str) -> None:
    """Streamlit draws a field first without its label."""
    browser.get(f"{server}/{page}")
    until(lambda: PAGES[page] in text(browser))
    until(lambda: not browser.find_elements(By.CSS_SELECTOR, "[data-testid=stStatusWidget]"))
    browser.set_script_timeout(60)
    assert browser.execute_async_script(MOVES, MOST_MOVED) == []


@pytest.mark.long
@pytest.mark.parametrize("page", ["?n=sample&q=diesel", "map?n=sample&layout=PCA"])
def test_a_narrow_window_has_no_serious_violation(page: str, browser: Any, server: str) -> None:
    narrow = {"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        browser.get(f"{server}/{page}")
        until(lambda: PAGES[page] in text(browser))
        until(lambda: not browser.find_elements(By.CSS_SELECTOR, "[data-testid=stStatusWidget]"))
        assert violations(browser) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
