"""Updates of many records and files: looked up together, with the same outcome as one by one, in bounded memory."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import pytest

from semsearch import Index, SyncOptions
from semsearch.indexing import sync
from semsearch.indexing.visited import BitSet
from semsearch.stores.local import LocalReader
from semsearch.stores.sql import database
from semsearch.types import Document, SyncReport


def write(file: Path, records: Sequence[tuple[str, str]]) -> None:
    """Records in a file whose time is long ago, and another one each time."""
    file.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in records), encoding="utf-8")
    write.time += 10  # type: ignore[attr-defined]
    os.utime(file, (write.time, write.time))  # type: ignore[attr-defined]


write.time = 1_600_000_000  # type: ignore[attr-defined]


def records(count: int) -> list[tuple[str, str]]:
    return [(f"r{n}", f"Record {n}.") for n in range(count)]


def texts(index: Index) -> dict[str, str]:
    return {str(one["id"]): index.get(str(one["id"]))["text"] for one in index.documents()}


def outcome(report: SyncReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.unchanged, report.deleted


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven records or files are looked up together, so that a small file has many such batches."""
    monkeypatch.setattr(sync, "MOST_COMPARED", 7)


@pytest.mark.usefixtures("few_at_once")
@pytest.mark.parametrize("batch", [1, 5, 256])
def test_a_changed_file_of_records_ends_as_if_indexed_anew(
    tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("semsearch.indexing.ingest.BATCH", batch)  # commits in the middle of what is looked up
    file = tmp_path / "records.jsonl"
    first = records(40)
    write(file, first)
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        assert outcome(index.sync([file])) == (40, 0, 0, 0)
        then = [*first[:3], ("r3", "Changed."), *first[5:30], ("new", "New."), ("r38", first[38][1]), *first[30:36]]
        write(file, [*then, ("r3", "Again."), ("r5", "Again."), ("new", "Again."), ("new", "And again.")])
        report = index.sync([file])
        assert outcome(report) == (1, 1, 35, 4)
        assert [one.reason for one in report.skipped] == [
            f"its id {name!r} was already used in records.jsonl" for name in ("r3", "r5", "new", "new")
        ]
        assert texts(index) == dict(then)
        assert index.analysis.verify() == []


@pytest.mark.usefixtures("few_at_once")
def test_a_record_that_cannot_be_read_is_left_out_of_its_place_and_the_rest_is_compared(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    write(file, records(30))
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync([file])
        lines = file.read_text(encoding="utf-8").splitlines()
        lines[11] = "{not JSON"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        report = index.sync([file])
        assert outcome(report) == (0, 0, 29, 1)
        assert [one.path for one in report.skipped] == ["records.jsonl:12"]
        assert texts(index) == {name: text for name, text in records(30) if name != "r11"}


@pytest.mark.usefixtures("few_at_once")
def test_without_pruning_the_records_that_a_file_has_no_more_stay(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    write(file, records(20))
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync([file])
        write(file, records(15))
        assert outcome(index.sync([file], SyncOptions(prune=False))) == (0, 0, 15, 0)
        assert texts(index) == dict(records(20))
        write(file, records(14))
        assert outcome(index.sync([file], SyncOptions(dry_run=True))) == (0, 0, 14, 6)
        assert outcome(index.sync([file])) == (0, 0, 14, 6)


@pytest.mark.usefixtures("few_at_once")
def test_two_files_never_own_one_id(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", records(20))
    write(tmp_path / "b.jsonl", [("x", "X."), ("r5", "Mine."), ("y", "Y.")])
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        report = index.sync([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
        assert (report.added, report.skipped) == (23, ())
        write(tmp_path / "b.jsonl", [("x", "X."), ("r5", "Mine."), ("y", "Why.")])
        report = index.sync()
        assert (outcome(report), report.skipped) == ((0, 1, 22, 0), ())
        assert index.get("r5")["text"] != index.get("b.jsonl#r5")["text"] == "Mine."


@pytest.mark.parametrize("kind", ["records", "files"])
def test_what_is_unchanged_is_looked_up_together(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 300
    monkeypatch.setattr(sync, "MOST_COMPARED", 100)
    place = MADE[kind](tmp_path, count)
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync([place])
        asked: list[str] = []
        monkeypatch.setattr(LocalReader, "document_rows", counted(asked, LocalReader.document_rows))
        monkeypatch.setattr(LocalReader, "sources", counted(asked, LocalReader.sources))
        MADE[kind](tmp_path, count, first="Changed")
        assert outcome(index.sync()) == (0, 1, count - 1, 0)
        assert len(asked) < 10


@pytest.mark.parametrize("what", ["new files", "touched files", "documents", "streams"])
def test_what_is_put_is_looked_up_together(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question to a server costs its way there and back, whatever it is about."""
    count, asked = 300, list[str]()
    folder = made_files(tmp_path, count)
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        if what == "touched files":
            index.sync([folder])
            for file in folder.iterdir():
                os.utime(file, (1_700_000_000, 1_700_000_000))
        for name in ("document_rows", "sources", "full_documents", "document_ids"):
            monkeypatch.setattr(LocalReader, name, counted(asked, getattr(LocalReader, name)))
        if what == "documents":
            report = index.add(Document(name, text) for name, text in records(count))
        elif what == "streams":
            report = index.add_files([(f"{name}.txt", BytesIO(text.encode())) for name, text in records(count)])
        else:
            report = index.sync([folder])
    assert (report.added, report.unchanged) == ((0, count) if what == "touched files" else (count, 0))
    assert len(asked) < 25


@pytest.mark.parametrize("most", [2, 3, 64])
def test_what_is_looked_up_before_a_change_of_the_run_is_not_taken_for_the_present(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files move to names that were looked up, and records have the names of files."""
    outcomes = []
    for together in (1, most):
        monkeypatch.setattr(sync, "LOOKED_UP", together)
        folder = tmp_path / f"{together}" / "notes"
        folder.mkdir(parents=True)
        for name in "bcefg":
            (folder / f"{name}.txt").write_text(f"This is {name}.")
        write(folder / "d.jsonl", [("x", "X."), ("h.txt", "A record."), ("y", "Y.")])
        with Index.create(folder.parent / "index", encoder="hashing") as index:
            reports = [index.sync([folder])]
            (folder / "b.txt").rename(folder / "a.txt")
            (folder / "b.txt").write_text("Another b.")
            (folder / "c.txt").unlink()
            (folder / "g.txt").rename(folder / "z.txt")
            (folder / "h.txt").write_text("A file.")
            write(folder / "d.jsonl", [("a.txt", "Not a."), ("c.txt", "A record c."), ("g.txt", "G."), ("x", "X.")])
            write(folder / "i.jsonl", [("z.txt", "Not z."), ("y", "Mine."), ("h.txt", "Again.")])
            reports += [index.sync(), index.sync()]
            assert index.analysis.verify() == []
            reasons = [[(one.path, one.reason) for one in report.skipped] for report in reports]
            skipped = [[(at, reason.replace(str(index.path), "")) for at, reason in some] for some in reasons]
            outcomes.append(([outcome(report) for report in reports], skipped, texts(index)))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0][0] == (8, 0, 0, 0)


def counted(asked: list[str], function: Callable[..., object]) -> Callable[..., object]:
    def call(*arguments: object, **more: object) -> object:
        asked.append(function.__name__)
        return function(*arguments, **more)

    return call


def made_records(place: Path, count: int, first: str = "Record") -> Path:
    write(place / "records.jsonl", [("r0", f"{first} 0."), *records(count)[1:]])
    return place / "records.jsonl"


def made_files(place: Path, count: int, first: str = "File") -> Path:
    folder = place / "files"
    folder.mkdir(exist_ok=True)
    for n in range(count if first == "File" else 1):
        file = folder / f"{n:05}.txt"
        file.write_text(f"{'File' if n else first} {n}.", encoding="utf-8")
        os.utime(file, (1_600_000_000 + len(first), 1_600_000_000))
    return folder


MADE = {"records": made_records, "files": made_files}


@pytest.mark.parametrize("kind, bytes_each", [("records", 64), ("files", 250)])
def test_the_memory_of_an_update_does_not_grow_with_what_is_unchanged(
    tmp_path: Path, kind: str, bytes_each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of records the numbers of their passages are kept; of files the inode, and the entry of the folder being read."""
    monkeypatch.setattr(sync, "MOST_COMPARED", 25)
    monkeypatch.setattr(database, "ROWS_PER_QUERY", 25)
    peaks = []
    for count in (400, 800):  # of which as many are sampled for the language of the index
        base = tmp_path / str(count)
        base.mkdir()
        place = MADE[kind](base, count)
        with Index.create(base / "index", encoder="hashing") as index:
            index.sync([place])
            MADE[kind](base, count, first="Changed")
            tracemalloc.start()
            assert index.sync().unchanged == count - 1
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / 400 < bytes_each


def test_a_set_of_numbers_has_what_was_added_and_nothing_else() -> None:
    numbers = BitSet()
    added = {1, 7, 8, 9, 63, 64, 1000, 12_345}
    for number in added:
        numbers.add(number)
    assert {number for number in range(20_000) if number in numbers} == added
