"""Disks that are full, fail, may not be written to or vanish: one clear line, and then the same command completes."""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from commands import NONE, Limits
from failing_disk import COMMANDS, READING, Place, complaint, template
from helpers.commandline import Ran
from mounting import Mount, mounted, remount, small_disk
from programme import record, trials

NOBODY = 65534
FULL = r"disk is full|[Nn]o space left"
LIMIT = r"may not grow|[Ff]ile too large"
BROKEN = r"[Ii]nput/output error|disk reports an error|disk I/O error"
READ_ONLY = r"[Rr]ead-only|readonly|cannot be (opened or )?written"
FORBIDDEN = r"[Pp]ermission|readonly|cannot be (opened or )?written"
GONE = rf"{BROKEN}|[Ss]tale file handle|no index|is gone|is missing|does not exist|No such file|cannot be opened"
VANISHED = (errno.ESTALE, errno.ENOENT, errno.EIO)
KINDS = ("read", "write", "read", "fsync", "write", "truncate")


class Healthy(NamedTuple):
    """What a command says and leaves where nothing fails."""

    ran: Ran
    content: dict[str, Any]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(tmp_path_factory.mktemp("failing") / "origin")


@pytest.fixture(scope="module")
def healthy(origin: Path) -> Callable[[str], Healthy]:
    @cache
    def ran(command: str) -> Healthy:
        with TemporaryDirectory() as scratch:
            place = Place.made(Path(scratch) / "place", origin)
            done = place.run(command)
            assert done.code == 0, done.err
            return Healthy(done, place.content())

    return ran


def writable(folder: Path) -> Callable[[], None]:
    return lambda: remount(folder, "rw")


def room(folder: Path) -> Callable[[], None]:
    return lambda: remount(folder, "size=64m")


def check(place: Place, command: str, cause: str, right: Healthy, mend: Callable[[], object], **how: Any) -> str:
    """Run a command where something fails, and again once that is over; what became of it."""
    ran = place.run(command, how.get("limits", NONE))
    became = "told"
    if ran.code == 0:
        assert command not in READING or ran.out == right.ran.out, (command, "a wrong answer")
        became = "done all the same"
    else:
        wrong = complaint(ran, command, cause, how.get("codes", (1,)), *how.get("named", ()))
        assert not wrong, (command, wrong)
    mend()
    if ran.code:
        shutil.rmtree(place.folder / "home" / "saved", ignore_errors=True)  # of a salvage that lost something
        again = place.run(command)
        assert again.code == 0, (command, ran.err, again.err)
        assert command not in READING or again.out == right.ran.out, command
    assert place.content() == right.content, (command, ran.err)
    left = [path for path in (place.folder / "home").rglob("*") if path.name.endswith((".tmp", ".new"))]
    assert not left and not list(place.folder.glob(".*")), (command, left)
    return became


def chosen(number: int, sample: int) -> list[str]:
    """The commands of one trial: all of them in the full programme, else a few, other ones each time."""
    names = list(COMMANDS)
    return [names[(number * sample + at) % len(names)] for at in range(trials(sample, len(names)))]


def size(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))


def test_a_full_disk_is_told_and_the_command_completes_once_there_is_room(
    tmp_path: Path, origin: Path, healthy: Callable[[str], Healthy]
) -> None:
    became: Counter[str] = Counter()
    count, chance, used = trials(8, 50), random.Random(2), size(origin) // 1024
    for number in range(count):
        for command in chosen(number, 3):
            right, folder = healthy(command), tmp_path / "small"
            with small_disk(folder, used + chance.randrange(8, 900)):
                place = Place.made(folder / "place", origin)
                became[check(place, command, FULL, right, room(folder))] += 1
            folder.rmdir()
    record("full disk", sum(became.values()), sizes=count, **became)
    assert became["told"] > count / 2, became


def test_a_limit_on_the_size_of_files_is_told(tmp_path: Path, origin: Path, healthy: Callable[[str], Healthy]) -> None:
    became: Counter[str] = Counter()
    count, chance = trials(1, 20), random.Random(3)
    for number in range(count):
        for command in chosen(number, 3):
            place, right = Place.made(tmp_path / "place", origin), healthy(command)
            limits = Limits(file_bytes=chance.randrange(1, 500) * 1024)
            became[check(place, command, LIMIT, right, lambda: None, limits=limits)] += 1
            shutil.rmtree(place.folder)
    record("limit on the size of files", sum(became.values()), sizes=count, **became)
    assert became["told"], became


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mount]:
    with mounted(tmp_path_factory.mktemp("fuse")) as mount:
        yield mount


@contextmanager
def failing_place(mount: Mount, origin: Path, name: str) -> Iterator[Place]:
    """A place behind the mount, whose files the system has not read yet."""
    shutil.copytree(origin, mount.folder / name)
    yield Place(mount.path / name)
    mount.fail()
    shutil.rmtree(mount.path / name)


