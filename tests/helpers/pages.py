"""What the tests of the pages share: a home of indexes, a page that is drawn, and the end of a job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

PATIENCE = 120  # seconds; a machine may be busy


@contextmanager
def at_home(home: Path, place: Path, monkeypatch: pytest.MonkeyPatch, *jobs: str | tuple[str, ...]) -> Iterator[None]:
    """The pages show the indexes of `home`, seen from `place`; behind it these jobs have ended and nothing is kept."""
    import streamlit as st

    monkeypatch.setenv("SEMSEARCH_HOME", str(home))
    monkeypatch.setenv("SEMSEARCH_EMBEDDING_CACHE_MB", "0")
    monkeypatch.chdir(place)
    yield
    for each in jobs:
        ended(each)
    st.cache_resource.clear()
    st.cache_data.clear()


def opened(program: str, **url: Any) -> AppTest:
    """The page, opened at a URL."""
    from streamlit.testing.v1 import AppTest

    page = AppTest.from_string(program, default_timeout=PATIENCE)
    for name, value in url.items():
        page.query_params[name] = value
    return again(page)


def again(page: AppTest) -> AppTest:
    """The page, drawn once more."""
    page.run()
    assert not page.exception
    return page


def until(true: Callable[[], Any]) -> Any:
    """What `true` gives as soon as that is something; no test waits longer than PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
    return found


def click(page: AppTest, label: str) -> AppTest:
    """The page, after a click on the one button whose label begins so."""
    [button] = [each for each in page.button if each.label.startswith(label)]
    button.click()
    return again(page)


def ended(name: str | tuple[str, ...] = "notes") -> str:
    """How the job of an index, or of a key, has ended."""
    from semsearch_ui.shared import jobs

    until(lambda: (job := jobs.last(name)) is None or job.state != "running")
    return job.state if (job := jobs.last(name)) else ""
