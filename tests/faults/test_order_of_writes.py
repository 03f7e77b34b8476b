"""What another process would find after every single commit, which is what a kill at that moment leaves.

And what is on disk before a file gets its name, which is what a power cut leaves.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.opened import verify
from helpers.reading import version
from helpers.stores import entry, made

from semsearch import Index
from semsearch.indexing.ingest import BATCH, FIRST
from semsearch.stores.local import create, dump, open_reader, restore
from semsearch.stores.local.database.commit_record import CommitRecord
from semsearch.stores.local.reader import LocalReader
from semsearch.stores.records import UNFINISHED

Look = Callable[[LocalReader, int], None]


@pytest.fixture
def at_every_commit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Look], list[int]]:
    """Calls a function with a new reader and the number of each commit from now on; the list of those numbers."""
    record = CommitRecord.acknowledge
    numbers: list[int] = []

    def begin(look: Look) -> list[int]:
        def looking(self: CommitRecord, number: int) -> None:
            with open_reader(folder) as reader:
                look(reader, number)
            numbers.append(number)
            record(self, number)

        monkeypatch.setattr(CommitRecord, "acknowledge", looking)
        return numbers

    return begin


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def test_texts_and_vectors_of_a_batch_are_one_commit(
    folder: Path, at_every_commit: Callable[[Look], list[int]]
) -> None:
    store, space = made(folder, 3)

    def look(reader: LocalReader, _: int) -> None:
        assert verify(reader) == []

    numbers = at_every_commit(look)
    for change in (
        lambda: store.replace([entry("new", "One. Two. 日本語の文"), entry("d1", "Another text")], space.id),
        lambda: store.revise("new", new_uri="newer"),
        lambda: store.revise("newer", metadata={"year": 2020}, title="Title"),
        lambda: store.delete(["newer", "d0"]),
        lambda: store.update_vector_index(space.id, "flat", when="always"),
    ):
        before = len(numbers)
        change()
        assert len(numbers) == before + 1
    store.close()


def test_a_commit_goes_on_record_once_it_is_on_disk(folder: Path, at_every_commit: Callable[[Look], list[int]]) -> None:
    store, space = made(folder, 1)
    seen: list[int] = []
    numbers = at_every_commit(lambda reader, _: seen.append(version(reader)))
    store.replace([entry("a", "x"), entry("b", "y")], space.id)
    store.delete(["a"])
    assert seen == numbers and len(numbers) == 2
    store.close()


def test_a_file_counts_as_read_with_its_last_document(
    folder: Path, at_every_commit: Callable[[Look], list[int]], tmp_path: Path
) -> None:
    file, count = tmp_path / "many.jsonl", 2 * BATCH + 10
    file.write_text("".join(f'{{"text": "Engine {n} turns."}}\n' for n in range(count)))
    found: list[tuple[int, bool]] = []

    def look(reader: LocalReader, _: int) -> None:
        for source in reader.sources():
            found.append((reader.state().documents, source.size == UNFINISHED))

    with Index.create(folder, encoder="hashing") as index:
        at_every_commit(look)
        index.sync([file])
    assert {documents for documents, _ in found} >= {FIRST, FIRST + BATCH, count}
    assert all(unfinished for documents, unfinished in found if documents < count)
    assert not found[-1][1]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is synced and renamed from now on, in order."""
    found: list[str] = []
    fsync, rename, replace = os.fsync, Path.rename, Path.replace

    def synced(handle: int) -> None:
        found.append(f"sync {Path(f'/proc/self/fd/{handle}').resolve().name}")
        fsync(handle)

    def named(move: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Path]:
        return lambda self, target: (found.append(f"name {target.name}"), move(self, target))[1]

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", named(rename))
    monkeypatch.setattr(Path, "replace", named(replace))
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the name of what is synced is read in /proc")
def test_what_gets_a_name_is_on_disk_and_so_is_its_name(folder: Path, tmp_path: Path, steps: list[str]) -> None:
    create(folder).close()
    assert steps == ["sync store.new", "name store.db", "sync notes", f"sync {tmp_path.name}"]
    steps.clear()
    with open_reader(folder) as reader:
        dump(reader, tmp_path / "notes.dump")
    assert steps[-3:] == ["sync dump.zip", "name notes.dump", f"sync {tmp_path.name}"]
    steps.clear()
    restore(tmp_path / "notes.dump", tmp_path / "again")
    assert steps[-4:] == ["sync store.db", "sync again", "name again", f"sync {tmp_path.name}"]
