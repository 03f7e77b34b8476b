"""Fixtures of the tests in a browser: `browser`, and `server`, which shows the indexes of the file's `home`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.served import Server, running


@pytest.fixture(scope="module")
def started(home: Path) -> Iterator[Server]:
    pytest.importorskip("semsearch_ui")
    with running(home) as server:
        yield server


@pytest.fixture(scope="module")
def server(started: Server, driver: Any) -> str:
    """The address of the server, which `driver` has entered with the token."""
    from chromium import entered

    return entered(driver, started)


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    from chromium import browsing

    with browsing() as started:
        yield started


@pytest.fixture(scope="module")
def browser(driver: Any) -> Iterator[Any]:
    """The one Chromium of all test files; a file begins and ends on an empty page, and with no download.

    No page may need more than the server's content security policy allows.
    """
    from chromium import refusals

    for file in driver.downloads.iterdir():
        file.unlink()
    driver.get("about:blank")
    refusals(driver)
    yield driver
    driver.get("about:blank")
    assert refusals(driver) == []
