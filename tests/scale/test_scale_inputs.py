"""What of an index's files is embedded on a cluster: what the update of the index would embed itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from semsearch import Index, SyncOptions
from semsearch.indexing import sources
from semsearch.scale import input_files
from semsearch.stores import drivers


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("kettle", "boiler", "piano"):
        (folder / f"{name}.txt").write_text(f"The {name} is in the kitchen.")
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync(folder)
    return folder


def embedded(notes: Path, paths: Sequence[Path] = (), **options: bool) -> list[str]:
    """The names of the files that a job would embed."""
    index = notes.parent / "index"
    with drivers.find(index).open_reader(index) as reader:
        update = sources.update(paths or [notes], SyncOptions(**options), reader.state().recipe)  # type: ignore[arg-type]
        return sorted(file.uri for file in input_files.of_index(update, reader).files)


def test_new_and_changed_files_are_embedded(notes: Path) -> None:
    assert embedded(notes) == []
    (notes / "kettle.txt").write_text("The kettle is now elsewhere.")
    (notes / "violin.txt").write_text("The violin is new.")
    assert embedded(notes) == ["kettle.txt", "violin.txt"]
    assert embedded(notes, force=True) == ["boiler.txt", "kettle.txt", "piano.txt", "violin.txt"]


def test_a_file_that_has_moved_keeps_its_vectors(notes: Path) -> None:
    (notes / "piano.txt").rename(notes / "grand.txt")
    (notes / "copy.txt").write_text((notes / "kettle.txt").read_text())
    assert embedded(notes) == ["copy.txt"]
    assert embedded(notes, prune=False) == ["copy.txt", "grand.txt"]


def test_two_copies_of_a_file_that_is_gone_are_one_that_has_moved_and_a_new_one(notes: Path) -> None:
    text = (notes / "piano.txt").read_text()
    (notes / "piano.txt").unlink()
    for name in ("a.txt", "b.txt"):
        (notes / name).write_text(text)
    assert embedded(notes) == ["b.txt"]


def test_a_file_that_is_gone_from_elsewhere_has_not_moved_into_a_part(notes: Path) -> None:
    (notes / "part").mkdir()
    (notes / "piano.txt").rename(notes / "part" / "piano.txt")
    assert embedded(notes, [notes / "part"]) == ["part/piano.txt"]
