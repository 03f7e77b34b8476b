"""Connections to a store, and how SQLite's errors are reported.

`trusted_schema=OFF` and `cell_size_check=ON` because an index may come from somebody else or from a bad disk.
Memory-mapped reading is left off: it read 10,000 vectors no faster, and an I/O error would end the process.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from semsearch.errors import Corrupt, Locked, SemsearchError, Unreadable

BUSY_MS = 5_000  # other programs (sqlite3, Datasette) may hold the file for a moment
CACHE_KIB = 32 * 1024
WAL_PAGES = 4_000  # checkpoint every 32 MB: with SQLite's 1,000 a long write copied each page several times
WAL_LIMIT = 64 * 2**20  # bytes; a WAL that grew under a long reader is cut back to this

_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_NO_WRITE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
REPAIR = "See what is wrong with `semsearch verify`; then restore a dump, or rebuild the index."


def connect(file: Path, mode: Literal["ro", "rw", "rwc", "immutable"]) -> sqlite3.Connection:
    """A connection to `file` that begins no transaction by itself. Raises sqlite3.Error.

    `immutable` promises SQLite that nobody writes, so that it needs neither WAL nor locks.
    """
    query = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    connection = sqlite3.connect(
        f"{file.absolute().as_uri()}?{query}",  # as_uri() quotes spaces, ?, #, % and what is not ASCII
        uri=True,
        isolation_level=None,
        check_same_thread=False,  # every Store has a lock of its own
        cached_statements=256,
    )
    try:
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "foreign_keys=ON", f"cache_size=-{CACHE_KIB}"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def make_durable(connection: sqlite3.Connection, folder: Path) -> None:
    """From now on a commit is on disk when it returns. Raises sqlite3.Error, SemsearchError."""
    (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if mode != "wal":
        raise SemsearchError(
            f"{folder}: this file system has no shared memory, so readers and a writer cannot work together.",
            "Keep indexes on a local disk (see --home).",
        )
    connection.execute("PRAGMA synchronous=FULL")  # NORMAL lost acknowledged documents in a trial with power cuts
    connection.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit={WAL_LIMIT}")


def connect_reader(file: Path) -> tuple[sqlite3.Connection, bool]:
    """A connection that only reads, and whether it had to be immutable. Raises sqlite3.Error, SemsearchError.

    Where the folder cannot be written to, SQLite cannot make the files by which it coordinates with a writer.
    Nobody writes there, so an empty or absent WAL says that the main file is all there is.
    """
    try:
        return _readable(file, "ro"), False
    except sqlite3.OperationalError as error:
        if code(error) not in _NO_WRITE:
            raise
        if has_wal(file):
            raise SemsearchError(
                f"{file.parent} cannot be written to, and holds commits that a killed writer left to be folded in.",
                "Open it once with the right to write: semsearch compact",
            ) from error
    return _readable(file, "immutable"), True


def check_installation() -> str:
    """What this Python's SQLite offers: full-text search, and the trigram tokenizer that finds CJK words.

    Raises SemsearchError where one is missing.
    """
    memory = sqlite3.connect(":memory:")
    for tokenizer in ("porter unicode61", "trigram"):
        try:
            memory.execute(f"CREATE VIRTUAL TABLE \"{tokenizer}\" USING fts5(text, tokenize='{tokenizer}')")
        except sqlite3.OperationalError as error:
            raise SemsearchError(
                f"{sqlite3.sqlite_version}: {error}", "Use a Python with SQLite 3.34 or later."
            ) from error
    return f"{sqlite3.sqlite_version} with FTS5 and trigram"


def _readable(file: Path, mode: Literal["ro", "immutable"]) -> sqlite3.Connection:
    connection = connect(file, mode)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def has_wal(file: Path) -> bool:
    """Whether commits wait in the write-ahead log beside `file`."""
    try:
        return file.with_name(file.name + "-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for an error of the Python layer."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Turn every sqlite3.Error inside into an error of ours that names `folder`."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, folder) from error
    except UnicodeEncodeError as error:
        raise Unreadable(f"the name {error.object[:80]!r} is not valid Unicode") from error


def explain(error: sqlite3.Error, folder: Path) -> SemsearchError:
    """What `error` means for the index in `folder`."""
    kind, said = code(error), str(error)
    if kind in _CORRUPT or "Could not decode to UTF-8" in said or "malformed" in said:
        return Corrupt(f"{folder} is damaged: {said}.", REPAIR)
    if kind in _BUSY:
        return Locked(f"{folder} is in use by another program ({said}).", "Close it and try again.")
    if "closed database" in said:
        return SemsearchError(f"index {folder.name} is closed.", "Open it again.")
    if kind == sqlite3.SQLITE_FULL:
        return SemsearchError(
            f"{folder}: the disk is full; the last batch was not written, all before it is safe.",
            "Make room and run the same command again: it goes on from there.",
        )
    if kind in _NO_WRITE:
        return SemsearchError(f"{folder} cannot be opened or written to: {said}.", "Check its permissions.")
    if kind == sqlite3.SQLITE_IOERR:
        return SemsearchError(f"{folder}: the disk reports an error ({said}).", "Check the disk.")
    return SemsearchError(f"{folder}: SQLite reports: {said}.")
