"""A stage on which commands are killed: files, a home of indexes, a place for dumps, and what they have to come to.

An index stores where its files are, so every trial takes place in the same folder, which is filled anew from a copy.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import child
import forks
from child import STDIN
from helpers.commandline import CommandLine

from semsearch import Document, Index, Progress, admin
from semsearch.encoders.hashing import HashingEncoder

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "indexes"
MADE_FROM = "/srv/semsearch"  # the folder of the files of the stored index
RECORDS = 280  # more than a batch
QUESTIONS = ("engine number 7", "the harbour at night", "日本語の文", "a kettle boils")

Contents: TypeAlias = dict[str, list[Any]]
"""The id of each document with its hash, title, metadata and passages: places, texts and vectors."""


@dataclass(frozen=True)
class Operation:
    """A command that writes. `state`: what is there before; `index`: the index that it leaves."""

    name: str
    state: str
    command: str
    index: str = "notes"
    done: tuple[int, ...] = (0,)  # exit codes of a second run: 2 or 3 where the first had done everything
    follow: str = "index -n notes"  # the next run of `index`
    grows: bool = True  # the index may be there with a part of its documents
    damaged: str = ""  # the index that it is made from


OPERATIONS = (
    Operation("indexing", "files", "index ../files -n notes"),
    Operation("updating", "changed", "index -n notes"),
    Operation("adding", "notes", "index - -n notes --from jsonl"),
    Operation("deleting", "notes", "delete -n notes --path sub/* -y"),
    Operation("building a cache", "notes", "index -n notes --backend-type flat"),
    Operation("compacting", "changed", "compact notes"),
    Operation("encoding again", "foreign", "reembed notes -m hashing"),
    Operation("encoding on", "begun", "reembed notes"),
    Operation("dumping", "dumped", "dump notes -o notes.dump -y"),
    Operation("restoring", "dumped", "restore notes.dump -n copy --trust", "copy", (0, 2), "index -n copy", False),
    Operation("salvaging", "damaged", "salvage notes -o copy", "copy", (0, 2), "index -n copy", False, "notes"),
    Operation("migrating", "old", "index -n hashing", "hashing", (0,), "index -n hashing"),
    Operation("renaming", "notes", "rename notes other", "other", (0, 3), "index -n other", False),
    Operation("removing", "notes", "rm notes -y", "notes", (0, 3), "index ../files -n notes", False),
)


class Stage:
    """The folder of all trials, and a copy of each state in which a trial may begin."""

    def __init__(self, base: Path) -> None:
        self.place = base / "stage"
        self._copies = base / "states"
        self.cwd = self.place / "cwd"
        self.home = self.place / "home"
        self.scratch = (self.place / "tmp", self.place / "cache")
        self.environment = {
            "PWD": str(self.cwd),
            "SEMSEARCH_HOME": str(self.home),
            "SEMSEARCH_MODEL": "hashing",
            "TMPDIR": str(self.scratch[0]),
            "XDG_CACHE_HOME": str(self.scratch[1]),
            "XDG_CONFIG_HOME": str(self.place / "config"),
        }

    def begin(self, state: str) -> None:
        """Fill the folder as it is in a state."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self._copies / state, self.place)

    def run(self, command: str) -> tuple[int, str]:
        """Run a command in this process; its exit code, and what it said."""
        with contextlib.chdir(self.cwd), patch.object(tempfile, "tempdir", str(self.scratch[0])):
            ran = CommandLine()(*command.split(), stdin=(self.cwd / STDIN).read_bytes(), **self.environment)
        return ran.code, f"{ran.out}{ran.err}"

    def ok(self, command: str) -> None:
        code, said = self.run(command)
        assert code == 0, f"{command}: {said}"

    def kill(self, operation: Operation, point: str = "", after: float | None = None) -> forks.Ended:
        """Run a command in a process of its own, killed at a step or `after` seconds; what it said."""
        return forks.run(child.run, operation.command.split(), self.environment, point, after=after)

    def indexes(self) -> dict[str, Contents]:
        """Every index, by its name."""
        return {name: contents(self.home / name) for name in admin.names(self.home)}

    def dumps(self) -> list[bytes]:
        """What is in the file of the dump, if there is one."""
        return [file.read_bytes() for file in self.cwd.glob("*.dump")]

    def said(self) -> str:
        """What the last command in a process of its own has printed."""
        return (self.cwd / "said.txt").read_text()

    def left(self) -> list[str]:
        """The files and folders of the place, without caches in use and what SQLite needs to read."""
        others = (self.scratch[0] / ".ses", self.scratch[1] / "Microsoft")  # ONNX Runtime makes them after a while
        others += (self.scratch[1] / "semsearch" / "null_queries",)  # which this process need not ask again
        found = [path for path in self.place.rglob("*") if not path.name.endswith(("-wal", "-shm"))]
        found = [path for path in found if not {path, *path.parents} & {*others}]
        used = {self.home / name / file for name in admin.names(self.home) for file in caches(self.home / name)}
        return sorted(str(path.relative_to(self.place)) for path in found if path not in used)

    def _keep(self, state: str) -> None:
        shutil.copytree(self.place, self._copies / state)

    def make_states(self) -> None:
        for folder in (self.cwd, self.home, *self.scratch, self.place / "files" / "sub"):
            folder.mkdir(parents=True)
        own = [{"id": f"own{n}", "text": f"My own note {n} on the harbour at night."} for n in range(30)]
        (self.cwd / STDIN).write_text("".join(f"{json.dumps(record)}\n" for record in own))
        _write_files(self.place / "files")
        self._keep("files")
        self.ok("index ../files -n notes --quiet")
        self._keep("notes")
        self.ok("dump notes -o notes.dump")
        self.ok("index - -n notes --from jsonl --quiet")  # so that a new dump is another
        self._keep("dumped")
        self.begin("notes")
        with closing(sqlite3.connect(self.home / "notes" / "store.db")) as database, database:
            database.execute("UPDATE vectors SET crc = crc + 1 WHERE passage % 50 = 7")
        self._keep("damaged")
        self._make_foreign()
        self.begin("notes")
        self.ok("index -n notes --backend-type flat --quiet")  # so few vectors have a cache only if one is asked for
        for _ in range(2):
            self.ok("compact notes")  # makes a second cache, so that the next one drops the first
        _change_files(self.place / "files")
        self._keep("changed")
        self.begin("files")
        self._take_old()
        self._keep("old")

    def _make_foreign(self) -> None:
        """An index of another encoder; one that was half encoded again when more documents were added and deleted."""
        self.begin("files")
        own = [Document(f"own{n}", f"My own note {n} on the harbour at night.") for n in range(30)]
        folder = self.home / "notes"
        with Index.create(folder, encoder=HashingEncoder(64)) as index:
            index.add(own[:20])
            index.sync(self.place / "files")
        self._keep("foreign")
        with Index.open(folder, encoder=HashingEncoder(64)) as index:
            with contextlib.suppress(InterruptedError):
                index.reembed("hashing", progress=_interrupting(200))
            index.delete(["own3", "own4"])
            index.add(own[20:])
        self._keep("begun")

    def _take_old(self) -> None:
        """The index of schema 1 that is stored beside these tests, with its files."""
        shutil.rmtree(self.place / "files")
        for archive, folder in (("hashing", self.home), ("files", self.place / "files")):
            with tarfile.open(FIXTURE / f"{archive}.tar.xz") as packed:
                packed.extractall(folder, filter="data")
        with closing(sqlite3.connect(self.home / "hashing" / "store.db")) as database, database:
            for table, column in (("sources", "root"), ("recipe", "value")):
                new = str(self.place / "files")
                database.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (MADE_FROM, new))


