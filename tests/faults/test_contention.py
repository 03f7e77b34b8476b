"""Several processes at one index: a second writer is told who writes, and readers see whole changes only.

A writer that is stopped still has its lock; one that is dead has none. A file system whose locks fail is told.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import forks
import pytest
import writers
from helpers.commandline import CommandLine
from programme import record, trials

from semsearch import Document, Index
from semsearch.utils import writer_lock

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are stopped and killed with signals")
SECONDS = trials(3, 60)
READERS = 8
FAILURES = ((errno.ENOLCK, 3), (errno.EIO, 5), (errno.EOPNOTSUPP, 11))  # every such call of fcntl
FAILING_LOCKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
static int failing(const char *name, int file, int command, void *argument) {
    static int calls;
    int (*real)(int, int, ...) = dlsym(RTLD_NEXT, name);
    if (command == F_SETLK && ++calls % atoi(getenv("FAULT_EVERY")) == 0) {
        errno = atoi(getenv("FAULT_ERRNO"));
        return -1;
    }
    return real(file, command, argument);
}
#define REPLACE(NAME) int NAME(int file, int command, ...) { \\
    va_list rest; va_start(rest, command); void *argument = va_arg(rest, void *); va_end(rest); \\
    return failing(#NAME, file, command, argument); }
REPLACE(fcntl)
REPLACE(fcntl64)
"""
COMMANDS = """
import contextlib, io, json, sys
from semsearch.cli.main import main
ran = []
for line in sys.argv[2:]:
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = main(line.split())
    ran.append((line, code, said.getvalue()))
open(sys.argv[1], "w").write(json.dumps(ran))
"""
READS = ("query kettle", "list", "info notes", "get own", "verify notes", "dump notes -o out.dump -y", "audit notes")
WRITES = (  # the last one removes it
    "index {files} -n notes",
    "index -n notes --force",
    "index -n notes --backend-type flat",
    "delete -n notes --id own",
    "compact notes",
    "trust notes",
    "verify notes --accept-loss",
    "rename notes other",
    "rename other notes",
    "rm notes -y",
)


@pytest.fixture
def notes(cli: CommandLine, tmp_path: Path) -> Path:
    """An index with a followed file and a document of its own."""
    folder = tmp_path / "home" / "notes"
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("Diesel engines ignite by compression.")
    with Index.create(folder, encoder="hashing") as index:
        index.add([Document("own", "A kettle boils.")])
        index.sync(tmp_path / "files")
    return folder


@pytest.mark.parametrize("state", ["at work", "stopped"])
def test_who_has_the_lock_is_named_until_it_is_dead(notes: Path, cli: CommandLine, tmp_path: Path, state: str) -> None:
    holder = forks.Running(writers.hold, notes)
    pid = holder.next()
    if state == "stopped":
        os.kill(pid, signal.SIGSTOP)
    commands = [line.format(files=tmp_path / "files").split() for line in WRITES]
    for command in [one for one in commands if one[1] != "other"]:
        ran = cli(*command)
        assert (ran.code, f"process (pid {pid})" in ran.err) == (7, True), f"{command}: {ran.code} {ran.err}"
        assert len(ran.err.splitlines()) == 1
    for line in READS:
        cli.ok(*line.split())
    assert writer_lock.holder(notes) == pid
    holder.kill()
    assert holder.end().killed
    assert writer_lock.holder(notes) is None
    assert cli.ok("get", "held").out == "A kettle boils.\n"
    for command in commands:
        cli.ok(*command)
    record("a writer that has the lock", len(commands), refused=len(commands) - 1)


@pytest.mark.parametrize("left", ["1", "", "no number", "99999999999999999999", "-5", "a folder"])
def test_what_a_dead_holder_has_left_hinders_nobody(notes: Path, cli: CommandLine, left: str) -> None:
    pid = notes / writer_lock.PID
    pid.mkdir() if left == "a folder" else pid.write_text(left)
    (notes / writer_lock.LOCK).write_text("left")
    assert writer_lock.holder(notes) is None
    cli.ok("index", "-n", "notes")
    cli.ok("delete", "-n", "notes", "--id", "own")
    assert len(Index.open(notes)) == 1


