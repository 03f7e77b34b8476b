"""The documents in the library: what an index holds and lacks, and the work that runs behind the page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.pages import again, at_home, click, ended, opened, rows, said, until
from streamlit.testing.v1 import AppTest

from semsearch import Document, Fields, Index, Progress, Rules, Splitter, SyncOptions, admin

HOSTILE = "<img src=x onerror=alert(2)> **bold** [l](javascript:alert(3)) :red[r] $x$.md"
shown = partial(opened, "library")
DOCUMENTS = [
    Document("cars/diesel.txt", "A diesel engine ignites fuel. It has no spark.", {"year": 1990}, title="The diesel"),
    Document("cars/petrol.txt", "A petrol engine has a spark plug.", {"year": 2000}, title="The petrol engine"),
    Document("brot.txt", "Brot braucht Salz und Zeit.", {"lang": "de"}),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(tmp_path / "home", tmp_path, monkeypatch):
        yield tmp_path


@pytest.fixture
def folder(home: Path) -> Path:
    """Three files to be read, one that cannot be, one with a hostile name."""
    place = home / "files"
    place.mkdir()
    for name in ("a.md", "b.md", "c.txt", HOSTILE.replace("/", "")):
        (place / name).write_text(f"# {name}\n\nSomething about {name} and engines.\n", encoding="utf-8")
    (place / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    return place


def ids(page: AppTest) -> list[str]:
    return [row["id"] for row in rows(page, "id")]


def follow(place: Path) -> None:
    with Index.open("notes", encoder="hashing") as index:
        index.sync(place)


def test_without_an_index_the_page_has_the_panel_that_makes_one(home: Path) -> None:
    assert [each.label for each in shown().text_input if each.key == "add.path"] == ["Folder or file on this machine"]


def test_the_table_shows_every_document_with_what_is_known_of_it(notes: Path) -> None:
    page = shown()
    diesel = next(row for row in rows(page, "id") if row["id"] == "cars/diesel.txt")
    assert diesel["title"] == "The diesel"
    assert (diesel["passages"], diesel["size"] > 0, diesel["metadata"]) == (1, True, "year: 1990")
    assert any("3 documents" in each.value for each in page.caption)


def test_a_record_without_a_title_is_called_by_its_file_and_its_id(notes: Path, home: Path) -> None:
    (home / "formula.csv").write_text("id,text\n1,One text.\n", encoding="utf-8")
    follow(home / "formula.csv")
    assert [row["title"] for row in rows(shown(), "id") if row["id"] == "1"] == ["formula.csv · 1"]


def test_paths_and_titles_filter_the_table_and_stand_in_the_url(notes: Path) -> None:
    assert ids(shown(glob="cars/*")) == ["cars/diesel.txt", "cars/petrol.txt"]
    page = shown(n="notes", title="ENGINE petrol")
    assert ids(page) == ["cars/petrol.txt"]
    page.text_input(key="title").set_value("zeppelin")
    assert "Loosen the filters" in said(again(page))


@pytest.mark.parametrize("url", [{"n": "gone"}, {"page": "-7"}, {"page": "x"}, {"chosen": "gone"}, {"glob": "["}])
def test_a_url_with_values_that_cannot_be_is_no_traceback(url: dict[str, str], notes: Path) -> None:
    page = shown(**url)
    assert "Traceback" not in said(page)


def test_a_condition_and_the_state_of_the_file_filter_the_table(notes: Path, folder: Path) -> None:
    follow(folder)
    (folder / "a.md").write_text("Something else, and longer.", encoding="utf-8")
    (folder / "b.md").unlink()
    assert ids(shown(where="year < 1995")) == ["cars/diesel.txt"]
    assert ids(shown(state="changed on disk")) == ["a.md"]
    assert ids(shown(state="file is gone")) == ["b.md"]
    assert ids(shown(state="in the index only", title="cars")) == ["cars/diesel.txt", "cars/petrol.txt"]
    states = {row["id"]: row["state"] for row in rows(shown(), "id")}
    assert (states["a.md"], states["b.md"], states["c.txt"]) == ("changed on disk", "file is gone", "up to date")
    assert "no field is called" in said(shown(where="yeer < 1995")).lower()


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
    click(again(page), "Add to notes")
    assert ended("notes") == "done"
    assert "3 added" in said(again(page))
    assert "c.txt" not in ids(page)
    assert any(each.label == "1 skipped file: reasons" for each in page.expander)
    [skipped] = rows(page, "why")
    assert skipped["what"] == "broken.pdf"
    assert "PDF" in skipped["why"]
    click(page, "Close")
    assert "3 added" not in said(page)


@pytest.mark.parametrize(("path", "why"), [("nowhere", "does not exist"), ("", ""), ("/", "whole disk")])
def test_a_folder_that_cannot_be_added_is_told_beside_the_field_and_never_a_job(
    path: str, why: str, notes: Path
) -> None:
    from semsearch_ui.shared.work import jobs

    page = shown()
    page.text_input(key="add.path").set_value(path)
    until(lambda: not any("Counting" in each.value for each in again(page).info))
    assert why in "".join(each.value.replace("\\", "") for each in page.caption)
    assert page.button(key="add").disabled
    assert jobs.last("notes") is None and len(ids(page)) == 3


def test_update_finds_what_changed_and_what_is_gone(notes: Path, folder: Path) -> None:
    assert shown().button(key="update").disabled
    follow(folder)
    (folder / "a.md").unlink()
    (folder / "d.md").write_text("# New\n", encoding="utf-8")
    page = click(shown(), "Update")
    assert ended("notes") == "done"
    assert "1 added, 1 deleted; " in said(again(page))
    assert "d.md" in ids(page)
    assert "a.md" not in ids(page)
    click(page, "Re-index everything")
    assert ended("notes") == "done"


def test_what_an_update_would_do_is_said_and_nothing_is_written(notes: Path, folder: Path) -> None:
    follow(folder)
    (folder / "d.md").write_text("# New\n", encoding="utf-8")
    page = click(shown(), "Preview changes")
    assert ended("notes") == "done"
    assert "Nothing was written. It would be: 1 added" in said(again(page))
    assert "skipped: broken.pdf: not a readable PDF" in said(page)
    assert "d.md" not in ids(page)


def test_what_is_gone_can_be_kept(notes: Path, folder: Path) -> None:
    follow(folder)
    (folder / "a.md").unlink()
    page = shown()
    page.toggle(key="keep gone").set_value(True)
    click(page, "Update")
    assert ended("notes") == "done"
    assert "a.md" in ids(again(page))


def test_a_folder_is_read_by_the_options_that_the_command_line_has(notes: Path, home: Path) -> None:
    (home / "rows.csv").write_text("name,words,year\nr1,one two,7\n", encoding="utf-8")
    page = shown()
    page.text_input(key="add.path").set_value(str(home / "rows.csv"))
    page.text_input(key="add.text").set_value("words")
    page.text_input(key="add.id").set_value("name")
    page.multiselect(key="add.meta").set_value(["year"])
    click(again(page), "Preview additions")
    assert ended("notes") == "done"
    assert "It would be: 1 added" in said(again(page))
    click(page, "Add to notes")
    assert ended("notes") == "done"
    row = next(row for row in rows(again(page), "id") if row["id"] == "r1")
    assert row["metadata"].startswith("year: 7")
    [source] = [
        each.value.replace("\\", "") for each in page.markdown if "--text-field" in each.value.replace("\\", "")
    ]
    assert source.endswith("--text-field words --id-field name --meta-field year")


def test_every_option_of_the_page_is_what_the_command_line_calls_so() -> None:
    from semsearch_ui.shared.adding import read_options

    state = {"x.include": ["*.md"], "x.exclude": [], "x.ignored": True, "x.most": 0.5, "x.kind": None,
             "x.sql": "SELECT 1", "x.meta": [], "x.text": " ", "x.id": None, "x.yes": True}  # fmt: skip
    rules, fields = Rules(("*.md",), (), False, 2**19), Fields(sql="SELECT 1")
    assert read_options.options("x", state) == SyncOptions(rules, "sqlite", fields, yes=True)
    assert read_options.options("x", {}) == SyncOptions()


def test_documents_are_cut_anew_and_those_that_were_dropped_too(notes: Path) -> None:
    page = shown()
    click(page, "Split everything again")
    assert "split like that already" in said(page)
    page.number_input(key="cut notes.size").set_value(4)
    page.number_input(key="cut notes.overlap").set_value(9)
    click(page, "Split everything again")
    assert "does not fit into passages of 4" in said(page)
    page.number_input(key="cut notes.overlap").set_value(0)
    click(page, "Split everything again")
    assert ended("notes") == "done"
    with Index.open("notes", encoder="hashing") as index:
        assert len(index.passages("cars/diesel.txt")) > 2


def test_dropped_files_become_documents(notes: Path) -> None:
    page = shown()
    records, broken = b'{"id": "r1", "text": "one"}\n', b"\x89PNG\0"
    given = [("../../up.md", b"# Up\n\nA text.", ""), ("rows.jsonl", records, ""), ("x.png", broken, "")]
    page.file_uploader(key="add.files").set_value(given)
    click(again(page), "Add to notes")
    assert ended("notes") == "done"
    again(page)
    assert {"up.md", "r1"} <= set(ids(page))
    assert [row["what"] for row in rows(page, "why")] == ["x.png"]


def test_each_dropped_file_is_a_document_or_is_told_whatever_its_name(notes: Path) -> None:
    names = [
        "../../etc/up.md",
        "C:\\dir\\w.md",
        "<b>bold<b>.md",
        "a\x1bb\nc.md",
        "=1+1.md",
        "dir/",
        "up.md",
        "empty.md",
    ]
    page = shown()
    page.file_uploader(key="add.files").set_value(
        [(name, b"" if name == "empty.md" else f"Text of {name!r}.".encode(), "") for name in names]
    )
    click(again(page), "Add to notes")
    assert ended("notes") == "done"
    again(page)
    there = set(ids(page)) - {each.id for each in DOCUMENTS}
    assert there == {"up.md", "w.md", "<b>bold<b>.md", "a\x1bb\nc.md", "=1+1.md", "dir"}
    reasons = [row["why"] for row in rows(page, "why")]
    assert len(reasons) == 2 and "already used" in reasons[0]
    assert reasons[1] == "no text found in it"


def test_dropped_files_are_read_by_options_and_an_update_leaves_them_alone(notes: Path, folder: Path) -> None:
    follow(folder)
    page = shown()
    page.file_uploader(key="add.files").set_value([("rows.csv", b"name,words\nr1,one two\n", "")])
    page.text_input(key="add.text").set_value("words")
    page.text_input(key="add.id").set_value("name")
    click(again(page), "Add to notes")
    assert ended("notes") == "done"
    click(again(page), "Update")
    assert ended("notes") == "done"
    assert "r1" in ids(again(page))
    assert next(row["state"] for row in rows(page, "id") if row["id"] == "r1") == "in the index only"


def test_what_was_left_out_is_shown_by_file(home: Path) -> None:
    (files := home / "files").mkdir()
    for name, script in {"a.html": "go()", "b.html": "go_on()"}.items():
        (files / name).write_text(f"<html><body><script>{script}</script><p>The kettle is hot.</p></body></html>")
    with Index.create("notes", encoder="hashing") as index:
        index.sync(files)
    page = shown()
    assert any(each.label.startswith("Left out of 2 files") for each in page.expander)
    assert [(row["what"], row["left out"]) for row in rows(page, "left out")] == [
        ("b.html", "script (7 letters)"),
        ("a.html", "script (4 letters)"),
    ]


def test_what_was_skipped_is_narrowed_by_words_and_by_reason(home: Path) -> None:
    files = home / "files"
    files.mkdir()
    for name, content in {"a.pdf": b"%PDF x", "b.bin": bytes(range(256)), "c.bin": bytes(range(256))}.items():
        (files / name).write_bytes(content)
    with Index.create("notes", encoder="hashing") as index:
        index.sync(files)
    page = shown()
    assert len(rows(page, "why")) == 3
    page.multiselect(key="skipped.why").set_value(["binary file"])
    assert [row["what"] for row in rows(again(page), "why")] == ["b.bin", "c.bin"]
    page.text_input(key="skipped.words").set_value("C.BIN")
    assert [row["what"] for row in rows(again(page), "why")] == ["c.bin"]


def test_a_job_uses_the_encoder_that_the_open_index_has_loaded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from semsearch import Encoder
    from semsearch_ui.shared import pool

    with Index.create("notes", encoder="hashing") as index:
        index.add(DOCUMENTS)
    loaded: list[str] = []
    load = Encoder.from_settings
    monkeypatch.setattr(Encoder, "from_settings", lambda name, **how: loaded.append(name) or load(name, **how))
    pool.index("notes").search("engine")
    page = shown()
    page.file_uploader(key="add.files").set_value([("new.md", b"Something new.", "")])
    click(again(page), "Add to notes")
    assert ended("notes") == "done"
    assert pool.index("notes").search("something new", k=1)[0].document == "new.md"
    assert loaded == ["hashing"]


def test_a_job_survives_a_reload_can_be_stopped_and_loses_nothing_that_was_stored(notes: Path, home: Path) -> None:
    from semsearch_ui.shared.work import jobs, progress

    many = home / "many"
    many.mkdir()
    for number in range(400):
        (many / f"{number:03}.txt").write_text(f"Text number {number}.", encoding="utf-8")
    stored, go = threading.Event(), threading.Event()

    def work(told: jobs.Report) -> jobs.Outcome:
        def step(at: Progress) -> None:
            if at.passages:
                stored.set()
                go.wait(60)
            told(at)

        with Index.open("notes", encoder="hashing") as index:
            return progress.outcome(index.sync(many, None, step))

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
    from semsearch_ui.shared.work import jobs

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
    from semsearch_ui.shared.work import jobs

    page = shown()
    jobs.start("notes", "Verify", lambda _: 1 / 0)
    assert ended("notes") == "failed"
    assert "It failed: " in said(again(page))


def test_deleting_asks_first_and_says_that_the_files_stay(notes: Path, folder: Path) -> None:
    follow(folder)
    page = shown()
    page.multiselect(key="chosen").set_value(["a.md", "b.md"])
    click(again(page), "Delete the chosen (2)")
    assert any("files stay" in each.value for each in page.markdown)
    click(page, "Cancel")
    assert "Delete 2 documents" not in [each.label for each in page.button]
    click(page, "Delete the chosen (2)")
    click(page, "Delete 2 documents")
    assert ended("notes") == "done"
    assert "2 deleted" in said(again(page))
    assert not {"a.md", "b.md"} & set(ids(page))
    assert (folder / "a.md").exists()


def test_a_deletion_that_is_stopped_has_deleted_nothing(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from semsearch_ui.shared.work import jobs

    delete = Index.delete

    def stopped(index: Index, ids: Any, progress: Any, **options: Any) -> int:
        job = jobs.last("notes")
        assert job
        job.stop.set()
        return delete(index, ids, progress, **options)

    monkeypatch.setattr(Index, "delete", stopped)
    page = click(shown(glob="cars/*"), "Delete all that match the filters (2)")
    click(page, "Delete 2 documents")
    assert ended("notes") == "stopped"
    assert "Nothing was deleted" in said(again(page))
    assert len(ids(shown())) == 3


def test_work_that_cannot_be_stopped_says_why(notes: Path) -> None:
    from semsearch_ui.shared.work import jobs

    go = threading.Event()
    jobs.start("notes", "Compact", lambda _: jobs.Outcome(str(go.wait(60))), stoppable=False, about="one rewrite.")
    page = shown()
    told = page.get("progress")[0].proto.text.replace("\\", "")
    go.set()
    assert "cannot be stopped: one rewrite." in told
    assert "Stop" not in [each.label for each in page.button]


def test_the_chosen_documents_are_tagged_and_open_in_the_reader(notes: Path) -> None:
    page = shown(chosen="cars/diesel.txt", n="notes")
    [link] = [each for each in page.get("page_link") if each.proto.label == "Open in the reader"]
    assert "open=notes%2F1" in link.proto.query_string
    page.text_input(key="library.value").set_value("to read")
    click(again(page), "Set tag to to read")
    assert ended("notes") == "done"
    with Index.open("notes", encoder="hashing") as index:
        assert index.matching(where="tag = 'to read'") == ["cars/diesel.txt"]


def test_all_that_a_filter_shows_can_be_deleted(notes: Path) -> None:
    page = click(shown(glob="cars/*"), "Delete all that match the filters (2)")
    click(page, "Delete 2 documents")
    assert ended("notes") == "done"
    assert ids(shown()) == ["brot.txt"]


def test_a_chosen_document_shows_its_passages_and_how_they_were_cut(notes: Path) -> None:
    page = shown(chosen="cars/diesel.txt")
    assert any("split at sentences, at most 192 tokens" in each.value.replace("\\", "") for each in page.caption)
    [row] = rows(page, "start")
    assert (row["start"], row["end"], row["text"]) == (0, 46, DOCUMENTS[0].text)
    assert row["tokens"] > 5


def test_what_a_passage_repeats_of_the_one_before_is_told(home: Path) -> None:
    text = " ".join(f"Sentence <b>number</b> {number} is here." for number in range(40))
    with Index.create("notes", encoder="hashing", splitter=Splitter("sentences", 30, 10)) as index:
        index.add([Document("long", text), Document("blank", "")])
    page = shown(chosen="long")
    assert any("begin with the end of the one before" in each.value for each in page.caption)
    first, second, *_ = rows(page, "start")
    assert (first["repeated"], second["repeated"]) == (0, first["end"] - second["start"])
    page.multiselect(key="chosen").set_value(["blank"])
    assert "nothing in it can be found" in said(again(page))


def test_ticked_rows_are_the_chosen_documents_and_a_row_that_is_gone_is_none() -> None:
    page = AppTest.from_string(
        "from semsearch_ui.library import documents\ndocuments.choose(['a', 'b'], [1, 5])", default_timeout=120
    )
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
    texts = [*page.markdown, *page.caption, *page.header, *page.error, *page.warning, *page.success]
    assert any("onerror" in each.value for each in texts)
    for each in texts:
        assert "<img" not in each.value.replace("\\<", "")
        assert "](javascript" not in each.value
        assert "**bold**" not in each.value
    for each in (*page.markdown, *page.caption):
        assert not each.allow_html


@pytest.mark.parametrize("removed", [False, True])
def test_an_index_that_is_not_there_is_never_replaced_by_another(notes: Path, removed: bool) -> None:
    if removed:
        with Index.create("old", encoder="hashing") as index:
            index.add(DOCUMENTS)
        page = shown(n="old")
        assert ids(page)
        admin.remove("old")
        again(page)
    else:
        page = shown(n="old")
    assert "There is no index old any more." in said(page)
    assert page.selectbox(key="n").value is None and not page.dataframe and not page.button
    page.selectbox(key="n").select("notes")
    assert ids(again(page)) and "any more" not in said(page)


def test_without_a_choice_the_first_index_with_documents_is_shown(notes: Path) -> None:
    Index.create("empty", encoder="hashing").close()
    assert shown().selectbox(key="n").value == "notes"
    assert shown(n="empty").selectbox(key="n").value == "empty"


def test_an_index_that_is_removed_behind_the_page_is_a_sentence(notes: Path) -> None:
    page = shown()
    admin.remove("notes")
    assert not ids(again(page)) and page.text_input(key="add.path").value == ""
    with Index.create("notes", encoder="hashing") as index:
        index.add([Document("new.txt", "A text.")])
    assert ids(again(page)) == ["new.txt"]


def test_a_folder_that_is_removed_during_a_click_is_a_sentence(notes: Path, folder: Path) -> None:
    follow(folder)
    page = shown()
    page.button(key="update").click()
    admin.remove("notes")
    again(page)
    assert ended("notes") == "failed"
    assert "There is no index 'notes' any more" in said(again(page))


def test_sizes_are_shown_in_one_form_and_sorted_as_numbers(notes: Path) -> None:
    page = shown()
    assert rows(page, "id")[0]["size"] > 0
    shown_as = page.dataframe[0].proto.arrow_data.styler.display_values if page.dataframe else b""
    assert b" B" in shown_as
