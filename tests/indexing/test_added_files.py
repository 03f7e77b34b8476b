"""Files added by name and content, and other calls of the pages: passages, states, progress, removal."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from semsearch import Document, Encoder, Fields, Index, Progress, Splitter, SyncOptions, admin
from semsearch.errors import Locked, NotFound


@pytest.fixture
def notes(tmp_path: Path) -> Index:
    return Index.create(tmp_path / "notes", encoder="hashing")


def named(**files: str) -> list[tuple[str, io.BytesIO]]:
    return [(name.replace("_", "."), io.BytesIO(content.encode())) for name, content in files.items()]


def test_added_files_get_the_ids_and_titles_that_they_would_get_in_a_folder(notes: Index) -> None:
    rows = '{"id": "r1", "text": "one"}\n{"text": "two"}\n'
    report = notes.add_files(named(a_md="# Head\n\nA text.", rows_jsonl=rows))
    assert report.added == 3
    assert [each["id"] for each in notes.documents()] == ["a.md", "r1", "rows.jsonl#2"]
    assert notes.get("a.md")["title"] == "Head"
    assert notes.add_files(named(a_md="# Head\n\nAnother text.")).changed == 1


def test_an_unreadable_file_is_reported_and_the_others_are_added(notes: Index) -> None:
    files = [("x.bin", b"\0\1\2"), ("C:\\up\\..\\y.txt", b"A text."), ("", b"A text without a name.")]
    report = notes.add_files((name, io.BytesIO(content)) for name, content in files)
    assert {"x.bin"} <= {each.path for each in report.skipped}
    assert [each["id"] for each in notes.documents()] == ["y.txt"]


def test_an_added_file_does_not_replace_a_document_of_a_followed_folder(notes: Index, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("From the folder.", encoding="utf-8")
    notes.sync(tmp_path / "docs")
    [skipped] = notes.add_files(named(a_md="Given.")).skipped
    assert "followed folder" in skipped.reason
    assert notes.get("a.md")["text"] == "From the folder."


def test_added_files_are_read_with_the_chosen_loader_and_fields(notes: Index) -> None:
    files = [("rows.csv", io.BytesIO(b"name,words\nr1,one two\n")), ("b.csv", io.BytesIO(b"other\nx\n"))]
    report = notes.add_files(files, options=SyncOptions(kind="csv", fields=Fields(text="words", id="name")))
    assert (notes.get("r1")["text"], report.added) == ("one two", 1)
    assert [each.path for each in report.skipped] == ["b.csv"]
    assert notes.add_files(named(x_csv="a,b\n1,2\n"), options=SyncOptions(kind="files")).added == 1
    assert notes.get("x.csv")["text"].startswith("a,b")


def test_a_dry_run_of_added_files_reports_and_changes_nothing(notes: Index) -> None:
    notes.add([Document("a.md", "One.")])
    runs = len(notes.analysis.skipped())
    report = notes.add_files([*named(a_md="Two.", b_md="Two."), ("c.bin", io.BytesIO(bytes(range(256))))],
                             options=SyncOptions(dry_run=True))  # fmt: skip
    assert (report.changed, report.added, [each.path for each in report.skipped]) == (1, 1, ["c.bin"])
    assert (notes.get("a.md")["text"], len(notes), len(notes.analysis.skipped())) == ("One.", 1, runs)


def test_standard_input_does_not_replace_a_document_of_a_followed_folder(notes: Index, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("From the folder.", encoding="utf-8")
    notes.sync(tmp_path / "docs")
    rows = b'{"id": "a.md", "text": "Piped."}\n{"id": "b", "text": "Piped."}\n'
    report = notes.add_files(io.BytesIO(rows), options=SyncOptions(kind="jsonl"))
    assert (report.added, [each.path for each in report.skipped]) == (1, ["a.md"])
    assert notes.get("a.md")["text"] == "From the folder."


def test_adding_files_reports_progress(notes: Index) -> None:
    steps: list[Progress] = []
    notes.add_files(named(a_md="One.", b_md="Two."), steps.append)
    assert [(step.done, step.total) for step in steps] == [(0, 2), (1, 2), (2, 2)]


def test_the_passages_of_a_document_are_slices_of_it(notes: Index) -> None:
    text = " ".join(f"Sentence number {number} says something." for number in range(100))
    notes.add([Document("long", text), Document("empty", "")])
    found = notes.passages("long")
    assert len(found) > 1
    assert all(text[each["start"] : each["end"]] == each["text"] for each in found)
    assert [each["start"] for each in found] == sorted(each["start"] for each in found)
    assert notes.passages("empty") == []
    with pytest.raises(NotFound):
        notes.passages("gone")


def test_deleting_reports_progress_and_deletes_nothing_where_it_is_interrupted(notes: Index) -> None:
    notes.add(Document(f"n{number:04}", f"Text {number}.") for number in range(1200))
    steps: list[Progress] = []

    def stop(step: Progress) -> None:
        steps.append(step)
        if step.done:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        notes.delete([each["id"] for each in notes.documents()], stop)
    assert [(step.done, step.total, step.unit) for step in steps] == [(0, 1200, "documents"), (500, 1200, "documents")]
    assert len(notes) == 1200
    assert notes.search("text 7", k=1)
    assert notes.delete(["n0000", "n0000", "gone"]) == 1


def test_skipped_files_are_listed_until_the_next_complete_run(notes: Index, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.pdf").write_bytes(b"%PDF broken")
    assert notes.analysis.skipped() == []
    notes.sync(tmp_path / "docs")
    notes.add_files([("b.bin", io.BytesIO(bytes(range(256))))])
    notes.add([Document("fine", "A text.")])
    assert {each.path: each.reason[:11] for each in notes.analysis.skipped()} == {
        "a.pdf": "not a reada",
        "b.bin": "binary file",
    }
    notes.sync()
    assert [each.path for each in notes.analysis.skipped()] == ["a.pdf"]


def test_verifying_reports_progress(notes: Index) -> None:
    notes.add([Document("a", "A text.")])
    steps: list[Progress] = []
    assert notes.analysis.verify(steps.append) == []
    assert [step.done for step in steps] == list(range(steps[0].total))
    assert {"documents", "vectors"} <= {step.item for step in steps}


def test_documents_match_by_words_of_their_id_or_title_by_path_and_by_filter(notes: Index) -> None:
    notes.add([
        Document("cars/diesel", "x", {"year": 1990}, title="The DIESEL engine"),
        Document("cars/petrol", "x", {"year": 2000}, title="The petrol engine"),
        Document("cars/empty", "", {"year": 2000}, title="Nothing of an engine"),
    ])  # fmt: skip
    assert notes.matching(words=["engine", "Diesel"]) == ["cars/diesel"]
    assert notes.matching(words=["CARS"], where="year = 2000") == ["cars/empty", "cars/petrol"]
    assert notes.matching(path="cars/p*") == ["cars/petrol"]
    assert notes.matching() == ["cars/diesel", "cars/empty", "cars/petrol"]
    assert [each["id"] for each in notes.documents(ids=["gone", "cars/petrol"])] == ["cars/petrol"]


def test_the_state_of_a_document_is_that_of_its_file(notes: Index, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    rows = '{"id": "r1", "text": "one"}\n{"id": "r2", "text": "two"}\n'
    for name, text in {"a.md": "A.", "b.md": "B.", "rows.jsonl": rows}.items():
        (folder / name).write_text(text, encoding="utf-8")
        os.utime(folder / name, (1_000_000_000, 1_000_000_000))
    notes.sync(folder)
    notes.add([Document("own", "A text.")])
    assert notes.analysis.states() == {
        "a.md": "current",
        "b.md": "current",
        "r1": "current",
        "r2": "current",
        "own": "kept",
    }
    (folder / "a.md").write_text("Another A.", encoding="utf-8")
    (folder / "b.md").unlink()
    assert notes.analysis.states(["a.md", "b.md", "nowhere"]) == {"a.md": "changed", "b.md": "gone"}
    notes.delete(["r1"])
    assert notes.analysis.states(["r2"]) == {"r2": "unfinished"}, "the next update brings r1 back"
    folder.rename(tmp_path / "unplugged")
    assert notes.analysis.states(["a.md"]) == {"a.md": "unseen"}


@pytest.mark.skipif(os.name == "nt", reason="no file may be called so there")
def test_a_file_is_gone_whatever_its_folder_is_called(notes: Index, tmp_path: Path) -> None:
    folder = tmp_path / "back\\xslash"
    folder.mkdir()
    (folder / "a.md").write_text("A.", encoding="utf-8")
    notes.sync(folder)
    (folder / "a.md").unlink()
    assert notes.analysis.states() == {"a.md": "gone"}


def test_an_index_of_added_documents_alone_can_be_split_anew(notes: Index) -> None:
    text = " ".join(f"Sentence number {number} says something." for number in range(100))
    notes.add([Document("long", text)])
    steps: list[Progress] = []
    report = notes.sync((), SyncOptions(splitter=Splitter(size=20)), steps.append)
    assert report.passages == len(notes.passages("long")) > 20
    assert "long" in [step.item for step in steps]


def test_removing_an_index_leaves_the_files_of_others(notes: Index, tmp_path: Path) -> None:
    (notes.path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(Locked):
        admin.remove(notes.path)
    notes.close()
    assert admin.remove(notes.path) == ["mine.txt"]
    assert [file.name for file in notes.path.iterdir()] == ["mine.txt"]
    with pytest.raises(NotFound):
        admin.remove(notes.path)


def test_the_catalogue_tells_which_encoders_are_local(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    known = {each["name"]: each for each in Encoder.catalogue()}
    assert known["default"]["local"]
    assert known["default"]["bytes"] > 10**6
    away = known["all-mpnet-base-v2"]
    assert (away["local"], away["bytes"]) == (False, None)
    assert away["licence"]
