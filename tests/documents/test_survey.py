"""The survey of a folder: what it counts is what an index of the folder has afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from semsearch import Index, NotFound, Progress, admin
from semsearch.errors import GuardRail


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Nine texts of one length, of which a part is read, two tables, and what cannot be read."""
    place = tmp_path / "files"
    place.mkdir()
    for number in range(9):
        (place / f"{number}.md").write_text(f"# Title {number}\n\nA text about number {number}.\n", encoding="utf-8")
    for name in "ab":
        (place / f"{name}.csv").write_text(f"id,text\n{name}1,One text.\n{name}2,Another text.\n", encoding="utf-8")
    (place / "picture.png").write_bytes(b"\x89PNG")
    return place


def test_the_survey_foretells_what_the_index_has(folder: Path, tmp_path: Path) -> None:
    found = admin.survey(folder, encoder="hashing", seconds=60)
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        report = index.sync(folder)
    assert (found.passages, found.skipped) == (report.passages, len(report.skipped)) == (13, 1)
    assert {each.suffix: each.files for each in found.types} == {".md": 9, ".csv": 2}
    assert (found.files, found.bytes) == (11, sum(file.stat().st_size for file in folder.glob("*.[mc][ds]*")))
    assert found.complete and found.seconds is not None and found.seconds > 0


def test_a_type_is_told_by_the_suffix_that_a_loader_knows(tmp_path: Path) -> None:
    for name in ("page.html.en.utf8", "page.html.fr.utf8", "notes.v2.md", "log.2024"):
        (tmp_path / name).write_text("<p>A text.</p>", encoding="utf-8")
    found = admin.survey(tmp_path, encoder="hashing", seconds=60)
    assert {each.suffix: each.files for each in found.types} == {".html": 2, ".md": 1, ".2024": 1}


def test_a_survey_ends_when_its_time_is_up(folder: Path) -> None:
    for number in range(600):
        (folder / f"more{number}.md").write_text("A text.", encoding="utf-8")
    found = admin.survey(folder, encoder="hashing", seconds=0)
    assert not found.complete and 0 < found.files < 611
    assert found.passages > 0  # of the type with the most bytes, which stands for the others


def test_a_survey_of_nothing_says_so_and_a_whole_disk_is_refused(tmp_path: Path) -> None:
    found = admin.survey(tmp_path, encoder="hashing")
    assert (found.files, found.passages, found.seconds) == (0, 0, None)
    with pytest.raises(NotFound):
        admin.survey(tmp_path / "gone", encoder="hashing")
    with pytest.raises(GuardRail):
        admin.survey("/", encoder="hashing")


def test_a_run_tells_how_many_files_of_all_it_has_read(folder: Path, tmp_path: Path) -> None:
    steps: list[Progress] = []
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        index.sync(folder, None, steps.append)
    read = [step.files_done for step in steps if step.unit == "bytes"]
    assert read == sorted(read) and {read[0], read[-1]} == {0, 11}
    assert {step.files_total for step in steps if step.unit == "bytes"} == {11}