@pytest.mark.slow
def test_two_writers_and_eight_readers_share_an_index(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    Index.create(folder, encoder="hashing").close()
    at_work = [forks.Running(writers.write_dozens, folder, seed, SECONDS) for seed in (1, 2)]
    reading = [forks.Running(writers.read_dozens, folder, seed, SECONDS) for seed in range(READERS)]
    said = [writer.end().said[1:] for writer in at_work]
    read = [reader.end().said[-1] for reader in reading]
    assert [sentence for _, wrong in read for sentence in wrong] == []
    outcomes = Counter(kind for one in said for kind, *_ in one)
    assert min(outcomes["put"], outcomes["refused"], *(reads for reads, _ in read)) > 0
    for me, one in enumerate(said):
        other = at_work[1 - me].process.pid
        refused = [message for kind, message, _ in one if kind == "refused"]
        assert all(f"(pid {other})" in message or "by another process." in message for message in refused)
    with Index.open(folder) as index:
        assert index.analysis.verify() == []
        assert all(writers.problems_of(index, number) == [] for number in range(8))
        last = {number: {one[number] for one in map(last_words, said) if number in one} for number in range(8)}
        for number, words in last.items():
            there = {document["text"].partition("version ")[2].partition(",")[0] for document in dozen(index, number)}
            assert there <= {version for kind, version in words if kind == "put"}
            assert there or not words or "deleted" in {kind for kind, _ in words}
    record(
        "two writers and eight readers, in seconds",
        int(SECONDS),
        changes=outcomes["put"] + outcomes["deleted"],
        refusals=outcomes["refused"],
        reads=sum(reads for reads, _ in read),
        wrong=0,
    )


def last_words(said: list[tuple[str, Any, str]]) -> dict[int, tuple[str, str]]:
    """What a writer did to each dozen at last."""
    return {number: (kind, version) for kind, number, version in said if kind != "refused"}


def dozen(index: Index, number: int) -> list[dict[str, Any]]:
    return index.get(ids=[f"d{number}-{n}" for n in range(writers.DOZEN)])


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EIO, errno.ENOSYS, errno.ESTALE])
def test_a_file_system_that_refuses_locks_is_told(
    notes: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = (notes / "store.db").read_bytes()

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", refuse)
        for command in ("index -n notes", "delete -n notes --id own", "compact notes", "rm notes -y"):
            ran = cli(*command.split())
            assert (ran.code, len(ran.err.splitlines())) == (1, 1), ran.err
            assert "cannot be locked" in ran.err and os.strerror(number) in ran.err
        assert len(cli.ok("query", "kettle", "--json").json["hits"]) == 2
    assert (notes / "store.db").read_bytes() == before
    cli.ok("compact", "notes")


@pytest.mark.parametrize("number", [errno.EWOULDBLOCK, errno.EACCES])
def test_a_lock_that_seems_taken_for_a_moment_is_no_loss(
    notes: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """NFS says so while its server restarts."""
    real, calls = fcntl.flock, []

    def seldom(descriptor: int, how: int) -> None:
        calls.append(how)
        if how & fcntl.LOCK_EX and len(calls) % 2:
            raise OSError(number, os.strerror(number))
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", seldom)
    codes = [cli("index", "-n", "notes", "--force").code for _ in range(6)]
    assert set(codes) == {0, 7}
    assert cli.ok("verify", "notes").out == "notes: no problems found\n"


def test_a_lock_that_cannot_be_given_back_costs_nothing(
    notes: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.flock

    def hold(descriptor: int, how: int) -> None:
        if how & fcntl.LOCK_UN:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        real(descriptor, how)

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", hold)
        ran = cli("delete", "-n", "notes", "--id", "own")
        assert ran.code == 0, ran.err
    assert len(Index.open(notes)) == 1


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler, to replace a call of the C library")
@pytest.mark.parametrize(
    ("number", "every"), [(errno.ENOLCK, 3), (errno.EIO, 5), (errno.EOPNOTSUPP, 11)][: trials(2, 3)]
)
def test_locks_of_the_database_that_fail_now_and_then_cost_a_command_and_no_document(
    notes: Path, cli: CommandLine, tmp_path: Path, number: int, every: int
) -> None:
    """The byte ranges that SQLite locks, as on a network file system whose lock service comes and goes."""
    (tmp_path / "failing.c").write_text(FAILING_LOCKS)
    library = tmp_path / "failing.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "failing.c", "-ldl"], check=True)
    faults = {"LD_PRELOAD": str(library), "FAULT_ERRNO": str(number), "FAULT_EVERY": str(every)}
    lines = ["index -n notes --force", "query kettle -n notes", "verify notes", "compact notes", "get own"] * 4
    command = [sys.executable, "-c", COMMANDS, tmp_path / "ran.json", *lines]
    subprocess.run(command, env={**os.environ, **faults}, check=True, timeout=forks.PATIENCE)
    ran = json.loads((tmp_path / "ran.json").read_text())
    failed = [(line, code, said) for line, code, said in ran if code]
    assert failed, "no lock has failed"
    for line, code, said in failed:
        assert code in (1, 7) or (line, code) == ("verify notes", 5), f"{line}: {code} {said}"
        assert said.count("error: ") == 1 and "unexpected" not in said, f"{line}: {said}"
    cli.ok("index", "-n", "notes")
    assert cli.ok("verify", "notes").out == "notes: no problems found\n"
    with Index.open(notes) as index:
        assert [one["document"] for one in index.get()] == ["a.txt", "own"]
    record("locks of a network file system that fail", len(lines), failed_commands=len(failed), lost=0)
