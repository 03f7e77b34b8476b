"""`semsearch watch`: bursts, renames, folders that go and come back, lost events, no events, the end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from helpers.commandline import CommandLine

from semsearch import Index
from semsearch.cli.indexes import file_watcher


@pytest.fixture
def notes(tmp_path: Path, cli: CommandLine) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.txt").write_text("Tea is made with hot water.", encoding="utf-8")
    assert cli("index", folder, "-m", "hashing").code == 0
    return folder


@contextmanager
def watching(*flags: str) -> Iterator[subprocess.Popen[str]]:
    """`semsearch watch notes --json`, after its first report."""
    running = subprocess.Popen(
        [sys.executable, "-c", "from semsearch.cli.main import run; run()", "watch", "notes", "--json", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout and running.stderr
        assert '"unchanged": 1' in running.stdout.readline()
        assert "watching" in running.stderr.readline()
        yield running
    finally:
        running.kill()
        running.communicate()


def report(running: subprocess.Popen[str]) -> dict[str, Any]:
    assert running.stdout
    found: dict[str, Any] = json.loads(running.stdout.readline())["documents"]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--poll",)], ids=["events", "polling"])
def test_bursts_are_folded_renames_encode_nothing_and_a_vanished_folder_is_waited_for(
    notes: Path, flags: tuple[str, ...]
) -> None:
    with watching(*flags) as running:
        for at in range(50):
            (notes / f"{at}.txt").write_text(f"Note {at} about coal.", encoding="utf-8")
        added = updates = 0
        while added < 50:
            added += report(running)["added"]
            updates += 1
        assert updates < 10
        (notes / "tea.txt").rename(notes / "hot drinks.txt")
        assert report(running)["moved"] == 1
        notes.rename(notes.with_name("away"))
        assert running.stderr
        told = running.stderr.readline()  # by an update, or where events are watched by the look before it
        assert "another attempt" in told or ("is away" in told and not flags)
        notes.with_name("away").rename(notes)
        (notes / "new.txt").write_text("A kettle.", encoding="utf-8")
        counts = report(running)
        assert (counts["added"], counts["deleted"]) == (1, 0)
        running.terminate()
        assert running.wait(timeout=60) == 143
        assert "another attempt" not in (rest := running.stderr.read()) and "Traceback" not in rest
    with Index.open("notes") as index:
        assert len(index) == 52 and not index.analysis.verify()


class Silent:
    """A stand-in for watchfiles that has no event to tell, but that it has begun."""

    @staticmethod
    def watch(*paths: str, stop_event: Event, **_: object) -> Iterator[set[object]]:
        yield set()
        stop_event.wait()


class Refusing:
    """A stand-in for watchfiles on a system whose watches are all taken."""

    @staticmethod
    def watch(*paths: str, **_: object) -> Iterator[set[object]]:
        raise OSError("OS file watch limit reached")


def test_changes_whose_events_were_lost_are_found_and_told(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", Silent)
    monkeypatch.setattr(file_watcher, "RESCAN_SECONDS", 0.05)
    monkeypatch.setattr(file_watcher, "CHECK_SECONDS", 0.02)
    told: list[str] = []
    following = file_watcher.changes(tmp_path / "home" / "notes", warn=told.append)
    for at in count():
        next(following)
        if told:
            break
        (notes / f"{at}.txt").write_text("A kettle.", encoding="utf-8")
    following.close()
    assert "1 change found by looking: the system has lost the events." in told


def test_without_events_the_files_are_looked_at(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", Refusing)
    monkeypatch.setattr(file_watcher, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(file_watcher, "POLL_SECONDS", 0.01)
    told: list[str] = []
    following = file_watcher.changes(tmp_path / "home" / "notes", warn=told.append)
    next(following)
    (notes / "new.txt").write_text("A kettle.", encoding="utf-8")
    next(following)
    following.close()
    assert len(told) == 1 and "OS file watch limit reached" in told[0]
