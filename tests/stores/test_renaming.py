"""An index by another name: what stays, who is refused, and what those see who had it open."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from semsearch import Document, Index, SemsearchError, admin
from semsearch.errors import Locked, NotFound, UsageError

if TYPE_CHECKING:
    from helpers.commandline import CommandLine

READER = """
import sys
from semsearch import Index
with Index.open(sys.argv[1]) as index:
    print(len(index), flush=True)
    sys.stdin.readline()
    print(index.search("a diesel engine", k=1)[0].document, flush=True)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEMSEARCH_HOME", str(tmp_path))
    monkeypatch.setenv("SEMSEARCH_EMBEDDING_CACHE_MB", "0")
    with Index.create("notes", encoder="hashing") as index:
        index.add([Document("a.txt", "A diesel engine."), Document("b.txt", "Bread and salt.")])
        admin.compact(index)
    return tmp_path


def test_all_that_an_index_holds_stays(home: Path) -> None:
    with Index.open("notes") as index:
        before = index.info()
    assert admin.rename("notes", "letters") == home / "letters"
    assert admin.names() == ["letters"]
    with Index.open("letters") as index:
        after = index.info()
        assert index.analysis.verify() == []
        assert index.search("a diesel engine", k=1)[0].document == "a.txt"
        index.add([Document("c.txt", "A text.")])
    apart = {key for key in before if before[key] != after[key]}
    assert apart == {"name", "path"}


def test_who_reads_it_goes_on_and_harms_no_new_index_of_the_old_name(home: Path) -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, "notes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdin and reader.stdout
    assert reader.stdout.readline() == "2\n"
    admin.rename("notes", "letters")
    writer = Index.create("notes", encoder="hashing")
    writer.add([Document("other.txt", "A diesel engine too.")])  # stands in the write-ahead log
    assert (home / "notes" / "store.db-wal").stat().st_size
    reader.stdin.write("\n")
    reader.stdin.flush()
    assert reader.stdout.readline() == "a.txt\n"
    assert reader.wait(60) == 0
    assert (home / "notes" / "store.db-wal").stat().st_size
    writer.close()
    for name, documents in (("notes", 1), ("letters", 2)):
        with Index.open(name) as index:
            assert (len(index), index.analysis.verify()) == (documents, [])


def test_nobody_renames_what_is_being_written_to(home: Path) -> None:
    with Index.open("notes") as index:
        index.add([Document("c.txt", "A text.")])
        with pytest.raises(Locked, match="being written to"):
            admin.rename("notes", "letters")
    assert admin.names() == ["notes"]
    admin.rename("notes", "letters")


@pytest.mark.parametrize("new", ["", "..", "a/b", ".x", "-x", "a\nb"])
def test_a_name_that_cannot_be_is_refused(home: Path, new: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        admin.rename("notes", new)
    assert admin.names() == ["notes"]


@pytest.mark.parametrize("kind", ["index", "folder", "file"])
def test_nothing_takes_the_place_of_what_is_there(home: Path, kind: str) -> None:
    if kind == "index":
        Index.create("letters", encoder="hashing").close()
    elif kind == "folder":
        (home / "letters").mkdir()
    else:
        (home / "letters").write_text("a text")
    with pytest.raises(UsageError, match="already"):
        admin.rename("notes", "letters")
    with pytest.raises(NotFound):
        admin.rename("nothing", "else")
    assert (home / "letters").exists()
    with Index.open("notes") as index:
        assert len(index) == 2


def test_the_same_name_changes_nothing(home: Path) -> None:
    admin.rename("notes", "notes")
    with Index.open("notes") as index:
        assert len(index) == 2


def test_names_are_compared_as_the_file_system_does(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `notes` and `Notes` are one folder, as on a Mac: the new name is not taken by the index itself."""
    exists, samefile = Path.exists, Path.samefile

    def ours(path: Path) -> Path:
        return home / "notes" if path.name == "Notes" and not exists(path) else path

    monkeypatch.setattr(Path, "exists", lambda path, **how: exists(ours(path), **how))
    monkeypatch.setattr(Path, "samefile", lambda path, other: samefile(ours(path), other))
    admin.rename("notes", "Notes")
    assert os.listdir(home) == ["Notes"]  # noqa: PTH208


def test_commits_in_the_log_of_a_killed_writer_come_along(home: Path) -> None:
    code = """
import os
from semsearch import Document, Index
index = Index.open("notes")
index.add([Document("c.txt", "A text.")])
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert (home / "notes" / "store.db-wal").stat().st_size
    admin.rename("notes", "letters")
    with Index.open("letters") as index:
        assert (len(index), index.analysis.verify()) == (3, [])


def test_a_folder_that_cannot_be_renamed_is_a_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(SemsearchError, match="notes cannot be renamed to letters: Permission denied"):
        admin.rename("notes", "letters")
    monkeypatch.undo()
    with sqlite3.connect(home / "notes" / "store.db") as store:
        assert store.execute("SELECT count(*) FROM documents").fetchone() == (2,)


def test_the_command_line_renames_and_says_so(cli: CommandLine) -> None:
    Index.create("notes", encoder="hashing").close()
    assert cli.ok("rename", "notes", "letters").out == "Renamed notes to letters.\n"
    told = cli.ok("rename", "letters", "notes", "--json").json
    assert (told["index"], told["before"]) == ("notes", "letters")
    assert cli("rename", "letters", "notes").code == 3
    assert cli("rename", "notes", "a/b").code == 2
    assert cli.ok("rename", "letters", "-n", "notes").out == "Renamed notes to letters.\n"
    assert cli.ok("rename", "notes").out == "Renamed letters to notes.\n"  # there is no other
    assert cli("rename", "notes", "-n", "other", "letters").code == 2
    Index.create("other", encoder="hashing").close()
    assert cli("rename", "letters").code == 2
