"""What was acknowledged and is gone with a write-ahead log is reported; a kill alone never raises a false alarm."""

from __future__ import annotations

import logging
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.opened import all_stamps, verify
from helpers.reading import version
from helpers.stores import contents, entry, made

from semsearch.errors import Corrupt
from semsearch.stores.local import accept_loss, create, dump, open_reader, open_writer, remove, rename, restore
from semsearch.stores.local.database.commit_record import FILE, CommitRecord, acknowledged

DAMAGE: dict[str, Callable[[Path], object]] = {
    "removed": lambda log: log.unlink(),
    "emptied": lambda log: os.truncate(log, 0),
    "cut": lambda log: os.truncate(log, log.stat().st_size * 3 // 4),
    "flipped in its header": lambda log: flip(log, 20),
    "flipped in the middle": lambda log: flip(log, log.stat().st_size // 2),
    "flipped in its last page": lambda log: flip(log, log.stat().st_size - 100),
}


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 4
    file.write_bytes(content)


@pytest.fixture
def killed(folder: Path, tmp_path: Path) -> Path:
    """The files of a store whose writer was killed after several commits, which are in its log only."""
    store, space = made(folder, 2)
    for n in range(6):
        store.replace([entry(f"new{n}", f"Text {n}")], space.id)
    store.delete(["d0"])
    assert (folder / "store.db-wal").stat().st_size > 0
    left = tmp_path / "killed"
    left.mkdir()
    for name in ("store.db", "store.db-wal", FILE):
        shutil.copy(folder / name, left / name)
    store.close()
    return left


def test_a_killed_writer_alone_loses_nothing_and_raises_no_alarm(
    killed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_reader(killed) as reader:
        assert verify(reader) == []
        assert "new5" in all_stamps(reader)
    with open_writer(killed) as writer:
        writer.delete(["new0"])
        assert verify(writer) == []
    assert not caplog.records


@pytest.mark.parametrize("damage", DAMAGE)
def test_acknowledged_changes_that_went_with_the_log_are_reported_until_that_is_accepted(
    killed: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    DAMAGE[damage](killed / "store.db-wal")
    for _ in range(2):  # an attempt to write changes nothing about it
        caplog.clear()
        with caplog.at_level(logging.WARNING), open_reader(killed) as reader:
            there = contents(reader)
            assert any("has lost its last" in problem for problem in verify(reader))
        assert "has lost its last" in caplog.text
        with pytest.raises(Corrupt, match="has lost its last"):
            open_writer(killed)
    assert "has lost its last" in str(accept_loss(killed))
    assert accept_loss(killed) is None
    with open_writer(killed) as writer:
        assert contents(writer) == there
        assert verify(writer) == []
        writer.replace([entry("after", "x")], 1) if writer.reader.state().spaces else writer.change_recipe(lambda _: {})
    with open_reader(killed) as reader:
        assert verify(reader) == []


def test_the_log_that_is_brought_back_ends_the_report(killed: Path) -> None:
    (killed / "store.db-wal").rename(killed / "elsewhere")
    with pytest.raises(Corrupt):
        open_writer(killed)
    for left in ("store.db-wal", "store.db-shm"):
        (killed / left).unlink(missing_ok=True)
    (killed / "elsewhere").rename(killed / "store.db-wal")
    with open_writer(killed) as writer:
        assert verify(writer) == []
        assert "new5" in all_stamps(writer)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the writer is a child")
@pytest.mark.parametrize("point", ["before the record", "after the record"])
def test_a_kill_between_the_commit_and_its_acknowledgement_raises_no_alarm(
    folder: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, space = made(folder, 1)
    store.close()
    before = acknowledged(folder)
    record = CommitRecord.acknowledge

    def dying(self: CommitRecord, number: int) -> None:
        if point == "after the record":
            record(self, number)
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        monkeypatch.setattr(CommitRecord, "acknowledge", dying)
        open_writer(folder).replace([entry("new", "x")], space.id)
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert acknowledged(folder) == before + (point == "after the record")
    with open_writer(folder) as writer:
        assert verify(writer) == []
        assert "new" in all_stamps(writer)
        writer.delete(["new"])
        assert acknowledged(folder) == version(writer.reader)


def test_a_commit_that_cannot_be_recorded_is_a_commit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, space = made(folder, 1)
    recorded = acknowledged(folder)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("semsearch.stores.local.database.commit_record.os.fsync", full)
        store.replace([entry("new", "x")], space.id)
    store.close()
    assert acknowledged(folder) in (recorded, recorded + 1)
    with open_reader(folder) as reader:
        assert verify(reader) == []
        assert "new" in all_stamps(reader)


@pytest.mark.parametrize("content", [b"", b"x", b"\0" * 60, b"9" * 60], ids=["empty", "short", "zeros", "nines"])
def test_a_damaged_or_missing_record_claims_nothing(folder: Path, content: bytes) -> None:
    store, _ = made(folder, 1)
    store.close()
    (folder / FILE).write_bytes(content)
    assert acknowledged(folder) == 0
    with open_writer(folder) as writer:
        writer.delete(["d0"])
        assert acknowledged(folder) == version(writer.reader)
    (folder / FILE).unlink()
    with open_reader(folder) as reader:
        assert verify(reader) == []


def test_a_line_that_was_cut_leaves_the_one_before(folder: Path) -> None:
    store, _ = made(folder, 3)
    store.close()
    number = acknowledged(folder)
    flip(folder / FILE, number % 2 * 30 + 25)
    assert acknowledged(folder) == number - 1
    with open_reader(folder) as reader:
        assert verify(reader) == []


def test_a_renamed_a_restored_and_a_new_index_raise_no_alarm(folder: Path, tmp_path: Path) -> None:
    store, _ = made(folder, 3)
    store.close()
    moved = tmp_path / "moved"
    rename(folder, moved)
    with open_reader(moved) as reader:
        dump(reader, tmp_path / "notes.dump")
    restore(tmp_path / "notes.dump", folder)
    shutil.copytree(moved, tmp_path / "copied")
    (tmp_path / "alone").mkdir()
    shutil.copy(moved / "store.db", tmp_path / "alone")
    for place in (moved, folder, tmp_path / "copied", tmp_path / "alone"):
        with open_writer(place) as writer:
            writer.delete(["d1"])
            assert verify(writer) == []
    assert remove(moved) == []
    assert not moved.exists()
    (folder / "store.db").unlink()
    with create(folder) as new:
        assert verify(new) == []


def test_an_older_copy_of_the_database_in_its_place_is_reported(folder: Path, tmp_path: Path) -> None:
    store, _ = made(folder, 3)
    store.close()
    shutil.copy(folder / "store.db", tmp_path / "old.db")
    with open_writer(folder) as writer:
        writer.delete(["d1"])
    shutil.copy(tmp_path / "old.db", folder / "store.db")
    with pytest.raises(Corrupt, match=r"lost its last 1 change: "):
        open_writer(folder)
