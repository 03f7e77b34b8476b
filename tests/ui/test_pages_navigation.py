"""The frame: the links to the pages, the one current index, and what the URL says that nothing uses."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.pages import again, click, ended, opened
from streamlit.testing.v1 import AppTest

from semsearch import Document

PAGES = ["Search", "Documents", "Groups", "Map", "Compare", "Evaluate", "Templates", "Indexes", "Models"]
DOCUMENTS = [Document("a.txt", "A diesel engine."), Document("b.txt", "Bread and salt."), Document("c.txt", "A car.")]


def shown(page: str = "", **url: str) -> AppTest:
    """A page of the app, opened at a URL."""
    app = opened("app", **url)
    if page:
        [app._page_hash] = [at for at, info in app._registered_pages.items() if info.get("url_pathname") == page]
        app.run()
    assert not app.exception
    return app


def links(app: AppTest) -> dict[str, str]:
    """The query of each link of the rail, by the page's title."""
    return {link.proto.label: link.proto.query_string for link in app.get("page_link") if link.proto.label in PAGES}


def title(app: AppTest) -> str:
    return str(app.title[0].value)


def told(app: AppTest) -> str:
    return "\n".join(each.value.replace("\\", "") for each in app.warning)


def test_every_link_leads_to_the_index_that_its_page_shows(notes: Path) -> None:
    assert links(shown()) == dict.fromkeys(PAGES, "n=notes") | {"Search": ""}  # which searches all of them
    app = shown("documents")
    assert set(links(app).values()) == {"n=notes"} and dict(app.query_params) == {"n": "notes"}
    app = shown("documents", index="notes")  # an old link
    assert set(links(app).values()) == {"n=notes"} and dict(app.query_params) == {"n": "notes"}


@pytest.mark.parametrize(
    "page", ["", "documents", "groups", "map", "compare", "evaluate", "templates", "indexes", "models"]
)
def test_a_parameter_that_a_page_does_not_use_is_named(page: str, notes: Path) -> None:
    app = shown(page, index="notes", pth="*.md", n="notes")
    assert "no use for the parameter pth of its address" in told(app)
    assert told(shown(page, n="notes")) == ""


def test_parameters_that_a_page_uses_are_not_named(notes: Path) -> None:
    assert told(shown(q="diesel", mode="semantic", k="3", path="*.txt", n="notes")) == ""
    assert told(shown("documents", glob="*.txt", chosen="cars.txt")) == ""
    assert told(shown("map", points="1", by="folder")) == ""


def test_a_page_that_makes_an_index_goes_on_to_it(notes: Path) -> None:
    app = shown("indexes")
    app.text_input(key="new.name").set_value("alpha")
    app.selectbox(key="new.encoder").set_value("hashing")
    click(app, "Create it")
    assert (title(app), app.query_params["n"]) == ("Documents", "alpha")
    assert ended("alpha") == "done"
    assert again(app).selectbox(key="n").value == "alpha"


def test_a_link_from_before_the_models_had_a_page_still_leads_there(notes: Path) -> None:
    assert title(shown("indexes", part="Train")) == "Models"
