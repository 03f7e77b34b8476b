"""Files with odd names, of odd kinds, with odd times, that may not be read, and very many of them.

Each run ends with every other file in the index, and a reason for each that is not.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import sys
import tempfile
import time
from pathlib import Path

import followed
import pytest
from followed import LONG_AGO, age, state, texts
from helpers.commandline import CommandLine
from programme import record, trials

from semsearch import admin
from semsearch.documents import walk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the files are those of POSIX systems")
MANY = trials(2_000, 100_000)
NAMES = (  # as bytes: what POSIX allows
    *(b"e\xcc\x81.txt", "é.txt".encode(), "📎 notes 🫖.md".encode(), b"two\nlines.txt", b"tab\tand\x1b[31mred.txt"),
    *(
        b"\xff\xfe.txt",
        b"caf\xe9",
        b"-n.txt",
        b" lead and trail .txt ",
        b"a#12.txt",
        b"records.jsonl#3",
        b"'; DROP.txt",
    ),
    *(b"%s%n%20.txt", b"CON.txt", b"a" * 251 + b".txt", "文".encode() * 83 + b".md", b"*?[x].txt", b"back\\slash.txt"),
    b"\xe2\x80\xaegpj.txt",
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return followed.written(tmp_path / "files")


def test_a_file_of_any_name_is_indexed_found_and_followed(cli: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    words = {name: f"Subject number{at} of a harbour." for at, name in enumerate(NAMES)}
    for name, text in words.items():
        (folder / os.fsdecode(name)).write_text(text)
    report = cli.ok("index", folder, "-n", "notes", "--json").json
    assert (report["documents"]["added"], report["skipped"]) == (len(NAMES), [])
    for name, text in words.items():
        [hit] = cli.ok("query", text.split()[1], "-n", "notes", "--mode", "keyword", "--json").json["hits"]
        assert hit["text"] == text
        assert hit["path"] == os.fsdecode(name) or b"\xff" in name or b"\xe9" in name
    for line in ("info notes --documents", "query harbour -n notes -k 50"):
        assert "\x1b[31m" not in cli.ok(*line.split(), terminal=True).out
    assert cli.ok("index", "-n", "notes", "--json").json["documents"]["unchanged"] == len(NAMES)
    for name in NAMES[::2]:
        (folder / os.fsdecode(name)).unlink()
    assert cli.ok("index", "-n", "notes", "--json").json["documents"]["deleted"] == len(NAMES[::2])
    cli.ok("verify", "notes")
    record("names of files", len(NAMES), lost=0)


def test_two_names_that_are_printed_alike_are_two_files_or_one_is_reported(cli: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name, text in ((b"\xe9.txt", "Bread needs salt."), (b"\\xe9.txt", "The kettle boils.")):
        (folder / os.fsdecode(name)).write_text(text)
    report = cli.ok("index", folder, "-n", "notes", "--json").json
    assert report["documents"]["added"] + len(report["skipped"]) == 2
    assert all("name" in one["reason"] for one in report["skipped"])


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    here = socket.socket(socket.AF_UNIX)
    with contextlib.chdir(path.parent):
        here.bind(path.name)
    here.close()


def device(path: Path) -> None:
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero, which has no end
    except PermissionError:
        path.symlink_to("/dev/zero")


SPECIAL = {"a named pipe": pipe, "a socket": listening, "device": device}


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_file_is_named_and_never_read(cli: CommandLine, files: Path, kind: str) -> None:
    """Neither as a document, nor as an ignore file, nor as a file that is named, nor as the output of a dump."""
    make = SPECIAL[kind]
    for name in ("odd.txt", "odd", "odd.jsonl", "odd.html", ".gitignore", ".semsearchignore", "sub/.gitignore"):
        make(files / name)
    report = cli.ok("index", files, "-n", "notes", "--json").json
    odd = {one["path"]: one["reason"] for one in report["skipped"]}
    assert set(odd) == {"odd", "odd.txt", "odd.jsonl", "odd.html"}
    assert all(kind in reason or "outside the folder" in reason for reason in odd.values())
    assert state(Path(os.environ["SEMSEARCH_HOME"]) / "notes") == texts(files)
    ran = cli("index", files / "odd.txt", "-n", "alone")
    assert ran.code in (0, 1, 2) and "Traceback" not in ran.err and not admin.exists("alone")
    for command in (("restore", files / "odd"), ("query", "tea", "-n", "notes", "--batch", files / "odd")):
        assert cli(*command).code != 0 or kind == "device"
    ran = cli("dump", "notes", "-o", files / "odd", "-y")
    assert ran.code == 2 and not (files / "odd").is_file(), ran.err
    record("a pipe, a socket or a device in place of a file", 11, hung=0)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the right to become another user")
def test_a_file_that_may_not_be_read_is_named_and_its_earlier_version_stays(cli: CommandLine) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:  # pytest's own folders are closed to others
        folder = Path(place, "files")
        (folder / "closed").mkdir(parents=True)
        for name in ("a.txt", "b.txt", "closed/c.txt"):
            (folder / name).write_text(f"The kettle {name} boils.")
        for path in (Path(place), folder, folder / "closed"):
            path.chmod(0o777)
        home = {"SEMSEARCH_HOME": f"{place}/home", "XDG_CACHE_HOME": f"{place}/cache", "XDG_CONFIG_HOME": place}
        os.seteuid(65534)
        try:
            cli.ok("index", folder, "-n", "notes", **home)
            os.seteuid(0)
            for name, mode in (("b.txt", 0o600), ("closed", 0o700)):
                (folder / name).chmod(mode)
            (folder / "b.txt").write_text("Changed, and closed.")
            os.seteuid(65534)
            report = cli.ok("index", "-n", "notes", "--json", **home).json
        finally:
            os.seteuid(0)
        assert {one["path"] for one in report["skipped"]} == {"b.txt", "closed"}
        assert all("Permission denied" in one["reason"] for one in report["skipped"])
        assert state(Path(place, "home", "notes"))["b.txt"] == "The kettle b.txt boils."
        assert report["documents"]["deleted"] == 0


CLOCKS = {"set back a year": -(365 * 86_400), "at its beginning": None, "a year ahead": 365 * 86_400}


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_clock_that_is_wrong_hides_no_change(
    cli: CommandLine, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    """The clock of this machine, or of the one whose disk it is: files come from the future or the past then."""
    cli.ok("index", files, "-n", "notes")
    shift = CLOCKS[clock]
    real, real_ns = time.time, time.time_ns
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: 1.0 if shift is None else real() + shift)
        patched.setattr(time, "time_ns", lambda: 1 if shift is None else real_ns() + shift * 10**9)
        for turn, stamp in enumerate((0, -1, time.time(), 2**33, LONG_AGO)):
            (files / "a-first.txt").write_text(f"Turn {turn}.")
            os.utime(files / "a-first.txt", (stamp, stamp))
            assert cli.ok("index", "-n", "notes", "--json").json["documents"]["changed"] == 1
            assert state(tmp_path / "home" / "notes") == texts(files)
            assert cli.ok("index", "-n", "notes", "--json").json["documents"]["changed"] == 0
            cli.ok("info", "notes")
            cli.ok("query", f"Turn {turn}", "-n", "notes", "--where", "date > 1990")
    record("a clock that is wrong", 5, hidden=0)


@pytest.mark.slow
def test_a_folder_of_very_many_files_is_indexed_once_and_one_more_file_has_to_be_confirmed(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "MAX_FILES", MANY)  # 100,000 in the full programme: as it is
    folder = tmp_path / "files"
    folder.mkdir()
    for n in range(MANY):
        (folder / f"{n}.txt").write_text(f"Note {n}.")
    age(folder)
    assert cli.ok("index", folder, "-n", "notes", "--json").json["documents"]["added"] == MANY
    began = time.process_time()
    assert cli.ok("index", "-n", "notes", "--json").json["documents"]["unchanged"] == MANY
    assert time.process_time() - began < MANY / 500  # 2 ms a file: none is opened
    (folder / "more.txt").write_text("One more.")
    refused = cli("index", "-n", "notes")
    assert (refused.code, f"more than {MANY:,} files" in refused.err) == (2, True), refused.err
    assert cli.ok("index", "-n", "notes", "-y", "--json").json["documents"]["added"] == 1
    cli.ok("verify", "notes")
    record("files in one folder", MANY, lost=0)
