"""Running `index` again is the update: what the counts and the answers say after each kind of change."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from semsearch import Document, Encoder, Index
from semsearch.chunking.splitter import Splitter
from semsearch.documents.loaders import Fields
from semsearch.documents.walk import Rules
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import GuardRail, NotFound, UsageError
from semsearch.index.open_store import OpenStore
from semsearch.indexing import ingest, sync
from semsearch.indexing.sync import SyncOptions
from semsearch.indexing.writer import IndexWriter
from semsearch.stores.local.database.connection import Connection
from semsearch.types import Progress


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "engines.md").write_text("# Engines\n\nDiesel engines ignite by compression.\n")
    (folder / "sub" / "bread.txt").write_text("A loaf needs flour, water, salt and time.\n")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "index", encoder=HashingEncoder()) as made:
        yield made


def ids(index: Index) -> list[str]:
    return sorted(document["id"] for document in index.documents())


def test_a_first_run_adds_and_a_second_changes_nothing(index: Index, notes: Path) -> None:
    first = index.sync(notes)
    second = index.sync()
    assert (first.added, first.passages, first.vectors) == (2, 2, 2)
    assert (second.added, second.changed, second.unchanged, second.embedded) == (0, 0, 2, 0)
    assert ids(index) == ["engines.md", "sub/bread.txt"]


def test_new_changed_moved_and_deleted_files_are_found_in_one_run(index: Index, notes: Path) -> None:
    (notes / "gone.txt").write_text("This will go.")
    index.sync(notes)
    (notes / "new.txt").write_text("Clouds bring rain.")
    (notes / "engines.md").write_text("# Engines\n\nPetrol engines ignite by a spark.\n")
    (notes / "sub" / "bread.txt").rename(notes / "loaf.txt")
    (notes / "gone.txt").unlink()
    report = index.sync()
    assert (report.added, report.changed, report.moved, report.deleted, report.unchanged) == (1, 1, 1, 1, 0)
    assert ids(index) == ["engines.md", "loaf.txt", "new.txt"]
    assert index.search("spark", k=1)[0].document == "engines.md"


def test_a_moved_file_keeps_its_passages_and_is_not_embedded_again(index: Index, notes: Path) -> None:
    index.sync(notes)
    before = index.search("loaf", k=1)[0]
    (notes / "sub" / "bread.txt").rename(notes / "loaf.txt")
    report = index.sync()
    after = index.search("loaf", k=1)[0]
    assert (report.moved, report.embedded) == (1, 0)
    assert (after.id, after.path, after.document) == (before.id, "loaf.txt", "loaf.txt")


def test_a_change_that_leaves_size_and_time_alone_is_found(index: Index, notes: Path) -> None:
    file = notes / "engines.md"
    index.sync(notes)
    stamp = file.stat()
    file.write_text(file.read_text().replace("Diesel", "Petrol"))
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert index.sync().changed == 1


def test_a_touched_file_is_unchanged(index: Index, notes: Path) -> None:
    old = time.time() - 100
    os.utime(notes / "engines.md", (old, old))
    index.sync(notes)
    os.utime(notes / "engines.md", (old + 50, old + 50))
    report = index.sync()
    assert (report.changed, report.unchanged) == (0, 2)


def test_without_prune_a_deleted_file_stays_in_the_index(index: Index, notes: Path) -> None:
    index.sync(notes)
    (notes / "engines.md").unlink()
    assert index.sync((), SyncOptions(prune=False)).deleted == 0
    assert "engines.md" in ids(index)


def test_a_deleted_file_is_hidden_before_the_next_run(index: Index, notes: Path) -> None:
    index.sync(notes)
    (notes / "engines.md").unlink()
    found = index.search("diesel engines", k=5)
    assert [hit.document for hit in found] == ["sub/bread.txt"]
    assert "gone" in found.warnings[0]


def test_search_goes_on_when_the_whole_folder_is_away(index: Index, notes: Path) -> None:
    index.sync(notes)
    notes.rename(notes.parent / "unplugged")
    assert index.search("diesel engines", k=1)[0].document == "engines.md"
    with pytest.raises(NotFound):
        index.sync()
    assert len(index) == 2


def test_a_part_of_a_folder_can_be_updated_alone(index: Index, notes: Path) -> None:
    index.sync(notes)
    (notes / "sub" / "rain.txt").write_text("Clouds bring rain.")
    (notes / "top.txt").write_text("Not looked at yet.")
    (notes / "engines.md").unlink()
    report = index.sync(notes / "sub")
    assert (report.added, report.deleted) == (1, 0)
    assert ids(index) == ["engines.md", "sub/bread.txt", "sub/rain.txt"]


def test_a_part_is_read_by_the_rules_of_the_whole(index: Index, notes: Path) -> None:
    index.sync(notes, SyncOptions(rules=Rules(exclude=("sub/secret*",))))
    (notes / "sub" / "secret.txt").write_text("Hidden by the first command.")
    assert index.sync(notes / "sub").added == 0


def test_a_part_that_the_rules_of_the_whole_leave_out_is_named(index: Index, notes: Path) -> None:
    (notes / ".drafts").mkdir()
    (notes / ".drafts" / "soup.md").write_text("Boil carrots.")
    assert index.sync([notes, notes / "sub"]).warnings == ()
    (warning,) = index.sync([notes, notes / ".drafts"]).warnings
    assert f"nothing in {notes / '.drafts'} is read" in warning and "hidden" in warning
    assert index.sync(notes, SyncOptions(rules=Rules(include=("**", ".drafts/**")))).added == 1
    assert index.sync([notes / ".drafts"]).warnings == ()


def test_a_part_cannot_be_told_to_be_read_in_another_way(index: Index, notes: Path) -> None:
    index.sync(notes)
    with pytest.raises(UsageError, match="is read with the same settings"):
        index.sync(notes / "sub", SyncOptions(rules=Rules(exclude=("*.txt",))))
    assert index.sync(notes / "sub", SyncOptions(rules=Rules())).unchanged == 1  # what holds may be said again


def test_widening_to_the_folder_above_moves_what_is_there(index: Index, notes: Path) -> None:
    index.sync(notes / "sub")
    report = index.sync(notes)
    assert (report.added, report.moved, report.deleted) == (1, 1, 0)
    assert ids(index) == ["engines.md", "sub/bread.txt"]


def test_a_file_beside_an_indexed_folder_leaves_its_documents_alone(index: Index, notes: Path, tmp_path: Path) -> None:
    index.sync(notes)
    (tmp_path / "letter.txt").write_text("Dear reader.")
    report = index.sync(tmp_path / "letter.txt")
    assert (report.added, report.deleted) == (1, 0)
    (notes / "new.md").write_text("Clouds bring rain.")
    again = index.sync()
    assert (again.added, again.unchanged, again.deleted) == (1, 3, 0)
    assert "new.md" in ids(index)
    assert {"engines.md", "sub/bread.txt"} < set(ids(index))


def test_two_folders_with_equal_names_inside_do_not_collide(index: Index, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "work"
    other.mkdir()
    (other / "engines.md").write_text("Engines at work.")
    index.sync(notes)
    report = index.sync(other)
    assert (report.added, report.deleted) == (1, 0)
    assert ids(index) == ["engines.md", "sub/bread.txt", "work/engines.md"]
    assert index.search("engines at work", k=1)[0].path == "work/engines.md"


def test_the_recipe_is_remembered(index: Index, notes: Path) -> None:
    index.sync(notes, SyncOptions(rules=Rules(include=("*.md",))))
    (notes / "more.txt").write_text("Not Markdown.")
    assert index.sync().added == 0
    assert ids(index) == ["engines.md"]


def test_records_are_documents_and_follow_their_file(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "faq.jsonl"
    rows = [{"id": "q1", "text": "How do I boil rice?", "year": 2020}, {"id": "q2", "text": "How do I tie a knot?"}]
    file.write_text("\n".join(map(json.dumps, rows)))
    index.sync(file)
    assert ids(index) == ["q1", "q2"]
    hit = index.search("boil rice", k=1, where="year = 2020")[0]
    assert (hit.document, hit.path, hit.metadata) == ("q1", "faq.jsonl", {"year": 2020})
    rows = [{"id": "q1", "text": "How do I boil rice?", "year": 2021}, {"id": "q3", "text": "How do clouds form?"}]
    file.write_text("\n".join(map(json.dumps, rows)))
    report = index.sync()
    assert (report.added, report.changed, report.deleted, report.embedded) == (1, 1, 1, 1)
    assert index.search("boil rice", k=1, where="year = 2021")[0].document == "q1"


def test_records_that_came_over_to_a_new_file_survive_the_old_one(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"id": "q1", "text": "How do I boil rice?"}')
    index.sync(folder)
    (folder / "a.jsonl").unlink()
    (folder / "b.jsonl").write_text('{"id": "q1", "text": "How do I boil rice?"}\n{"id": "q2", "text": "Rain."}')
    index.sync()
    assert ids(index) == ["q1", "q2"]
    assert index.sync().unchanged == 2


def test_an_id_used_twice_is_reported_and_the_first_one_stays(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "twice.jsonl"
    file.write_text('{"id": "q", "text": "first"}\n{"id": "q", "text": "second"}')
    report = index.sync(file)
    assert (report.added, len(report.skipped)) == (1, 1)
    assert index.get("q")["text"] == "first"


def test_a_bad_record_is_named_and_the_others_are_indexed(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"id": "a", "text": "good"}\n{broken\n{"id": "b", "text": "also good"}')
    report = index.sync(file, SyncOptions(fields=Fields()))
    assert (report.added, [item.path for item in report.skipped]) == (2, ["bad.jsonl:2"])
    again = index.sync()
    assert (again.unchanged, [item.path for item in again.skipped]) == (2, ["bad.jsonl:2"])


def records(file: Path, count: int) -> Path:
    file.write_text("".join(f'{{"text": "The engine number {n}."}}\n' for n in range(count)), encoding="utf-8")
    return file


def test_every_batch_of_a_large_file_touches_as_many_rows_as_the_first(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "BATCH", 20)
    batches: list[Counter[str]] = []
    transaction, execute, execute_many = Connection.transaction, Connection.execute, Connection.execute_many

    def begin(connection: Connection) -> Any:
        if not connection.raw.in_transaction:
            batches.append(Counter())
        return transaction(connection)

    def touch(connection: Connection, sql: str, parameters: Sequence[object] = ()) -> int:
        touched = execute(connection, sql, parameters)
        batches[-1].update({"statements": 1, "rows": max(touched, 0)})
        return touched

    def touch_many(connection: Connection, sql: str, rows: Iterable[Sequence[object]]) -> None:
        listed = list(rows)
        batches[-1].update({"statements": 1, "rows": len(listed)})
        execute_many(connection, sql, listed)

    for name, counted in {"transaction": begin, "execute": touch, "execute_many": touch_many}.items():
        monkeypatch.setattr(Connection, name, counted)
    index.sync([records(tmp_path / "many.jsonl", 400)])
    full = [batch for batch in batches if batch["rows"] > 20]
    assert len(full) == 20
    assert all(batch == full[1] for batch in full[1:])


def test_a_large_file_that_is_read_again_from_its_beginning_is_named(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sync, "BATCH", 20)
    file = records(tmp_path / "many.jsonl", 60)
    calls = iter(range(1000))

    def killed(step: Progress) -> None:
        if step.passages and next(calls) > 10:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ingest, "BATCH", 20)
        index.sync([file], progress=killed)
    stored = len(index)
    assert 20 <= stored < 60 and caplog.messages == []
    report = index.sync([file])
    assert (report.added, report.unchanged, report.embedded) == (60 - stored, stored, 60 - stored)
    (message,) = caplog.messages
    assert "many.jsonl is not completely indexed, and is read again" in message and f"Its {stored} documents" in message
    caplog.clear()
    assert (index.sync([file]).unchanged, caplog.messages) == (60, [])


def test_a_file_that_became_unreadable_keeps_its_earlier_version(index: Index, notes: Path) -> None:
    index.sync(notes)
    (notes / "engines.md").write_bytes(b"\x00\x01\x02" * 100)
    report = index.sync()
    assert len(report.skipped) == 1
    assert "version indexed before stays" in report.skipped[0].reason
    assert len(index) == 2


def test_documents_of_a_folder_that_cannot_be_listed_are_kept(
    index: Index, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("locked/x.txt", "locked/deep/y.txt", "locked.txt"):
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text(f"A text in {name}.", encoding="utf-8")
    index.sync(notes)
    listing = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "locked":  # the suite may run as root, whom no permission stops
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr(os, "scandir", refuse)
    (notes / "locked.txt").unlink()
    report = index.sync()
    assert [item.path for item in report.skipped] == ["locked"]
    assert (report.deleted, report.unchanged) == (1, 2)
    assert {"locked/x.txt", "locked/deep/y.txt"} <= {known["id"] for known in index.documents()}
    monkeypatch.undo()
    assert index.sync().unchanged == 4


def test_dates_are_those_of_the_file_also_when_it_is_new_or_partly_bad(index: Index, tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_text('{"id": "fresh", "text": "Tea."}\nbroken\n', encoding="utf-8")
    (tmp_path / "new.txt").write_text("Written a moment ago.", encoding="utf-8")
    index.sync([tmp_path / "new.jsonl", tmp_path / "new.txt"])
    for _ in range(2):
        assert index.matching(where="mtime > 2020") == ["fresh", "new.txt"]
        index.sync()


def test_what_was_deleted_comes_back_unless_the_rules_leave_it_out(index: Index, notes: Path) -> None:
    (notes / "r.jsonl").write_text('{"id": "x", "text": "Tea."}\n{"id": "y", "text": "Coal."}\n', encoding="utf-8")
    index.sync(notes)
    assert index.delete(["engines.md", "x"]) == 2
    assert ids(index) == ["sub/bread.txt", "y"]
    report = index.sync()
    assert (report.added, report.unchanged) == (2, 2)
    index.delete(["engines.md"])
    assert index.sync(notes, SyncOptions(rules=Rules(exclude=("*.md",)))).added == 0


def test_what_was_deleted_for_good_stays_away_and_no_other_file_does(index: Index, notes: Path, tmp_path: Path) -> None:
    (notes / "r.jsonl").write_text('{"id": "x", "text": "Tea."}\n{"id": "y", "text": "Coal."}\n', encoding="utf-8")
    (notes / "sub" / "[1] a*b.txt").write_text("A name of signs.", encoding="utf-8")
    alone = tmp_path / "alone.md"
    alone.write_text("A file of its own.", encoding="utf-8")
    index.sync([notes, alone])
    named = {Path(each).name: each for each in ids(index)}
    assert index.delete([named["engines.md"], named["[1] a*b.txt"], named["alone.md"], "x"], exclude=True) == 4
    (notes / "sub" / "engines.md").write_text("Another of that name.", encoding="utf-8")
    report = index.sync()
    assert (report.added, report.deleted) == (2, 0)
    assert ids(index) == ["sub/bread.txt", "sub/engines.md", "x", "y"]
    index.sync(alone)
    assert len(ids(index)) == 5  # what is named is followed again


def test_what_is_said_without_a_path_holds_for_all_that_is_followed(index: Index, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "more.md").write_text("More.", encoding="utf-8")
    index.sync([notes, other])
    report = index.sync(options=SyncOptions(rules=Rules(exclude=("*.md",))))
    assert (report.deleted, ids(index)) == (2, ["sub/bread.txt"])
    assert index.sync().unchanged == 1


def test_a_new_window_cuts_every_document_anew(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "long"
    folder.mkdir()
    text = " ".join(f"Sentence number {n} is about rain." for n in range(40))
    (folder / "a.txt").write_text(text)
    index.sync(folder)
    index.add([Document("api", text)])
    before = index.info()["passages"]
    report = index.sync((), SyncOptions(splitter=Splitter(size=20)))
    assert report.passages > 2 * before
    assert (report.unchanged, report.added, report.changed) == (2, 0, 0)
    assert index.sync().passages == report.passages


def test_a_dry_run_counts_and_writes_nothing(index: Index, notes: Path) -> None:
    report = index.sync(notes, SyncOptions(dry_run=True))
    assert (report.added, report.dry_run, len(index)) == (2, True, 0)
    index.sync(notes)
    (notes / "engines.md").write_text("Changed.")
    (notes / "sub" / "bread.txt").unlink()
    report = index.sync((), SyncOptions(dry_run=True))
    assert (report.changed, report.deleted, len(index)) == (1, 1, 2)


def test_an_added_document_may_not_take_a_files_id(index: Index, notes: Path) -> None:
    index.sync(notes)
    with pytest.raises(UsageError, match=r"engines\.md"):
        index.add([Document("engines.md", "mine")])


def test_metadata_is_refreshed_without_embedding(index: Index) -> None:
    index.add([Document("x", "Same text.", metadata={"year": 2020})])
    report = index.add([Document("x", "Same text.", metadata={"year": 2021})])
    assert (report.changed, report.embedded) == (1, 0)
    assert index.get("x")["metadata"] == {"year": 2021}


def test_the_same_text_is_embedded_once_across_indexes(tmp_path: Path, notes: Path) -> None:
    cache = tmp_path / "embeddings.db"
    with Index.create(tmp_path / "one", encoder=Encoder.load("minilm", cache=cache)) as one:
        assert one.sync(notes).embedded == 2
    with Index.create(tmp_path / "two", encoder=Encoder.load("minilm", cache=cache)) as two:
        report = two.sync(notes)
    assert (report.added, report.passages, report.embedded) == (2, 2, 0)


def test_what_is_refused_is_not_followed(index: Index, notes: Path) -> None:
    index.sync(notes)
    with pytest.raises(GuardRail):
        index.sync("/")
    assert [root["path"] for root in index.info()["recipe"]["roots"]] == [str(notes)]
    assert index.sync().unchanged == 2


def test_a_folder_that_another_follows_before_the_lock_is_ours_stays_followed(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.txt").write_text("Something else.")
    Index.create(tmp_path / "index", encoder="hashing").close()
    writing = OpenStore.writing

    def slowly(store: OpenStore, *, dry_run: bool = False) -> AbstractContextManager[IndexWriter]:
        if dry_run:  # the check that comes before the lock
            return writing(store, dry_run=True)
        monkeypatch.undo()
        with Index.open(tmp_path / "index") as another:
            another.sync(other)
        return writing(store)

    monkeypatch.setattr(OpenStore, "writing", slowly)
    with Index.open(tmp_path / "index") as index:
        index.sync(notes)
        assert {root["path"] for root in index.info()["recipe"]["roots"]} == {str(notes), str(other)}
