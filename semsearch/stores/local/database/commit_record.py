"""The number of the last acknowledged commit, in a file beside the database: `store.db-commits`.

SQLite opens an earlier state without a word where its write-ahead log was removed, cut or damaged after its writer was
killed. The counter `version` of that state is below the number in this file then. A number is written, and on disk,
after its commit is on disk and before it is acknowledged: a kill in between leaves a number that is too low, which
claims less, and never one that is too high. An index without the file (of an older version, or a copy of its database
alone) claims nothing.

Two lines take turns, each with a checksum, so that a line cut by a power failure leaves the one before.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import BinaryIO

from semsearch.stores.local.database import sqlite
from semsearch.stores.local.location import DATABASE
from semsearch.utils.atomic_write import sync_folder
from semsearch.utils.quantities import count

FILE = f"{DATABASE}-commits"
LOG_FILE = f"{DATABASE}-wal"
FIX = "Bring the file back or restore a dump; semsearch.admin.accept_loss goes on with what is there."
COMMAND = "Bring the file back or restore a dump; to go on with what is there: semsearch verify NAME --accept-loss"
_LINE = 30  # bytes


def acknowledged(folder: Path) -> int:
    """The number of the last commit that was acknowledged in `folder`; 0 where nothing is on record."""
    try:
        with (folder / FILE).open("rb") as file:
            content = file.read(2 * _LINE)
    except OSError:
        return 0
    return max(_number(content[:_LINE]), _number(content[_LINE:]))


def loss(folder: Path, reader: sqlite3.Connection | None = None) -> str | None:
    """Which acknowledged commits are missing in `folder`, a sentence; None where all are there. Raises Corrupt.

    The number on record is read first, and then the database, by `reader`, which is outside a transaction, or by a
    connection of its own: a commit in between is no loss.
    """
    recorded = acknowledged(folder)
    if not recorded:
        return None
    with sqlite.translated(folder), ExitStack() as opened:
        connection = reader or opened.enter_context(closing(sqlite.connect_reader(folder / DATABASE)[0]))
        rows = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchall()
    present = int(rows[0][0]) if rows else 0
    if present >= recorded:
        return None
    return (
        f"{folder} has lost its last {count(recorded - present, 'change')}: {recorded:,} were acknowledged, and its "
        f"database has {present:,}. Its log {LOG_FILE} was removed or damaged, or the database is an older copy."
    )


def forget(folder: Path) -> None:
    """Remove the file: nothing is claimed any more. Raises OSError."""
    (folder / FILE).unlink(missing_ok=True)


class CommitRecord:
    """The file of a writer, which is opened by its first commit."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None

    def acknowledge(self, number: int) -> None:
        """Record the number of a commit that is on disk.

        An error of the file system is no failure of the commit, which is safe: the number of before stays on record.
        """
        with suppress(OSError):
            if self._file is None:
                self._file = self._opened()
            self._file.seek(number % 2 * _LINE)
            self._file.write(_line(number))
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> BinaryIO:
        file = self._folder / FILE
        with suppress(FileExistsError), file.open("xb") as new:
            new.write(2 * _line(0))
            os.fsync(new.fileno())
            sync_folder(self._folder)
        return file.open("r+b", buffering=0)


def _line(number: int) -> bytes:
    digits = f"{number:020}"
    return f"{digits} {zlib.crc32(digits.encode()):08x}\n".encode()


def _number(line: bytes) -> int:
    digits = line[:20]
    return int(digits) if digits.isdigit() and line == _line(int(digits)) else 0
