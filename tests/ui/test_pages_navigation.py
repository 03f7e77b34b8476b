"""The frame: the links to the pages, the one current index, and what the URL says that nothing uses."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.pages import again, click, ended, opened, until
from streamlit.testing.v1 import AppTest

from semsearch import Document, Index

PAGES = ["Search", "Library", "Explore", "Compare", "Evaluate", "Templates", "Models"]
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
    app = shown("library")
    assert set(links(app).values()) == {"n=notes"} and dict(app.query_params) == {"n": "notes"}


@pytest.mark.parametrize("page", ["", "library", "map", "compare", "evaluate", "templates", "models"])
def test_a_parameter_that_a_page_does_not_use_is_named(page: str, notes: Path) -> None:
    app = shown(page, pth="*.md", n="notes")
    assert "no use for the parameter pth of its address" in told(app)
    assert told(shown(page, n="notes")) == ""


def test_parameters_that_a_page_uses_are_not_named(notes: Path) -> None:
    assert told(shown(q="diesel", mode="semantic", k="3", path="*.txt", n="notes")) == ""
    assert told(shown("library", glob="*.txt", chosen="cars.txt")) == ""
    assert told(shown("map", points="1", by="folder")) == ""


def test_the_panel_goes_on_to_the_index_that_it_has_made(notes: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("post") / "letters"
    folder.mkdir()
    (folder / "a.txt").write_text("Dear boiler.")
    app = shown("library", add="true")
    app.text_input(key="add.path").set_value(str(folder))
    app.selectbox(key="add.into").set_value("A new index")
    again(app).selectbox(key="add.encoder").set_value("hashing")
    until(lambda: not any("Counting" in each.value for each in again(app).info))
    click(app, "Make the index “letters”")
    assert (title(app), app.query_params["n"]) in (("Search", "letters"), ("Search", ["letters"]))
    assert ended("letters") == "done"
    assert "letters" in {link.proto.query_string.removeprefix("n=") for link in again(app).get("page_link")}


def test_the_frame_has_no_name_that_a_page_needs(notes: Path) -> None:
    with Index.open("notes", encoder="hashing") as index:
        index.add(Document(f"n{number:03}", f"Text {number}.") for number in range(250))
    assert shown("library").number_input(key="page").value == 1
