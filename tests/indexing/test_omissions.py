"""What is left out of files is counted, and a file of which no text remains is reported, in every run."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from helpers.filemaking import W, relations, zipped

from semsearch import Document, Index, SyncReport
from semsearch.documents import loaders
from semsearch.encoders.hashing import HashingEncoder
from semsearch.indexing.sources import SyncOptions
from semsearch.types import Skipped

PAGE = """<html><body><script>{script}</script><nav><a href="/">Home</a> <a href="/docs">Docs</a></nav>
<p>The pump in the cellar is switched off from October to March.</p></body></html>"""
SCRIPT_ONLY = "<html><body><script>render(document.body)</script></body></html>"
NO_TEXT = Skipped("app.html", "no text found in it, only script (21 letters)")


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index.create(tmp_path / "index", encoder=HashingEncoder())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (folder := tmp_path / "files").mkdir()
    return folder


def update(index: Index, folder: Path) -> SyncReport:
    return index.sync(folder)


def of_yesterday(folder: Path) -> None:
    """A file that was written just now is read again by the next run, in case it changes within the clock's tick."""
    for file in folder.iterdir():
        os.utime(file, (file.stat().st_mtime - 86400,) * 2)


def test_every_run_reports_what_was_left_out_also_of_files_that_it_does_not_read(index: Index, folder: Path) -> None:
    (folder / "a.html").write_text(PAGE.format(script="one()"))
    (folder / "b.html").write_text(PAGE.format(script="eleven()()"))
    first, second = update(index, folder), update(index, folder)
    assert (first.added, second.unchanged) == (2, 2)
    assert first.left_out == second.left_out == {"script": 5 + 10, "navigation": 2 * 8}
    assert first.left_out_files == second.left_out_files == 2
    assert index.analysis.left_out() == {
        "a.html": {"script": 5, "navigation": 8},
        "b.html": {"script": 10, "navigation": 8},
    }
    assert index.analysis.left_out("b.html") == {"b.html": {"script": 10, "navigation": 8}}
    assert index.analysis.left_out("c.html") == {}
    assert index.info()["last_run"]["left_out"] == {"script": 15, "navigation": 16}


def test_what_was_left_out_follows_the_file(index: Index, folder: Path) -> None:
    (folder / "a.html").write_text(PAGE.format(script="one()"))
    update(index, folder)
    (folder / "a.html").rename(folder / "b.html")
    assert update(index, folder).moved == 1
    assert index.analysis.left_out() == {"b.html": {"script": 5, "navigation": 8}}
    (folder / "b.html").write_text("<p>The pump runs.</p>")
    assert (update(index, folder).left_out, index.analysis.left_out()) == ({}, {})


