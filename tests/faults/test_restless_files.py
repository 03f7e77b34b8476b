"""Files that change, vanish or turn into something else while `index` runs.

Each run ends with every other file in the index; the next run brings the index to what one built anew would be.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import followed
import pytest
from followed import NEW, OLD, RECORDS, state, texts
from helpers.commandline import CommandLine
from programme import record, trials

from semsearch.documents import loaders
from semsearch.indexing import file_reader

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the files are those of POSIX systems")


def grow(path: Path) -> None:
    with path.open("a") as file:
        file.write(f"{json.dumps({'text': NEW})}\n")


def shrink(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def rewrite(path: Path) -> None:
    """Other content of the same length."""
    content = path.read_text().replace(OLD, NEW)
    path.write_text(content)


def replace_by_another(path: Path) -> None:
    other = path.with_name("other")
    other.write_text(f"text\n{NEW}\n" if path.suffix == ".csv" else f"{json.dumps({'text': NEW})}\n")
    other.replace(path)


def become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inner.txt").write_text(NEW)


def become_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def become_a_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def move(path: Path) -> None:
    path.rename(path.with_name(f"moved-{path.name}"))


def vanish(path: Path) -> None:
    path.unlink()


def lose_the_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


CHANGES = (
    *(grow, shrink, rewrite, replace_by_another, become_a_folder, become_a_pipe, become_a_loop, move, vanish),
    lose_the_folder,
)
MOMENTS = ("found", "hashed", "being read", "read")
FILES = ("note.txt", "records.jsonl", "table.csv", "page.html", "nameless")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return followed.written(tmp_path / "files")


@contextlib.contextmanager
def disturbing(path: Path, moment: str, change: Callable[[Path], None]) -> Iterator[list[str]]:
    """Change a file once at a moment of its reading; the list says that this has happened."""
    done: list[str] = []
    hashing, loading = file_reader.file_hash, loaders.read_from

    def disturb(now: str, other: Path) -> None:
        if now == moment and other == path and not done:
            done.append(now)
            change(path)

    def content(one: Path, at: int = 0) -> Any:
        disturb("found", one)
        found = hashing(one, at)
        disturb("hashed", one)
        return found

    def read_from(one: Path, *rest: Any) -> Iterator[Any]:
        for count, step in enumerate(loading(one, *rest)):
            yield step
            if count == {".jsonl": RECORDS // 2, ".csv": 9}.get(one.suffix, 0):
                disturb("being read", one)
        disturb("read", one)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(file_reader, "file_hash", content)
        patched.setattr(loaders, "read_from", read_from)
        yield done


COMBINATIONS = [(name, moment, change) for change in CHANGES for moment in MOMENTS for name in FILES]


def test_a_file_that_changes_while_it_is_indexed_is_right_after_the_next_run(
    cli: CommandLine, files: Path, tmp_path: Path
) -> None:
    chance = random.Random(5)
    count = trials(5, len(COMBINATIONS))
    chosen = chance.sample(COMBINATIONS, count)
    copy = tmp_path / "copy"
    shutil.copytree(files, copy)
    for name, moment, change in chosen:
        for known in (False, True):
            where = f"{change.__name__}, {name} {moment}, {'known' if known else 'new'}"
            shutil.rmtree(files)
            shutil.copytree(copy, files)
            shutil.rmtree(tmp_path / "home", ignore_errors=True)
            if known:
                cli.ok("index", files, "-n", "notes")
                rewrite(files / "sub" / name)
            with disturbing(files / "sub" / name, moment, change) as done:
                ran = cli("index", files, "-n", "notes", "--json")
            assert done, f"{where}: nothing happened"
            assert ran.code == 0 and "Traceback" not in ran.err, f"{where}: {ran.err}"
            there = state(tmp_path / "home" / "notes")
            assert {"a-first.txt", "z-last.txt"} <= there.keys(), where
            if name != "records.jsonl" and change is not lose_the_folder:
                assert len([one for one in there if one.startswith("sub/records.jsonl#")]) == RECORDS, where
            cli.ok("index", "-n", "notes")
            assert state(tmp_path / "home" / "notes") == texts(files), where
            record("a file that changes while it is read", 1, lost=0, wrong=0)
