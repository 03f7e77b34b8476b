"""What the tests of the pages share: a home of indexes, a page that is drawn, its hits, and the end of a job."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("streamlit")
pytest.importorskip("semsearch_ui")
from streamlit.testing.v1 import AppTest

PATIENCE = 120  # seconds; a machine may be busy
APP = Path(__file__).resolve().parents[2] / "ui" / "app.py"
OF_PACKAGE = """
from semsearch_ui import job_list
from semsearch_ui.{} import page
job_list.show()
page.page()
"""
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> **bold** [link](javascript:alert(3)) :red[red] $x$"


@contextmanager
def at_home(home: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The pages show the indexes of `home`, seen from `place`; behind it every job has ended and nothing is kept."""
    import streamlit as st

    from semsearch_ui.shared.work import jobs

    monkeypatch.setenv("SEMSEARCH_HOME", str(home))
    monkeypatch.setenv("SEMSEARCH_EMBEDDING_CACHE_MB", "0")
    monkeypatch.delenv("SEMSEARCH_DATA", raising=False)
    monkeypatch.chdir(place)
    yield
    until(lambda: all(job.state != "running" for job in jobs.every_last()))
    st.cache_resource.clear()
    st.cache_data.clear()


def before(page: str, state: Mapping[str, Any] | None = None, /, **url: Any) -> AppTest:
    """A page that is not drawn yet, at a URL, in a session with this state.

    `page` names its package, or is "app", which has all pages and the sidebar, or a program.
    """
    if page == "app":
        made = AppTest.from_file(APP, default_timeout=PATIENCE)
    else:
        if page.isidentifier():
            page = (
                f"from semsearch_ui import job_list\nfrom semsearch_ui.{page} import page\njob_list.show()\npage.page()"
            )
        made = AppTest.from_string(page, default_timeout=PATIENCE)
    for name, value in url.items():
        made.query_params[name] = value
    for name, value in (state or {}).items():
        made.session_state[name] = value
    return made


def opened(page: str, state: Mapping[str, Any] | None = None, /, **url: Any) -> AppTest:
    """The page, opened at a URL."""
    return again(before(page, state, **url))


def said(page: AppTest, more: Sequence[str] = ()) -> str:
    """All that its alerts say, and its elements of `more` kinds, without the escapes of Markdown."""
    kinds = ("error", "warning", "success", "info", *more)
    return "\n".join(each.value.replace("\\", "") for kind in kinds for each in getattr(page, kind))


def rows(page: AppTest, column: str) -> list[dict[str, Any]]:
    """The rows of the one table that has this column; none where there is no such table."""
    found = [each.value for each in page.dataframe if column in each.value]
    assert len(found) <= 1
    return found[0].to_dict("records") if found else []


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


def drawn(page: AppTest) -> list[tuple[Any, dict[str, Any]]]:
    """The components of the search page, each with what it gives to the browser to show; the hits come last."""
    every = [(one, json.loads(one.proto.bytes)) for one in page.get("bidi_component")]
    return sorted(every, key=lambda one: "hits" in one[1])


def hits(page: AppTest) -> dict[str, Any]:
    """What the search page gives to the browser to show, hits and facets; {} where there is nothing yet."""
    return {name: value for _, shown in drawn(page) for name, value in shown.items()}


def titles(page: AppTest) -> list[str]:
    """Of the hits, each after its rank; of the nearest miss after another lead."""
    return [f"{hit['lead']} {hit['title']}" for hit in hits(page).get("hits", [])]


def tell(page: AppTest, event: str, /, **fields: Any) -> AppTest:
    """The page, after an event that the browser sends about its hits."""
    from streamlit.components.v2.bidi_component.main import _make_trigger_id

    component = drawn(page)[-1][0]
    state = page._tree.get_widget_states()
    told = state.widgets.add(id=_make_trigger_id(component.proto.id, "events"))
    told.json_trigger_value = json.dumps([{"event": "told", "value": {"event": event, **fields}}])
    page._tree = page._run(state)._tree
    assert not page.exception
    return page
