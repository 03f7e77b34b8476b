"""What the tests of the pages share: a home of indexes, a page that is drawn, its hits, and the end of a job."""

from __future__ import annotations

import json
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
    from semsearch_ui.shared.work import jobs

    until(lambda: (job := jobs.last(name)) is None or job.state != "running")
    return job.state if (job := jobs.last(name)) else ""


def hits(page: AppTest) -> dict[str, Any]:
    """What the search page gives to the browser to show; {} where there is nothing yet."""
    found = page.get("bidi_component")
    return json.loads(found[-1].proto.bytes) if found else {}


def titles(page: AppTest) -> list[str]:
    """Of the hits, each after its rank; of the nearest miss after another lead."""
    return [f"{hit['lead']} {hit['title']}" for hit in hits(page).get("hits", [])]


def tell(page: AppTest, event: str, /, **fields: Any) -> AppTest:
    """The page, after an event that the browser sends about its hits."""
    from streamlit.components.v2.bidi_component.main import _make_trigger_id

    [drawn] = page.get("bidi_component")
    state = page._tree.get_widget_states()
    told = state.widgets.add(id=_make_trigger_id(drawn.proto.id, "events"))
    told.json_trigger_value = json.dumps([{"event": "told", "value": {"event": event, **fields}}])
    page._tree = page._run(state)._tree
    assert not page.exception
    return page
