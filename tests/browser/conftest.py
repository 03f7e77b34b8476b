"""Fixtures of the tests in a browser: `browser`, and `server`, which shows the indexes of the test file's `home`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[str]:
    pytest.importorskip("semsearch_ui")
    from chromium import serving

    with serving(home) as address:
        yield address


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    from chromium import browsing

    with browsing() as started:
        yield started


@pytest.fixture(scope="module")
def browser(driver: Any) -> Iterator[Any]:
    """The one Chromium of all test files; a file begins and ends on an empty page, and with no download."""
    for file in driver.downloads.iterdir():
        file.unlink()
    driver.get("about:blank")
    yield driver
    driver.get("about:blank")