@pytest.fixture(scope="module")
def operations(failing: Mount, origin: Path) -> Callable[[str], dict[str, int]]:
    """How many operations of each kind a command needs."""

    @cache
    def counted(command: str) -> dict[str, int]:
        with failing_place(failing, origin, f"counted {command}") as place:
            failing.fail()
            assert place.run(command).code == 0
            return failing.counted()

    return counted


def test_errors_of_the_disk_are_told(
    failing: Mount, origin: Path, healthy: Callable[[str], Healthy], operations: Callable[[str], dict[str, int]]
) -> None:
    became: Counter[str] = Counter()
    count, chance, names = trials(16, 100), random.Random(4), list(COMMANDS)
    for number in range(count):
        command, kinds = names[number * 7 % len(names)], ("read", "write", "read", "fsync", "write", "truncate")
        kind = next(kind for kind in (kinds[number % 6], "read") if operations(command).get(kind))
        after = chance.randrange(operations(command)[kind])
        with failing_place(failing, origin, f"error {number}") as place:
            right = healthy(command)
            once = number % 3 == 2  # the others go on failing
            failing.fail(kind=kind, after=after, once=once)
            codes = (1, 5) if command in ("verify", "salvage") else (1,)
            lenient = once or command == "salvage"  # SQLite says malformed; salvage lists it as lost
            cause = f"{BROKEN}|is damaged" if lenient else BROKEN
            became[check(place, command, cause, right, failing.fail, codes=codes)] += 1
    record("error of the disk", count, **became)
    assert became["told"] > count / 3, became


def test_a_disk_that_vanishes_is_told(
    failing: Mount, origin: Path, healthy: Callable[[str], Healthy], operations: Callable[[str], dict[str, int]]
) -> None:
    """As a network drive does: from some moment on, everything fails."""
    became: Counter[str] = Counter()
    count, chance, names = trials(8, 30), random.Random(5), list(COMMANDS)
    for number in range(count):
        command = names[number * 3 % len(names)]
        after = chance.randrange(operations(command)["all"])
        with failing_place(failing, origin, f"vanished {number}") as place:
            right = healthy(command)
            failing.fail(
                kind="all", after=after, once=False, error=chance.choice((errno.ESTALE, errno.ENOENT, errno.EIO))
            )
            became[check(place, command, GONE, right, failing.fail, codes=(1, 3, 5), named=[str(failing.path)])] += 1
    record("disk that vanishes", count, **became)
    assert became["told"], became


def test_a_disk_that_may_only_be_read(tmp_path: Path, origin: Path, healthy: Callable[[str], Healthy]) -> None:
    became: Counter[str] = Counter()
    for command in chosen(0, 3):
        folder = tmp_path / "small"
        with small_disk(folder, 64 * 1024):
            place = Place.made(folder / "place", origin)
            remount(folder, "ro")
            became[check(place, command, READ_ONLY, healthy(command), writable(folder))] += 1
        folder.rmdir()
    record("read-only disk", sum(became.values()), **became)
    assert became["done all the same"] == len({*READING} & {*chosen(0, 3)}), became


@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_what_belongs_to_another_user_is_told(origin: Path, healthy: Callable[[str], Healthy], mode: int) -> None:
    """The other user may read it, or not even that."""
    if os.geteuid() != 0:
        pytest.skip("only root may act as another user")
    became: Counter[str] = Counter()
    for command in chosen(0, 3):
        with TemporaryDirectory() as scratch:
            Path(scratch).chmod(0o755)
            place = Place.made(Path(scratch) / "place", origin)
            (place.folder / "home" / "notes").chmod(mode)
            became[check(place, command, FORBIDDEN, healthy(command), lambda: None, limits=Limits(user=NOBODY))] += 1
    record("files of another user", sum(became.values()), **became)
    assert became["done all the same"] == len({*READING} & {*chosen(0, 3)}) * (mode == 0o755), became


def test_a_folder_that_is_gone_is_told_and_found_again(
    tmp_path: Path, origin: Path, healthy: Callable[[str], Healthy]
) -> None:
    count = 0
    for command in [name for name in chosen(0, 3) if name not in ("index", "index anew", "restore")]:
        place = Place.made(tmp_path / "place", origin)
        home, away = place.folder / "home", place.folder / "away"
        home.rename(away)

        def back(home: Path = home, away: Path = away) -> None:
            shutil.rmtree(home, ignore_errors=True)
            away.rename(home)

        assert check(place, command, GONE, healthy(command), back, codes=(3,), named=[str(home)]) == "told"
        shutil.rmtree(place.folder)
        count += 1
    record("vanished folder", count, told=count)
