"""A folder that was renamed keeps its documents; one that cannot be read costs what is in it, and nothing else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from semsearch import Index, SyncOptions
from semsearch.types import SyncReport

TEXTS = {
    "kettles.md": "# Kettles\n\nA kettle boils water.",
    "sub/bread.txt": "Bread needs salt and time.",
    "sub/engines.txt": "Diesel engines ignite by compression.",
    "records.jsonl": '{"id": "r1", "text": "Green tea from Uji."}\n{"id": "r2", "text": "Black tea from Assam."}\n',
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        file = tmp_path / "notes" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (1_700_000_000, 1_700_000_000))  # of a file that was just written, the content is compared
    return tmp_path / "notes"


@pytest.fixture
def index(tmp_path: Path, notes: Path) -> Iterator[Index]:
    with Index.create("made", encoder="hashing", home=tmp_path / "home") as made:
        assert made.sync(notes).added == 5
        yield made


def counts(report: SyncReport) -> dict[str, int]:
    found = {name: getattr(report, name) for name in ("added", "changed", "unchanged", "moved", "deleted")}
    return {name: count for name, count in found.items() if count}


def ids(index: Index) -> list[str]:
    return sorted(row["id"] for row in index.documents())


def test_a_renamed_folder_keeps_ids_vectors_and_nothing_of_the_old_place(index: Index, notes: Path) -> None:
    before = ids(index)
    shutil.copytree(notes, notes.with_name("elsewhere"), copy_function=shutil.copy)  # other times
    shutil.rmtree(notes)
    report = index.sync(notes.with_name("elsewhere"))
    assert counts(report) == {"moved": 5} and report.embedded == 0 and not report.warnings
    assert ids(index) == before
    hit = index.search("kettle", k=1)[0]
    assert hit.path == "kettles.md" and index.info()["recipe"]["roots"][0]["path"].endswith("elsewhere")
    assert counts(index.sync()) == {"unchanged": 5}


def test_what_changed_since_the_move_is_changed_and_what_is_gone_is_deleted(index: Index, notes: Path) -> None:
    there = notes.rename(notes.with_name("renamed"))
    (there / "kettles.md").write_text("# Kettles\n\nA kettle whistles.")
    (there / "sub" / "bread.txt").unlink()
    (there / "new.txt").write_text("A new text.")
    assert counts(index.sync(there, SyncOptions(dry_run=True))) == {"added": 1, "changed": 1, "moved": 3, "deleted": 1}
    assert counts(index.sync(there)) == {"added": 1, "changed": 1, "moved": 3, "deleted": 1}
    assert index.search("whistles", mode="keyword")[0].document == "kettles.md"
    assert index.analysis.verify() == []


def test_another_folder_is_added_beside_one_that_is_away(index: Index, notes: Path, tmp_path: Path) -> None:
    notes.rename(tmp_path / "hidden")
    other = tmp_path / "other"
    other.mkdir()
    (other / "kettles.md").write_text("Quite another text about kettles.")
    report = index.sync(other)
    assert counts(report) == {"added": 1} and len(ids(index)) == 6
    report = index.sync()
    (warning,) = report.warnings
    assert counts(report) == {"unchanged": 1}
    assert str(notes) in warning and "semsearch index NEW_PLACE -n made" in warning


def test_content_is_compared_where_size_and_time_lie(index: Index, notes: Path) -> None:
    file = notes / "sub" / "bread.txt"
    status = file.stat()
    file.write_text("Bread needs milk and time.")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert counts(index.sync()) == {"unchanged": 5}
    report = index.sync(options=SyncOptions(checksums=True))
    assert counts(report) == {"changed": 1, "unchanged": 4}
    assert index.search("milk", mode="keyword")[0].document == "sub/bread.txt"
    assert counts(index.sync(options=SyncOptions(checksums=True))) == {"unchanged": 5}


def forbid(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let a folder be listed and entered by nobody: as root, the system would not refuse."""

    def refuse(real: Callable[..., Any]) -> Callable[..., Any]:
        def called(path: Any, *args: Any, **options: Any) -> Any:
            if Path(os.fsdecode(path)).is_relative_to(folder):
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *args, **options)

        return called

    monkeypatch.setattr(os, "scandir", refuse(os.scandir))


def test_a_folder_without_permission_is_listed_and_its_documents_stay(
    index: Index, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "kettles.md").write_text("# Kettles\n\nA kettle whistles.")
    with monkeypatch.context() as patched:
        forbid(patched, notes / "sub")
        report = index.sync()
    assert counts(report) == {"changed": 1, "unchanged": 2}
    assert [(skipped.path, skipped.reason) for skipped in report.skipped] == [
        ("sub", "cannot be read: Permission denied")
    ]
    assert "sub/bread.txt" in ids(index)


def test_a_folder_that_may_not_be_entered_at_all_is_listed_and_the_others_are_read(
    index: Index, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    with monkeypatch.context() as patched:
        forbid(patched, locked)
        report = index.sync([locked, notes])
    assert counts(report) == {"unchanged": 5}
    assert [skipped.path for skipped in report.skipped] == [str(locked)]