def test_every_record_of_a_file_that_is_skipped_is_listed(index: Index, folder: Path) -> None:
    records = [{"id": "a", "text": None}, {"id": "b", "text": " "}, {"id": "c", "text": "The pump runs."}]
    (folder / "pumps.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in records))
    report = update(index, folder)
    assert [each.reason for each in report.skipped] == [f"no text found in record {name!r}" for name in "ab"]
    assert tuple(index.analysis.skipped()) == report.skipped
    update(index, folder)
    assert tuple(index.analysis.skipped()) == report.skipped


@pytest.mark.parametrize("content", ["", " \n", "\u200b\u00ad\ufeff", "<html></html>"])
def test_a_file_without_text_is_skipped_in_every_run_and_read_in_the_first(
    index: Index, folder: Path, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.html").write_text(content, encoding="utf-8")
    (folder / "app.html").write_text(SCRIPT_ONLY)
    of_yesterday(folder)
    first = update(index, folder)
    assert (first.added, index.info()["documents"]) == (0, 0)
    assert first.skipped == (Skipped("a.html", "no text found in it"), NO_TEXT)
    with monkeypatch.context() as patched:
        patched.setattr(loaders, "read_from", None)
        assert update(index, folder).skipped == first.skipped
    assert index.analysis.left_out() == {}  # skipped: the reason says it
    assert tuple(index.analysis.skipped()) == first.skipped


def test_a_file_that_loses_its_text_loses_its_document(index: Index, folder: Path) -> None:
    (folder / "app.html").write_text(PAGE.format(script="one()"))
    update(index, folder)
    (folder / "app.html").write_text(SCRIPT_ONLY)
    report = update(index, folder)
    assert (report.deleted, report.skipped) == (1, (NO_TEXT,))
    (folder / "app.html").rename(folder / "moved.html")
    report = update(index, folder)
    assert (report.moved, [each.path for each in report.skipped]) == (0, ["moved.html"])
    (folder / "moved.html").write_text(PAGE.format(script="one()"))
    assert update(index, folder).added == 1


def test_records_without_text_are_skipped_by_name_in_every_run(index: Index, folder: Path) -> None:
    rows = [{"id": "full", "text": "The pump runs."}, {"id": "null", "text": None}, {"text": ""}, {"text": "  "}]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "none.jsonl").write_text("")
    (folder / "rows.csv").write_text("id,text\nempty,\nother,The pump stops.\n")
    expected = [
        ("none.jsonl", "no text found in it"),
        ("rows.csv", "no text found in record 'empty'"),
        ("rows.jsonl", "no text found in record 'null'"),
        ("rows.jsonl#3", "no text found in it"),
        ("rows.jsonl#4", "no text found in it"),
    ]
    for report in (update(index, folder), update(index, folder)):
        assert sorted((each.path, each.reason) for each in report.skipped) == expected
    assert [each["id"] for each in index.documents()] == ["full", "other"]


def test_uploads_and_standard_input_without_text_are_skipped(index: Index) -> None:
    report = index.add_files([("app.html", io.BytesIO(SCRIPT_ONLY.encode())), ("a.txt", io.BytesIO(b"\n"))])
    assert report.skipped == (NO_TEXT, Skipped("a.txt", "no text found in it"))
    assert (report.added, report.left_out) == (0, {"script": 21})
    report = index.add_files(io.BytesIO(b'{"id": "a", "text": ""}\n{"id": "b", "text": "The pump runs."}\n'))
    assert (report.added, report.skipped) == (1, (Skipped("-", "no text found in record 'a'"),))


def test_an_upload_with_documents_in_it_is_not_skipped_for_its_own_lack_of_text(index: Index, folder: Path) -> None:
    members = {
        "word/document.xml": f"<w:document {W}><w:body/></w:document>",
        "word/_rels/document.xml.rels": relations(("aFChunk", "chunk.html"), ("oleObject", "x.bin")),
        "word/chunk.html": "<p>The pump runs.</p>",
        "word/x.bin": "",
    }
    zipped(folder / "a.docx", members)
    report = index.add_files([("a.docx", io.BytesIO((folder / "a.docx").read_bytes()))])
    assert (report.added, report.skipped, report.left_out) == (1, (), {"embedded object": 0})
    assert index.analysis.left_out() == {"a.docx#chunk.html": {"embedded object": 0}}


def test_a_program_may_store_a_document_without_text(index: Index) -> None:
    assert index.add([Document("kept", "", {"year": 1999})]).added == 1


def test_a_dry_run_says_what_would_be_left_out(index: Index, folder: Path) -> None:
    (folder / "a.html").write_text(PAGE.format(script="one()"))
    (folder / "app.html").write_text(SCRIPT_ONLY)
    report = index.sync(folder, SyncOptions(dry_run=True))
    assert (report.added, report.skipped, report.left_out["navigation"]) == (1, (NO_TEXT,), 8)
    assert index.analysis.left_out() == {}


def added(index: Index, name: str, content: str) -> SyncReport:
    return index.add_files([(name, io.BytesIO(content.encode()))])


def test_what_was_left_out_of_an_added_file_is_told_as_long_as_it_is_there(index: Index, folder: Path) -> None:
    added(index, "a.html", PAGE.format(script="one()"))
    added(index, "b.html", PAGE.format(script="two()"))
    (folder / "c.html").write_text(PAGE.format(script="three()"))
    update(index, folder)  # which prunes what is gone from folders
    of_page = {"script": 5, "navigation": 8}
    assert index.analysis.left_out() == {"a.html": of_page, "b.html": of_page, "c.html": {**of_page, "script": 7}}
    added(index, "a.html", "<p>The pump runs.</p>")
    index.delete(["b.html"])
    assert index.analysis.left_out() == {"c.html": {**of_page, "script": 7}}
    assert [each["id"] for each in index.documents()] == ["a.html", "c.html"]
    assert index.analysis.verify() == []


def test_what_was_left_out_of_standard_input_is_told(index: Index) -> None:
    index.add_files(io.BytesIO(PAGE.format(script="one()").encode()), options=SyncOptions(kind="html"))
    (document,) = index.documents()
    assert index.analysis.left_out() == {document["id"]: {"script": 5, "navigation": 8}}
