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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from chromium import browsing

    with browsing() as driver:
        yield driver
