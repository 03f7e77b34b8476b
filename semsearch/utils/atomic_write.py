"""Atomic writing of files and folders: after a kill or a power cut, each has its old or its new content."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from semsearch.errors import SemsearchError
from semsearch.utils.writer_lock import LOCK, PID, WriterLock

KINDS = ("dumping", "restoring", "salvaging", "reading")  # what is done in a workplace
NEW_S = 60.0  # for which a workplace whose process has not written its pid may be one that is made just now


def write_text(file: Path, content: str) -> None:
    """Replace `file` by one with `content`, once that is on disk."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(content, encoding="utf-8")
    sync_file(new)
    new.replace(file)
    sync_folder(file.parent)


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A file beside `file` to write to, which takes its place once it is on disk; after an error, it is removed."""
    new = file.with_name(f".{file.name}.new")
    try:
        yield new
        sync_file(new)
        new.replace(file)
        sync_folder(file.parent)
    finally:
        new.unlink(missing_ok=True)


def sync_file(file: Path) -> None:
    """Flush the content of a file to disk."""
    with file.open("rb+") as written:
        os.fsync(written.fileno())


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk: only then is a file that was created or renamed in it safe."""
    if os.name == "nt":  # Windows cannot open folders, and has its journal
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def workplace(target: Path, doing: str) -> Iterator[Path]:
    """An empty folder beside `target`, removed afterwards; `doing` is one of `KINDS`.

    What a kill has left of others beside it is removed, too. Raises OSError, Locked.
    """
    around = target.absolute().parent / f".{target.name}.{doing}"
    sweep(around.parent)
    lock = _entered(around)
    try:
        place = around / target.name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        yield place
    finally:
        lock.release()
        shutil.rmtree(around, ignore_errors=True)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder for temporary files, removed afterwards; after a kill, by the next call."""
    with workplace(Path(tempfile.gettempdir(), f"semsearch-{secrets.token_hex(8)}"), "reading") as place:
        yield place


def sweep(folder: Path) -> None:
    """Remove the workplaces in `folder` whose process has ended; one that cannot be removed stays."""
    with suppress(OSError):
        for around in [place for kind in KINDS for place in folder.glob(f".*.{kind}")]:
            with suppress(OSError):  # somebody else's, in a folder for temporary files
                if _is_left(around):
                    shutil.rmtree(around, ignore_errors=True)


def _entered(around: Path) -> WriterLock:
    """The lock of a workplace, which is made if it does not exist."""
    try:
        around.mkdir(mode=0o700, exist_ok=True)
        return WriterLock(around)
    except SemsearchError:
        if around.exists():
            raise
        around.mkdir(mode=0o700)  # another process has removed it, as it was not locked yet
        return WriterLock(around)


def _is_left(around: Path) -> bool:
    """Whether a folder is a workplace of this user, with nothing else in it, and nobody works there."""
    if around.is_symlink() or around.stat().st_uid != _user():
        return False
    name = around.name[1:].rpartition(".")[0]
    content = {path.name for path in around.iterdir()}
    if content - {LOCK, PID, name}:
        return False
    if LOCK not in content:  # a kill between two calls, a power cut that took its name, or it is made just now
        shutil.rmtree(around / name, ignore_errors=True)
        with suppress(OSError):
            (around / PID).unlink(missing_ok=True)
            around.rmdir()  # fails if the lock is there by now
        return False
    if PID not in content and time.time() - around.stat().st_mtime < NEW_S:  # trying its lock would keep others from it
        return False
    try:
        WriterLock(around).release()
    except SemsearchError:  # Locked, or a file system without locks
        return False
    return True


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0  # files belong to user 0 on Windows
