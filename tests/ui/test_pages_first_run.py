"""A home without an index: one panel makes one from a folder, from files or from the sample, and opens Search on it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.pages import again, at_home, before, click, ended, until
from helpers.pages import said as alerts
from streamlit.testing.v1 import AppTest

from semsearch import Document, Index, admin
from semsearch.types import FileType, Survey

said = partial(alerts, more=["caption"])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HOME", str(tmp_path))
    create = Index.create
    monkeypatch.setattr(Index, "create", lambda name, **how: create(name, **how | {"encoder": "hashing"}))
    survey = admin.survey
    monkeypatch.setattr(admin, "survey", lambda path, **how: survey(path, encoder="hashing", **how))
    with at_home(tmp_path / "indexes", tmp_path, monkeypatch):
        yield tmp_path


@pytest.fixture
def notes(home: Path) -> Path:
    place = home / "my notes"
    (place / "old").mkdir(parents=True)
    (place / "soap.md").write_text("# How soap works\n\nSoap has two ends.\n", encoding="utf-8")
    (place / "bread.txt").write_text("Does bread need a hot oven? Yes.", encoding="utf-8")
    return place


def shown(path: str = "") -> AppTest:
    """The app; with a path in the field of the panel, once the folder was counted."""
    app = before("app")
    if path:
        app.session_state["add.path"] = path
    until(lambda: not any("Counting" in each.value for each in again(app).info))
    return app


def make(app: AppTest, name: str, label: str = "Make the index") -> None:
    """Click, and wait for the end of the job; the app is then on Search, with the new index."""
    click(app, label)
    assert app.title[0].value == "Search" and app.query_params["n"] in (name, [name])
    assert ended(name) == "done"


def labels(app: AppTest, key: str = "example") -> list[str]:
    return [each.label for each in app.button if str(each.key).startswith(key)]


@pytest.mark.parametrize("path", ["~/my notes", "my notes"])
def test_a_folder_is_counted_and_indexed_and_its_own_questions_find_it(path: str, notes: Path) -> None:
    app = shown(path)
    assert "2 files (1 .md, 1 .txt)" in said(app) and "about 2 passages, less than a minute" in said(app)
    make(app, "my-notes")
    until(lambda: len(labels(again(app))) == 2)
    assert labels(app) == ["Does bread need a hot oven?", "How soap works"]
    click(app, "How soap works")
    assert app.text_input(key="q").value == "How soap works"
    app.text_input(key="q").set_value("")  # as a run that was asked for before the click
    assert again(app).text_input(key="q").value == "How soap works"
    with Index.open("my-notes") as index:
        assert [index.search(label, k=1)[0].document for label in labels(again(shown()))] == ["bread.txt", "soap.md"]


def test_a_folder_that_is_not_in_english_gets_an_encoder_that_reads_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "notizen").mkdir()
    (home / "notizen" / "brot.txt").write_text("Das Brot muss eine Stunde im Ofen bleiben.", encoding="utf-8")
    made: list[str] = []
    create = Index.create
    monkeypatch.setattr(
        Index, "create", lambda name, **how: made.append(how["encoder"].reference) or create(name, **how)
    )
    app = shown("~/notizen")
    assert "The encoder is multilingual, since 100% of the texts are in German" in said(app)
    make(app, "notizen")
    assert made == ["multilingual"]


def test_what_the_encoder_of_an_index_does_not_read_is_said_before_it_is_added(home: Path) -> None:
    with Index.create("english") as index:
        index.add([Document("cat", "The cat sleeps on the stove.")])
        index.reembed("default")
    (home / "notizen").mkdir()
    (home / "notizen" / "brot.txt").write_text("Das Brot muss eine Stunde im Ofen bleiben.", encoding="utf-8")
    app = before("library", {"add.path": "~/notizen", "add.into": "english"})
    until(lambda: "100% of the texts are in German" in said(again(app)))
    assert "cot-small does not read" in said(app) and "The encoder is multilingual" not in said(app)


def test_an_index_is_made_as_the_options_say(notes: Path) -> None:
    app = shown("~/my notes")
    app.text_input(key="add.name").set_value("mine")
    app.selectbox(key="add.split.kind").set_value("markdown")
    app.number_input(key="add.split.size").set_value(64)
    app.number_input(key="add.split.overlap").set_value(8)
    app.selectbox(key="add.backend").set_value("exact")
    make(again(app), "mine")
    with Index.open("mine") as index:
        recipe = index.info()["recipe"]
    assert recipe["splitter"] == {"kind": "markdown", "size": 64, "overlap": 8}
    assert recipe["backend"] == "exact"


def test_untouched_options_are_those_of_the_command_line(notes: Path) -> None:
    make(shown("~/my notes"), "my-notes")
    Index.create("usual", encoder="hashing").close()
    with Index.open("my-notes") as made, Index.open("usual") as usual:
        assert made.info()["recipe"]["splitter"] == usual.info()["recipe"]["splitter"]
        assert made.info()["recipe"]["backend"] == usual.info()["recipe"]["backend"]


def test_options_that_cannot_be_are_a_sentence_and_nothing_is_made(notes: Path) -> None:
    app = shown("~/my notes")
    app.number_input(key="add.split.overlap").set_value(500)
    click(again(app), "Make the index")
    assert "does not fit" in said(app) and not admin.names()


@pytest.mark.parametrize(
    ("name", "why"),
    [("../up", "no '/'"), ("-x", "cannot be the name"), ("x" * 300, "cannot be the name"), ("taken", "already")],
)
def test_a_name_that_cannot_be_is_told_beside_the_field(name: str, why: str, notes: Path) -> None:
    Index.create("taken", encoder="hashing").close()
    app = before("library", {"add.path": "~/my notes", "add.into": "A new index", "add.name": name})
    until(lambda: not any("Counting" in each.value for each in again(app).info))
    assert why in said(app) and app.button(key="add").disabled
    app.text_input(key="add.name").set_value("fine")
    assert not again(app).button(key="add").disabled


def test_the_sample_is_one_click_away(home: Path) -> None:
    make(shown(), "sample", "Try the sample")
    with Index.open("sample") as index:
        assert len(index) == 62


def test_dropped_files_become_an_index(home: Path) -> None:
    app = shown()
    app.file_uploader(key="add.files").set_value([("soap.md", b"# Soap\n\nIt has two ends.", "")])
    make(again(app), "documents")
    with Index.open("documents") as index:
        assert index.search("soap", k=1)[0].document == "soap.md"


@pytest.mark.parametrize("path", ["~/gone", "/", "~"])
def test_what_cannot_be_indexed_is_a_sentence_and_makes_no_index(path: str, home: Path) -> None:
    app = shown(path)
    assert any(word in said(app) for word in ("does not exist", "whole disk"))
    assert not [each for each in app.button if each.label.startswith("Make") and not each.disabled]
    assert admin.names() == []


def test_an_index_that_cannot_be_filled_is_removed_again(notes: Path) -> None:
    app = shown("~/my notes")
    for each in notes.iterdir():
        each.rename(notes.parent / f"{each.name}.away")
    notes.rmdir()
    click(app, "Make the index")
    assert ended("my-notes") == "failed"
    assert admin.names() == []


def test_folders_complete_what_is_typed(notes: Path) -> None:
    from semsearch_ui.shared.adding import folders

    assert "~/my notes" in folders.suggested("")
    assert folders.suggested("my") == ["~/my notes"] == folders.suggested("~/NOT")  # any part, however it is written
    assert folders.suggested("~/my notes") == ["~/my notes/old"]
    assert folders.suggested("~/my notes/") == ["~/my notes/old"]
    assert folders.suggested("/nosuch/place") == [] == folders.suggested("\0")
    app = shown("my no")
    app.button(key="path ~/my notes").click()
    assert again(app).text_input(key="add.path").value == "~/my notes/"


def test_a_survey_is_told_in_one_line() -> None:
    from semsearch_ui.shared.adding.panel import described

    types = tuple(FileType(f".{name}", 300, 10**6) for name in "abcde")
    assert described(Survey(types, 4, 9000, 400.0, complete=False)) == (
        "more than 1,500 files (300 .a, 300 .b, 300 .c, 300 .d, 1 other type) · 5.0 MB · about 9,000 passages, "
        "about 7 minutes on this machine · 4 cannot be read"
    )


def test_every_page_of_an_empty_home_has_the_panel_but_those_that_need_no_index(home: Path) -> None:
    app = shown()
    found: dict[str, Any] = {}
    for at, info in list(app._registered_pages.items()):
        app._page_hash = at
        app.run()
        found[info["url_pathname"]] = app.title[0].value if app.title else ""
    panel = {path for path, title in found.items() if title == "Search your own documents"}
    assert panel == {"", "map", "evaluate"}


@pytest.mark.parametrize("name", ["", "library", "map"])
def test_an_index_removed_while_a_page_is_drawn_is_told_in_one_sentence(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = "There is no index 'removed' any more. Choose another one."
    monkeypatch.setattr(admin, "names", lambda: ["removed"])  # still there when the page asked
    app = before("app").run()
    [app._page_hash] = [at for at, info in app._registered_pages.items() if info["url_pathname"] == name]
    app.run()
    assert not app.exception
    assert {each.value.replace("\\", "") for each in app.error} == {told}


def test_while_an_index_fills_its_page_says_how_far_it_is(home: Path) -> None:
    from threading import Event

    from semsearch import Progress
    from semsearch_ui.shared.work import jobs

    Index.create("documents").close()
    go, told = Event(), Event()

    def work(report: jobs.Report) -> jobs.Outcome:
        report(Progress(10, 100, "bytes", "a.md", 0, 51, 510))
        told.set()
        go.wait(60)
        with Index.open("documents") as index:
            index.add([Document("a.md", "Does bread need a hot oven? Yes.")])
        return jobs.Outcome("1 added.")

    jobs.start("documents", "Indexing ~/notes", work)
    assert told.wait(60)
    app = shown()
    assert "Indexing ~/notes: 51 of 510 files" in said(app)
    app.text_input(key="q").set_value("hot oven").run()  # before anything can be found
    assert "Indexing ~/notes: 51 of 510 files" in said(app) and "Nothing was found" not in said(app)
    app.text_input(key="q").set_value("").run()
    go.set()
    assert ended("documents") == "done"
    until(lambda: labels(again(app)))
