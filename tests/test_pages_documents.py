"""The documents page: what an index holds and lacks, and the work that runs behind the page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import again, click, ended

pytest.importorskip("streamlit")
pytest.importorskip("semsearch_ui")
from streamlit.testing.v1 import AppTest

from semsearch import Document, Index, Progress

PAGE = "from semsearch_ui import documents, jobs\njobs.show()\ndocuments.page()"
HOSTILE = "<img src=x onerror=alert(2)> **bold** [l](javascript:alert(3)) :red[r] $x$.md"
DOCUMENTS = [
    Document("cars/diesel.txt", "A diesel engine ignites fuel. It has no spark.", {"year": 1990}, title="The diesel"),
    Document("cars/petrol.txt", "A petrol engine has a spark plug.", {"year": 2000}, title="The petrol engine"),
    Document("brot.txt", "Brot braucht Salz und Zeit.", {"lang": "de"}),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    import streamlit as st

    monkeypatch.setenv("SEMSEARCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SEMSEARCH_EMBEDDING_CACHE_MB", "0")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    ended("notes")
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.fixture
def notes(home: Path) -> Path:
    with Index.create("notes", encoder="hashing") as index:
        index.add(DOCUMENTS)
    return home / "home" / "notes"


@pytest.fixture
def folder(home: Path) -> Path:
    """Three files to be read, one that cannot be, one with a hostile name."""
    place = home / "files"
    place.mkdir()
    for name in ("a.md", "b.md", "c.txt", HOSTILE.replace("/", "")):
        (place / name).write_text(f"# {name}\n\nSomething about {name} and engines.\n", encoding="utf-8")
    (place / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    return place


def shown(**url: str) -> AppTest:
    """The page, opened at a URL."""
    page = AppTest.from_string(PAGE, default_timeout=60)
    for name, value in url.items():
        page.query_params[name] = value
    return again(page)


def table(page: AppTest, column: str = "id") -> list[dict[str, Any]]:
    """The rows of the table that has this column."""
    [found] = [each.value for each in page.dataframe if column in each.value]
    return found.to_dict("records")


def ids(page: AppTest) -> list[str]:
    return [row["id"] for row in table(page)]


def said(page: AppTest) -> str:
    alerts = (*page.error, *page.warning, *page.success, *page.info)
    return "\n".join(each.value.replace("\\", "") for each in alerts)


def follow(place: Path) -> None:
    with Index.open("notes", encoder="hashing") as index:
        index.sync(place)


def test_without_an_index_the_page_says_where_to_make_one(home: Path) -> None:
    assert "no index yet" in said(shown())


def test_the_table_shows_every_document_with_what_is_known_of_it(notes: Path) -> None:
    page = shown()
    diesel = next(row for row in table(page) if row["id"] == "cars/diesel.txt")
    assert diesel["title"] == "The diesel"
    assert (diesel["passages"], diesel["size"] > 0, diesel["metadata"]) == (1, True, "year: 1990")
    assert "3 documents" in page.caption[0].value


def test_paths_and_titles_filter_the_table_and_stand_in_the_url(notes: Path) -> None:
    assert ids(shown(glob="cars/*")) == ["cars/diesel.txt", "cars/petrol.txt"]
    page = shown(index="notes", title="ENGINE petrol")
    assert ids(page) == ["cars/petrol.txt"]
    page.text_input(key="title").set_value("zeppelin")
    assert "Loosen the filters" in said(again(page))


@pytest.mark.parametrize("url", [{"index": "gone"}, {"page": "-7"}, {"page": "x"}, {"chosen": "gone"}, {"glob": "["}])
def test_a_url_with_values_that_cannot_be_is_no_traceback(url: dict[str, str], notes: Path) -> None:
    page = shown(**url)
    assert "Traceback" not in said(page)


def test_many_documents_come_in_pages(notes: Path) -> None:
    with Index.open("notes", encoder="hashing") as index:
        index.add(Document(f"n{number:03}", f"Text {number}.") for number in range(250))
    assert len(ids(shown())) == 200
    page = shown(page="2")
    assert len(ids(page)) == 53
    assert ids(page)[-1] == "n249"


def test_a_folder_is_added_in_the_background_and_what_was_skipped_says_why(notes: Path, folder: Path) -> None:
    page = shown()
    page.text_input(key="add.path").set_value(str(folder))
    page.multiselect(key="add.include").set_value(["*.md", "*.pdf"])
    click(page, "Add it")
    assert ended("notes") == "done"
    assert "3 added" in said(again(page))
    assert "c.txt" not in ids(page)
    [skipped] = table(page, "why")
    assert skipped["what"] == "broken.pdf"
    assert "PDF" in skipped["why"]
    click(page, "Close")
    assert "3 added" not in said(page)


@pytest.mark.parametrize(("path", "why"), [("nowhere", "no file or folder"), ("", "no path"), ("/", "whole disk")])
def test_a_folder_that_cannot_be_added_is_a_sentence(path: str, why: str, notes: Path) -> None:
    page = shown()
    page.text_input(key="add.path").set_value(path)
    click(page, "Add it")
    ended("notes")
    assert why in said(again(page)) + said(click(shown(), "Add it"))
    assert len(ids(page)) == 3


def test_update_finds_what_changed_and_what_is_gone(notes: Path, folder: Path) -> None:
    assert shown().button(key="update").disabled
    follow(folder)
    (folder / "a.md").unlink()
    (folder / "d.md").write_text("# New\n", encoding="utf-8")
    page = click(shown(), "Update")
    assert ended("notes") == "done"
    assert "1 added, 0 changed, 0 moved, 1 deleted" in said(again(page))
    assert "d.md" in ids(page)
    assert "a.md" not in ids(page)
    click(page, "Read everything again")
    assert ended("notes") == "done"


def test_dropped_files_become_documents(notes: Path) -> None:
    page = shown()
    rows, broken = b'{"id": "r1", "text": "one"}\n', b"\x89PNG\0"
    given = [("../../up.md", b"# Up\n\nA text.", ""), ("rows.jsonl", rows, ""), ("x.png", broken, "")]
    page.file_uploader(key="add.files").set_value(given)
    click(page, "Add them")
    assert ended("notes") == "done"
    again(page)
    assert {"up.md", "r1"} <= set(ids(page))
    assert [row["what"] for row in table(page, "why")] == ["x.png"]


def test_a_job_survives_a_reload_can_be_stopped_and_loses_nothing_that_was_stored(notes: Path, home: Path) -> None:
    from semsearch_ui import jobs

    many = home / "many"
    many.mkdir()
    for number in range(400):
        (many / f"{number:03}.txt").write_text(f"Text number {number}.", encoding="utf-8")
    stored, go = threading.Event(), threading.Event()

    def work(told: jobs.Told) -> jobs.Outcome:
        def step(at: Progress) -> None:
            if at.passages:
                stored.set()
                go.wait(60)
            told(at)

        with Index.open("notes", encoder="hashing") as index:
            return jobs.counted(index.sync(many, None, step))

    jobs.start("notes", "Adding a folder", work)
    assert stored.wait(60)
    page = shown()
    assert "notes: Adding a folder" in page.get("progress")[0].proto.text.replace("\\", "")
    assert page.button(key="update").disabled
    click(shown(), "Stop")
    go.set()
    assert ended("notes") == "stopped"
    assert "was stopped" in said(again(page))
    with Index.open("notes", encoder="hashing") as index:
        kept = len(index)
        assert 3 < kept < 403
        index.sync()
        assert len(index) == 403


def test_a_second_job_on_an_index_is_refused_in_a_sentence(notes: Path, folder: Path) -> None:
    from semsearch_ui import jobs

    follow(folder)
    go = threading.Event()
    page = shown()
    jobs.start("notes", "Verify", lambda _: jobs.Outcome(str(go.wait(60))))
    click(page, "Update")
    assert "notes is busy: verify is still running" in said(page)
    go.set()


def test_a_writer_elsewhere_is_a_sentence(notes: Path, folder: Path) -> None:
    follow(folder)
    with Index.open("notes", encoder="hashing") as other:
        other.add([Document("x", "A text.")])
        page = click(shown(), "Update")
        assert ended("notes") == "failed"
        assert "is being written to" in said(again(page))


def test_a_fault_of_a_job_is_a_sentence_and_no_traceback(notes: Path) -> None:
    from semsearch_ui import jobs

    jobs.start("notes", "Verify", lambda _: 1 / 0)
    assert ended("notes") == "failed"
    assert "ended at a fault of its own" in said(shown())


def test_deleting_asks_first_and_says_that_the_files_stay(notes: Path, folder: Path) -> None:
    follow(folder)
    page = shown()
    page.multiselect(key="chosen").set_value(["a.md", "b.md"])
    click(again(page), "Delete the chosen (2)")
    assert any("files stay" in each.value for each in page.markdown)
    click(page, "Keep")
    assert "Delete 2 documents" not in [each.label for each in page.button]
    click(page, "Delete the chosen (2)")
    click(page, "Delete 2 documents")
    assert ended("notes") == "done"
    assert "2 deleted" in said(again(page))
    assert not {"a.md", "b.md"} & set(ids(page))
    assert (folder / "a.md").exists()


def test_all_that_a_filter_shows_can_be_deleted(notes: Path) -> None:
    page = click(shown(glob="cars/*"), "Delete all that the filters show (2)")
    click(page, "Delete 2 documents")
    assert ended("notes") == "done"
    assert ids(shown()) == ["brot.txt"]


def test_a_chosen_document_shows_its_passages_and_how_they_were_cut(notes: Path) -> None:
    page = shown(chosen="cars/diesel.txt")
    [row] = table(page, "start")
    assert (row["start"], row["end"], row["text"]) == (0, 46, DOCUMENTS[0].text)
    assert row["tokens"] > 5
    assert any("cut by sentences, 192 tokens at most" in each.value.replace("\\", "") for each in page.caption)


def test_ticked_rows_are_the_chosen_documents_and_a_row_that_is_gone_is_none() -> None:
    page = AppTest.from_string("from semsearch_ui import documents\ndocuments.choose(['a', 'b'], 'ticked')")
    page.session_state["ticked"] = {"selection": {"rows": [1, 5]}}
    assert again(page).session_state["chosen"] == ["b"]


def test_nothing_of_a_document_or_a_file_name_is_markup(notes: Path, folder: Path) -> None:
    follow(folder)
    (name,) = (each.name for each in folder.iterdir() if each.name.startswith("<img"))
    (folder / f"{name}.pdf").write_bytes(b"%PDF broken")
    page = click(shown(chosen=name), "Update")
    ended("notes")
    page.multiselect(key="chosen").set_value([name])
    click(again(page), "Delete the chosen")
    assert name in ids(page)
    texts = [*page.markdown, *page.caption, *page.subheader, *page.error, *page.warning, *page.success]
    assert any("onerror" in each.value for each in texts)
    for each in texts:
        assert "<img" not in each.value.replace("\\<", "")
        assert "](javascript" not in each.value
        assert "**bold**" not in each.value
    for each in (*page.markdown, *page.caption):
        assert not each.allow_html


def test_an_index_that_is_removed_behind_the_page_is_a_sentence(notes: Path) -> None:
    page = shown()
    Index.remove("notes")
    assert "no index yet" in said(again(page))
    with Index.create("notes", encoder="hashing") as index:
        index.add([Document("new.txt", "A text.")])
    assert ids(again(page)) == ["new.txt"]


def test_a_folder_that_is_removed_during_a_click_is_a_sentence(notes: Path, folder: Path) -> None:
    follow(folder)
    page = shown()
    page.button(key="update").click()
    Index.remove("notes")
    again(page)
    assert ended("notes") == "failed"
    assert "is not an index" in said(again(page))