def _interrupting(passages: int) -> Callable[[Progress], None]:
    """A progress callback that ends a run after so many passages."""

    def report(step: Progress) -> None:
        if step.done >= passages:
            raise InterruptedError

    return report


def contents(folder: Path) -> Contents:
    """What an index has, read from its tables: with the vectors that searches use."""
    sql = """SELECT uri, position, start, "end", page, line, heading, text, vector
             FROM documents d JOIN passages p ON p.document = d.id JOIN vectors v ON v.passage = p.id
             WHERE v.space = coalesce((SELECT value FROM meta WHERE key = 'space'), (SELECT min(id) FROM spaces))
             ORDER BY uri, position"""
    with closing(_reading(folder)) as database:
        documents = database.execute("SELECT uri, sha256, title, metadata FROM documents")
        found: Contents = {uri: list(rest) for uri, *rest in documents}
        for uri, *place, vector in database.execute(sql):
            found[uri].append((*place, vector))
    return found


def caches(folder: Path) -> list[str]:
    """The cache files that are in use."""
    with closing(_reading(folder)) as database:
        return [file for (file,) in database.execute("SELECT file FROM caches")]


def answers(folder: Path) -> list[Any]:
    """What some questions find in an index, by every mode of search."""
    with Index.open(folder) as index:
        return [
            sorted((round(hit.score, 4), hit.document, hit.start, hit.text) for hit in index.search(text, mode=mode))
            for text in QUESTIONS
            for mode in ("hybrid", "semantic", "keyword")
        ]


def problems(folder: Path) -> list[str]:
    """What `verify` finds."""
    with Index.open(folder) as index:
        return index.analysis.verify()


def _reading(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{(folder / 'store.db').as_uri()}?mode=ro", uri=True)


def _write_files(folder: Path) -> None:
    for n in range(12):
        text = f"# Engine {n}\n\nEngine number {n} runs on diesel.\n\n## Service\n\nThe kettle number {n} boils.\n"
        (folder / ("sub" if n % 3 == 0 else ".") / f"note{n}.md").write_text(text)
    lines = [{"id": f"r{n}", "text": f"Record {n} of the harbour. 日本語の文 {n}", "n": n} for n in range(RECORDS)]
    (folder / "records.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    _set_back(folder)


def _change_files(folder: Path) -> None:
    """New, changed, moved and deleted files; new records, and one with other metadata under its old text."""
    (folder / "note1.md").write_text("# Changed\n\nThis text is new, and speaks of the harbour at night.\n")
    (folder / "note2.md").rename(folder / "moved.md")
    (folder / "note4.md").unlink()
    (folder / "added.md").write_text("# Added\n\nA kettle boils at night.\n")
    records = folder / "records.jsonl"
    changed = records.read_text().replace('"n": 5}', '"n": 500}').replace("Record 9 ", "Other record 9 ")
    records.write_text(changed + "".join(f'{{"id": "x{n}", "text": "Added record {n}."}}\n' for n in range(20)))
    _set_back(folder)


def _set_back(folder: Path) -> None:
    """Files of long ago: one written just now is read again by every run."""
    for file in folder.rglob("*.*"):
        os.utime(file, (1_700_000_000, 1_700_000_000 + len(file.read_bytes())))
