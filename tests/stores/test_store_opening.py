"""Making a store and opening it: what is there afterwards, and what is refused."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from helpers.opened import opened, verify
from helpers.stores import contents, made

from semsearch.errors import Locked, NotFound, SemsearchError, UsageError
from semsearch.stores.local import LocalWriter, check_installation, create, open_reader, open_writer
from semsearch.stores.local.database import schema

ODD_NAMES = ["plain", "with space", "what?x=1&y", "100%25", "a#b", "Müller 日本語", "it's;--"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_folder_name_can_hold_a_store(tmp_path: Path, name: str) -> None:
    store, _ = made(tmp_path / name, 2)
    store.close()
    with open_reader(tmp_path / name) as again:
        assert again.state().documents == 2


def test_create_refuses_an_index_that_exists_and_a_folder_that_holds_something_else(tmp_path: Path) -> None:
    made(tmp_path / "notes", 1)[0].close()
    with pytest.raises(UsageError, match="already has an index"):
        create(tmp_path / "notes")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"letter\.txt"):
        create(tmp_path / "other")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="a file is in its place"):
        create(tmp_path / "file")
    assert sorted(p.name for p in (tmp_path / "other").iterdir()) == ["letter.txt"]


def test_what_a_killed_create_leaves_is_no_index_and_can_be_created_again(folder: Path) -> None:
    folder.mkdir()
    for left in ("store.new", "store.new-wal", "store.new-shm", "writer.lock", "writer.pid"):
        (folder / left).write_bytes(b"half")
    with pytest.raises(NotFound):
        open_reader(folder)
    made(folder, 1)[0].close()
    assert not list(folder.glob("store.new*"))


def test_opening_what_is_not_there_makes_nothing(folder: Path) -> None:
    for write in (False, True):
        with pytest.raises(NotFound):
            opened(folder, write=write)
    assert not folder.exists()


@pytest.mark.parametrize(
    "content", [b"", b"not a database, but long enough to be read as one" * 99, b"SQLite format 3\0" * 64]
)
@pytest.mark.parametrize("write", [False, True])
def test_a_file_that_is_no_store_is_refused(folder: Path, content: bytes, write: bool) -> None:
    folder.mkdir()
    (folder / "store.db").write_bytes(content)
    with pytest.raises(SemsearchError):
        opened(folder, write=write)
    assert (folder / "store.db").read_bytes() == content
    with pytest.raises(SemsearchError):  # and not Locked: nothing holds the lock any more
        open_writer(folder)


def test_a_database_of_another_program_is_refused_untouched(folder: Path) -> None:
    folder.mkdir()
    other = sqlite3.connect(folder / "store.db")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    content = (folder / "store.db").read_bytes()
    with pytest.raises(SemsearchError, match="not one of semsearch"):
        open_writer(folder)
    assert (folder / "store.db").read_bytes() == content


def test_a_newer_schema_is_refused_and_says_to_upgrade(folder: Path) -> None:
    store, _ = made(folder)
    store.connection.raw.execute(f"PRAGMA user_version={schema.VERSION + 1}")
    store.close()
    for write in (False, True):
        with pytest.raises(SemsearchError, match="newer version"):
            opened(folder, write=write)


def test_an_older_schema_is_migrated_by_the_first_writer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, _ = made(folder, 3)
    before = contents(store)
    store.close()

    def m002(database: Any) -> None:
        database.execute("ALTER TABLE documents ADD COLUMN language TEXT")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, m002))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setattr(schema, "OLDEST", schema.VERSION)
    with pytest.raises(SemsearchError, match="older semsearch"):
        open_reader(folder)
    open_writer(folder).close()
    with open_reader(folder) as again:
        assert contents(again) == before
        assert again.connection.raw.execute("SELECT language FROM documents").fetchone() == (None,)


def test_bringing_a_large_store_up_to_date_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made(folder, 3)[0].close()
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, lambda _: None))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    for many, said in ((7, []), (6, [f"6 passages .* step {schema.VERSION} of {schema.VERSION}"])):
        monkeypatch.setattr(schema, "MANY", many)
        with open_writer(folder) as opened:
            opened.connection.raw.execute(f"PRAGMA user_version={schema.VERSION - 1}")
        messages = [record.getMessage() for record in caplog.records]
        assert len(messages) == len(said) and all(map(re.search, said, messages))


def test_a_migration_that_fails_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(folder, 1)[0].close()

    def m002(database: Any) -> None:
        database.execute("CREATE TABLE half (x)")
        database.execute("CREATE TABLE documents (x)")

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, m002))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with pytest.raises(SemsearchError):
        open_writer(folder)
    monkeypatch.undo()
    with open_writer(folder) as again:
        assert verify(again) == []


def test_the_connection_is_the_one_of_the_design(folder: Path) -> None:
    store, _ = made(folder)
    reader = open_reader(folder)
    wanted = {"journal_mode": "wal", "synchronous": 2, "trusted_schema": 0, "cell_size_check": 1, "foreign_keys": 1}
    assert {name: store.connection.raw.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted} == wanted
    assert reader.connection.raw.execute("PRAGMA trusted_schema").fetchone() == (0,)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.connection.raw.execute("DELETE FROM documents")


def test_a_store_appears_with_what_it_is_filled_with_or_not_at_all(folder: Path) -> None:
    def fill(store: LocalWriter) -> None:
        store.change_recipe(lambda _: {"encoder": "one"})
        assert not (folder / "store.db").exists()

    def fail(store: LocalWriter) -> None:
        fill(store)
        raise OSError(28, "No space left on device")

    with pytest.raises(SemsearchError, match="No space left"):
        create(folder, fail)
    with pytest.raises(NotFound):
        open_reader(folder)
    with create(folder, fill) as store:
        assert store.reader.state().recipe == {"encoder": "one"}
        with pytest.raises(Locked):
            open_writer(folder)
    with open_reader(folder) as reader:
        assert reader.state().recipe == {"encoder": "one"}
    assert not list(folder.glob("store.new*"))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")
@pytest.mark.parametrize("write", [False, True])
def test_a_store_that_is_refused_leaves_no_file_open(folder: Path, write: bool) -> None:
    made(folder, 1)[0].close()
    with sqlite3.connect(folder / "store.db") as raw:
        raw.execute("PRAGMA user_version=99")
    raw.close()
    with pytest.raises(SemsearchError, match="newer") as refused:
        opened(folder, write=write)
    left = [link for fd in Path("/proc/self/fd").iterdir() if (link := _target(fd)) and str(folder) in link]
    assert (left, refused.value.exit_code) == ([], 1)  # `refused` holds every frame, so no garbage was collected


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def test_an_old_sqlite_is_refused_with_the_same_advice_everywhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 37, 2))
    for refused in (check_installation, lambda: create(tmp_path / "notes")):
        with pytest.raises(SemsearchError, match=r"too old\. Use a Python with SQLite 3\.38 or later"):
            refused()
