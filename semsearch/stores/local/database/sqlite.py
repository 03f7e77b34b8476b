"""Connections to a store, and how SQLite's errors are reported.

`trusted_schema=OFF` and `cell_size_check=ON` because an index may come from another person or a bad disk.
Memory-mapped reading is left off: it read 10,000 vectors no faster, and an I/O error would end the process.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from semsearch.errors import Corrupt, Locked, SemsearchError, Unreadable
from semsearch.stores.local.database import checksums

OLDEST = (3, 38)  # STRICT tables (3.37), JSON functions built in (3.38); Debian 12 has 3.40
BUSY_MS = 5_000  # other programs (sqlite3, Datasette) may lock the file for a moment
CACHE_KIB = 32 * 1024
WAL_PAGES = 4_000  # checkpoint every 32 MB: with SQLite's 1,000 a long write copied each page several times
PIECE = 2**20  # bytes that are read at a time
WAL_LIMIT = 64 * 2**20  # bytes; a WAL that grew under a long reader is cut back to this

_CORRUPT = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_NO_WRITE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_READING = {sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS}
_ADVICE = f"Use a Python with SQLite {OLDEST[0]}.{OLDEST[1]} or later, and with its full-text search."
_FUNCTION = "user-defined function raised"  # a checksum of what is no text
REPAIR = "Verify the index to see what is wrong; then restore a dump, or build it anew."


def connect(file: Path, mode: Literal["ro", "rw", "rwc", "immutable"]) -> sqlite3.Connection:
    """A connection to `file` that begins no transaction by itself. Raises sqlite3.Error.

    `immutable` assures SQLite that no process writes, so that it needs neither WAL nor locks.
    """
    query = "mode=ro&immutable=1" if mode == "immutable" else f"mode={mode}"
    connection = sqlite3.connect(
        f"{file.absolute().as_uri()}?{query}",  # as_uri() quotes spaces, ?, #, % and what is not ASCII
        uri=True,
        isolation_level=None,
        check_same_thread=False,  # every Store has a lock of its own
        cached_statements=256,
    )
    pragmas = (f"busy_timeout={BUSY_MS}", "trusted_schema=OFF", "cell_size_check=ON", "foreign_keys=ON")
    with on_error(connection.close):
        for pragma in (*pragmas, f"cache_size=-{CACHE_KIB}"):
            connection.execute(f"PRAGMA {pragma}")
        checksums.add_functions(connection)
    return connection


def make_durable(connection: sqlite3.Connection, folder: Path) -> None:
    """From now on a commit is on disk when it returns. Raises sqlite3.Error, SemsearchError."""
    (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if mode != "wal":
        raise SemsearchError(
            f"{folder}: this file system has no shared memory, so readers and a writer cannot work together.",
            "Keep indexes on a local disk.",
        )
    connection.execute("PRAGMA synchronous=FULL")  # NORMAL lost acknowledged documents in a trial with power cuts
    connection.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit={WAL_LIMIT}")


def connect_reader(file: Path) -> tuple[sqlite3.Connection, bool]:
    """A connection that only reads, and whether it had to be immutable. Raises sqlite3.Error, SemsearchError.

    Where the folder cannot be written to, SQLite cannot make the files by which it coordinates with a writer.
    No process writes there, so with an empty or absent WAL the main file is complete.
    """
    try:
        return _readable(file, "ro"), False
    except sqlite3.OperationalError as error:
        if code(error) not in _NO_WRITE:
            raise
        if has_wal(file):
            raise SemsearchError(
                f"{file.parent} cannot be written to, and has commits of a killed writer beside the main file.",
                "Open it once with write permission, for example with compact().",
                "Open it once with write permission: semsearch compact",
            ) from error
    return _readable(file, "immutable"), True


def check_installation() -> str:
    """The version of this Python's SQLite, with full-text search and the trigram tokenizer that finds CJK words.

    Raises SemsearchError where one is missing, or where SQLite is too old.
    """
    check_version()
    memory = sqlite3.connect(":memory:")
    for tokenizer in ("porter unicode61", "trigram"):
        try:
            memory.execute(f"CREATE VIRTUAL TABLE \"{tokenizer}\" USING fts5(text, tokenize='{tokenizer}')")
        except sqlite3.OperationalError as error:
            raise SemsearchError(f"{sqlite3.sqlite_version}: {error}", _ADVICE) from error
    return f"{sqlite3.sqlite_version} with FTS5 and trigram"


def check_version() -> None:
    """Raises SemsearchError where this Python's SQLite is older than OLDEST."""
    if sqlite3.sqlite_version_info < OLDEST:
        raise SemsearchError(f"SQLite {sqlite3.sqlite_version} is too old.", _ADVICE)


