"""What the tests of the pages share: a page that is drawn, and the end of a job."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest


def again(page: AppTest) -> AppTest:
    """The page, drawn once more."""
    page.run()
    assert not page.exception
    return page


def click(page: AppTest, label: str) -> AppTest:
    """The page, after a click on the one button whose label begins so."""
    [button] = [each for each in page.button if each.label.startswith(label)]
    button.click()
    return again(page)


def ended(name: str | tuple[str, ...] = "notes") -> str:
    """How the job of an index, or of a key, has ended."""
    from semsearch_ui import jobs

    until = time.monotonic() + 60
    while (job := jobs.of(name)) and job.state == "running" and time.monotonic() < until:
        time.sleep(0.02)
    return job.state if job else ""
