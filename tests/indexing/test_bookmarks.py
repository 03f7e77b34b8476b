"""A large file of records is read on from where an earlier run ended, whenever that gives the same index."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from semsearch import Document, Index
from semsearch.documents.loaders import Fields, jsonl
from semsearch.documents.parsing import table
from semsearch.encoders.hashing import HashingEncoder
from semsearch.indexing import file_reader, ingest, sync
from semsearch.indexing.file_reader import LEAST
from semsearch.indexing.sync import SyncOptions
from semsearch.types import Progress, SyncReport

COUNT = 275  # records of 200 bytes: five batches, of which the third ends behind the least place of a bookmark
Write = Callable[[Path, list[dict[str, Any]]], None]


def rows(begin: int, end: int, **extra: str) -> list[dict[str, Any]]:
    return [{"text": f"Engine {n} turns, {'and it runs, ' * 13}on.", "year": n, **extra} for n in range(begin, end)]


def write_jsonl(file: Path, records: list[dict[str, Any]]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        lines.writelines(json.dumps(record) + "\n" for record in records)


def write_csv(file: Path, records: list[dict[str, Any]]) -> None:
    """With cells of two lines, and an empty line after every tenth row."""
    with file.open("a", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, delimiter="\t" if file.suffix == ".tsv" else ",")
        if not lines.tell():
            writer.writerow(["text", "year"])
        for record in records:
            writer.writerow([record["text"].replace("runs,", 'runs\r\n"well",', 1), record["year"]])
            lines.write("\r\n" if record["year"] % 10 == 9 else "")


FORMATS: dict[str, Write] = {"jsonl": write_jsonl, "csv": write_csv, "tsv": write_csv}


@pytest.fixture(autouse=True)
def _a_quarter_of_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches, and the least place of a bookmark, as a file of four times as many records meets them."""
    for module in (ingest, sync):
        monkeypatch.setattr(module, "BATCH", 64)
        monkeypatch.setattr(module, "LOOKED_UP", 16)
    monkeypatch.setattr(ingest, "FIRST", 12)
    monkeypatch.setattr(file_reader, "LEAST", LEAST // 4)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "index", encoder=HashingEncoder(dim=32)) as made:
        yield made


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the records that the loaders have parsed."""
    numbers: list[int] = []

    def counted(of: Any) -> Any:
        def to_document(record: Any, fields: Fields, number: int, file: str) -> Any:
            numbers.append(number)
            return of(record, fields, number, file)

        return to_document

    for module in (jsonl, table):
        monkeypatch.setattr(module, "to_document", counted(vars(module)["to_document"]))
    return numbers


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A finished log of records."""
    path = tmp_path / "log.jsonl"
    write_jsonl(path, rows(0, COUNT))
    return path


def interrupt(index: Index, file: Path, after: int = 125) -> int:
    """End a run once it has committed so many passages; the number of documents in the index then."""
    with pytest.raises(KeyboardInterrupt):
        index.sync([file], progress=_after(after))
    assert after <= len(index) < COUNT
    return len(index)


def _after(passages: int) -> Callable[[Progress], None]:
    def stop(step: Progress) -> None:
        if step.passages >= passages:
            raise KeyboardInterrupt

    return stop


def contents(index: Index) -> list[tuple[Any, ...]]:
    return [(one["id"], one["metadata"], index.get(one["id"])["text"]) for one in index.documents()]


def assert_same_as_a_new_index(index: Index, file: Path, tmp_path: Path, options: SyncOptions | None = None) -> None:
    with Index.create(tmp_path / "anew", encoder=HashingEncoder(dim=32)) as anew:
        anew.sync([file], options)
        assert contents(index) == contents(anew)
    assert index.analysis.verify() == []


def counts(report: SyncReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.unchanged, report.deleted


@pytest.mark.parametrize("kind", FORMATS)
def test_an_interrupted_run_goes_on_behind_its_last_commit(
    index: Index, tmp_path: Path, parsed: list[int], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / f"many.{kind}"
    FORMATS[kind](file, rows(0, COUNT))
    stored = interrupt(index, file)
    parsed.clear()
    report = index.sync([file])
    assert counts(report) == (COUNT - stored, 0, stored, 0)
    assert (len(parsed), report.embedded, len(index), caplog.messages) == (COUNT - stored, COUNT - stored, COUNT, [])
    assert_same_as_a_new_index(index, file, tmp_path)


def test_a_second_interruption_goes_on_from_there(index: Index, file: Path, parsed: list[int], tmp_path: Path) -> None:
    first = interrupt(index, file)
    with pytest.raises(KeyboardInterrupt):
        index.sync([file], progress=_after(50))
    assert first < len(index) < COUNT
    left = COUNT - len(index)
    parsed.clear()
    assert (index.sync([file]).added, len(parsed)) == (left, left)
    assert_same_as_a_new_index(index, file, tmp_path)


def test_a_file_that_is_not_the_same_any_more_is_read_from_its_beginning(
    index: Index, file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored = interrupt(index, file)
    file.write_text(file.read_text().replace("Engine 3 ", "Rocket 3 "))
    report = index.sync([file])
    assert counts(report) == (COUNT - stored, 1, stored - 1, 0)
    assert "is read again from its beginning" in caplog.messages[0]
    assert_same_as_a_new_index(index, file, tmp_path)


def test_a_changed_version_that_was_interrupted_is_completed_and_loses_what_it_lacks(
    index: Index, file: Path, tmp_path: Path
) -> None:
    index.sync([file])
    lines = file.read_text().replace("turns", "stands still").splitlines(keepends=True)
    file.write_text("".join(lines[: COUNT - 25]))
    with pytest.raises(KeyboardInterrupt):
        index.sync([file], progress=_after(125))
    report = index.sync([file])
    assert report.deleted == 25 and 125 <= report.unchanged < COUNT - 25
    assert_same_as_a_new_index(index, file, tmp_path)


def test_of_a_log_that_has_grown_only_the_new_records_are_read(
    index: Index, file: Path, parsed: list[int], tmp_path: Path
) -> None:
    index.sync([file])
    for end in (COUNT + 7, COUNT + 9):
        parsed.clear()
        write_jsonl(file, rows(len(index), end))
        report = index.sync([file])
        assert (report.added + report.unchanged, len(index), len(parsed)) == (end, end, report.added)
    assert_same_as_a_new_index(index, file, tmp_path)


def test_a_table_that_has_grown_is_read_on_too(index: Index, parsed: list[int], tmp_path: Path) -> None:
    file = tmp_path / "many.csv"
    write_csv(file, rows(0, COUNT))
    index.sync([file])
    parsed.clear()
    write_csv(file, rows(COUNT, COUNT + 5))
    assert (counts(index.sync([file])), len(parsed)) == ((5, 0, COUNT, 0), 5)
    assert_same_as_a_new_index(index, file, tmp_path)


@pytest.mark.parametrize(("kind", "cut"), [("jsonl", 1), ("csv", 1), ("csv", 20)])  # a shorter number; an open quote
def test_a_record_that_was_read_while_it_was_written_is_completed(
    index: Index, tmp_path: Path, kind: str, cut: int
) -> None:
    file = tmp_path / f"many.{kind}"
    FORMATS[kind](file, rows(0, COUNT))
    whole = file.read_bytes().rstrip()
    file.write_bytes(whole[:-cut])
    index.sync([file])
    file.write_bytes(whole + b"\n")
    FORMATS[kind](file, rows(COUNT, COUNT + 3))
    index.sync([file])
    assert_same_as_a_new_index(index, file, tmp_path)


def test_an_open_quote_at_the_end_takes_the_rows_that_follow(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "many.csv"
    write_csv(file, rows(0, COUNT))
    for more in ('"open\n', "still open\n", 'closed",5\n', "after,6\n"):
        with file.open("a") as lines:
            lines.write(more)
        index.sync([file])
    assert_same_as_a_new_index(index, file, tmp_path)


def test_skipped_records_are_reported_by_every_run_though_only_the_new_ones_are_read(
    index: Index, file: Path, parsed: list[int]
) -> None:
    with file.open("a") as lines:
        lines.write("{broken\n")
    write_jsonl(file, rows(COUNT, COUNT + 2))
    first = index.sync([file])
    assert [skipped.path for skipped in first.skipped] == [f"log.jsonl:{COUNT + 1}"]
    for end in (COUNT + 2, COUNT + 4):
        write_jsonl(file, rows(len(index), end))
        parsed.clear()
        report = index.sync([file])
        assert (report.skipped, len(parsed), len(index)) == (first.skipped, report.added, end)


def test_an_id_that_was_used_before_the_bookmark_stays_with_its_first_record(
    index: Index, tmp_path: Path, parsed: list[int]
) -> None:
    file = tmp_path / "log.jsonl"
    write_jsonl(file, rows(0, 1, id="first") + rows(1, COUNT))
    index.sync([file])
    write_jsonl(file, rows(5000, 5001, id="first") + rows(5001, 5002))
    parsed.clear()
    report = index.sync([file])
    assert (report.added, len(parsed)) == (1, 2)
    reason = "its id 'first' was already used in log.jsonl"
    assert [(skipped.path, skipped.reason) for skipped in report.skipped] == [(f"log.jsonl:{COUNT + 1}", reason)]
    assert index.get("first")["metadata"]["year"] == 0
    assert index.sync([file]).skipped == report.skipped


def test_a_record_whose_id_another_file_has_is_called_by_both_and_stays_so(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write_jsonl(folder / "a.jsonl", rows(1, 2, id="one"))
    write_jsonl(folder / "b.jsonl", rows(0, COUNT) + rows(2, 3, id="one"))
    report = index.sync([folder])
    assert (report.added, report.skipped) == (COUNT + 2, ())
    (folder / "a.jsonl").unlink()
    write_jsonl(folder / "b.jsonl", rows(3, 4, id="two"))
    report = index.sync()
    assert (report.added, report.changed, report.deleted) == (1, 0, 1)
    assert index.get("b.jsonl#one")["metadata"]["year"] == 2
    assert len(index) == COUNT + 2


def test_a_record_whose_both_names_others_have_is_skipped_with_its_line(index: Index, tmp_path: Path) -> None:
    index.add([Document("one", "A brass bell."), Document("log.jsonl#one", "A tin cup.")])
    write_jsonl(tmp_path / "log.jsonl", rows(0, 2) + rows(2, 3, id="one"))
    (skipped,) = index.sync([tmp_path / "log.jsonl"]).skipped
    reason = "its id 'log.jsonl#one' belongs to a document from elsewhere already"
    assert (skipped.path, skipped.reason) == ("log.jsonl:3", reason)
    assert index.get("log.jsonl#one")["text"] == "A tin cup."


def test_a_deleted_record_comes_back_with_the_next_run(index: Index, file: Path) -> None:
    index.sync([file])
    index.delete(["log.jsonl#3"])
    assert counts(index.sync([file])) == (1, 0, COUNT - 1, 0)


def test_other_fields_are_read_from_the_beginning(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    write_jsonl(file, rows(0, COUNT, other="Something else."))
    index.sync([file], SyncOptions(fields=Fields(meta=("year",))))
    write_jsonl(file, rows(COUNT, COUNT + 1, other="Something else."))
    options = SyncOptions(fields=Fields(meta=("other",)))
    assert index.sync([file], options).changed == COUNT
    assert_same_as_a_new_index(index, file, tmp_path, options)


def test_a_moved_log_is_read_on(index: Index, tmp_path: Path, parsed: list[int]) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write_jsonl(folder / "a.jsonl", rows(0, COUNT))
    index.sync([folder])
    (folder / "a.jsonl").rename(folder / "b.jsonl")
    assert index.sync().moved == COUNT
    write_jsonl(folder / "b.jsonl", rows(COUNT, COUNT + 2))
    parsed.clear()
    assert (index.sync().added, len(parsed)) == (2, 2)
    assert index.get(f"b.jsonl#{COUNT + 2}")["metadata"]["year"] == COUNT + 1


def test_a_small_file_has_no_bookmark_since_its_character_set_may_change(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "small.csv"
    file.write_bytes(b"text,year\nA plain text,1\n" * 1)
    index.sync([file])
    file.write_bytes(file.read_bytes() + "Caf\xe9 au lait,2\n".encode("latin-1"))
    index.sync([file])
    assert file.stat().st_size < LEAST
    assert_same_as_a_new_index(index, file, tmp_path)