def _readable(file: Path, mode: Literal["ro", "immutable"]) -> sqlite3.Connection:
    connection = connect(file, mode)
    with on_error(connection.close):
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
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


def write_failure(error: sqlite3.Error) -> str:
    """Why SQLite could not write, in words; "" for another error."""
    if code(error) == sqlite3.SQLITE_FULL:
        return "the disk is full"
    if code(error) != sqlite3.SQLITE_IOERR or getattr(error, "sqlite_errorcode", 0) in _READING:
        return ""
    if error.sqlite_errorcode == sqlite3.SQLITE_IOERR_SHMSIZE:
        return "the disk is full, or files may not grow further (ulimit -f)"
    return "the disk reports an error, or files may not grow further (ulimit -f)"


def unreadable(folder: Path) -> OSError | None:
    """The error that the disk gives for a database in `folder` or its log; None where they can be read to their ends.

    SQLite calls a file malformed that it cannot read.
    """
    try:
        for file in [*folder.glob("store.db"), *folder.glob("store.new"), *folder.glob("store.*-wal")]:
            with file.open("rb", buffering=0) as content:
                while content.read(PIECE):
                    pass
    except OSError as error:
        return error
    return None


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another program has locked the file."""
    return code(error) in _BUSY


@contextmanager
def on_error(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` if an exception leaves the block."""
    try:
        yield
    except BaseException:
        undo()
        raise


class Damaged(ValueError):
    """A row is not what was written: a sentence that does not name the index."""


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Turn every sqlite3.Error and Damaged inside into an error of ours that names `folder`."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, folder) from error
    except Damaged as error:
        raise Corrupt(f"{folder}: {error}", REPAIR) from error
    except UnicodeDecodeError as error:  # in a name that SQLite quotes in a message, too
        raise Corrupt(f"{folder} is damaged: {error.reason} in a text.", REPAIR) from error
    except UnicodeEncodeError as error:
        raise Unreadable(f"the name {error.object[:80]!r} is not valid Unicode") from error


def explain(error: sqlite3.Error, folder: Path) -> SemsearchError:
    """What `error` means for the index in `folder`."""
    kind, message = code(error), str(error)
    if kind == sqlite3.SQLITE_IOERR or (kind in _CORRUPT and unreadable(folder)):
        return _of_the_disk(error, folder)
    if kind in _CORRUPT or "Could not decode to UTF-8" in message or "malformed" in message or _FUNCTION in message:
        return Corrupt(f"{folder} is damaged: {message}.", REPAIR)
    if is_busy(error):
        return Locked(f"{folder} is in use by another program ({message}).", "Close it and try again.")
    if "closed database" in message:
        return SemsearchError(f"index {folder.name} is closed.", "Open it again.")
    if kind == sqlite3.SQLITE_FULL:
        return SemsearchError(
            f"{folder}: the disk is full; the last batch was not written, all before it is safe.",
            "Free some space and run the same command again: it continues where it stopped.",
        )
    if kind in _NO_WRITE:
        return SemsearchError(f"{folder} cannot be opened or written to: {message}.", "Check its permissions.")
    return SemsearchError(f"{folder}: SQLite reports: {message}.")


def _of_the_disk(error: sqlite3.Error, folder: Path) -> SemsearchError:
    if reason := write_failure(error):
        fix = "Check the disk and its free space, and the limit on the size of files (ulimit -f)."
        return SemsearchError(f"{folder} cannot be written to: {reason}.", fix)
    return SemsearchError(f"{folder}: the disk reports an error while reading.", "Check the disk.")
