"""The folder of a local store: creating, renaming and removing it; a kill leaves either the old state or the new."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.stores.local.database import commit_record, schema, sqlite
from semsearch.stores.local.database.connection import Connection
from semsearch.stores.local.location import DATABASE
from semsearch.stores.local.writer import LocalWriter
from semsearch.utils.atomic_write import sweep, sync_file, sync_folder
from semsearch.utils.writer_lock import LOCK, PID, WriterLock
from semsearch.vector_index import cache_files, layout_file

UNFINISHED = "store.new"  # becomes store.db by a rename when it is whole; alone it is no index
CACHES = (f"{DATABASE}-*", cache_files.FILES, layout_file.FILES)
REMAINS = (f"{UNFINISHED}*", *CACHES)  # of what was being created or removed at a kill


def create(folder: Path, fill: Callable[[LocalWriter], None] | None = None, *, address: str = "") -> LocalWriter:
    """Create a store in `folder` with what `fill` writes, and open it. Raises UsageError for a folder in use.

    A kill at any moment, or an error in `fill`, leaves a complete store, or a folder in which one can be created.
    """
    refuse_address(address)
    with _file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        sweep(folder.parent)
        _refuse_content(folder)
        lock = WriterLock(folder)
        with sqlite.on_error(lock.release):
            _refuse_content(folder)  # another process may have been faster
            _create_database(folder)
            if fill is not None:
                _fill(folder, lock, fill)
            (folder / UNFINISHED).rename(folder / DATABASE)
            sync_folder(folder)
            sync_folder(folder.parent)
            return LocalWriter(Connection(folder, write=True), lock)


def link(folder: Path, address: str) -> bool:
    """A local store has no server: without an address there is nothing to link. Raises UsageError with one."""
    refuse_address(address)
    return False


def unlink(folder: Path) -> list[str]:
    """Raises UsageError: a local store is no link."""
    raise UsageError(
        f"{folder.name} is stored here, not on a server.",
        "semsearch.admin.remove removes it.",
        "Leave out --unlink to remove the index.",
    )


def remove(folder: Path) -> list[str]:
    """Remove the store in `folder`; the names of the files that stay. Raises NotFound, Locked."""
    if not (folder / DATABASE).is_file():
        raise NotFound(f"there is no index called {folder.name!r}.", "Nothing was removed.")
    lock = WriterLock(folder)
    try:
        commit_record.forget(folder)
        (folder / DATABASE).unlink(missing_ok=True)  # from here on it is no index
        for file in [file for pattern in CACHES for file in folder.glob(pattern)]:
            file.unlink(missing_ok=True)
    finally:
        lock.release()
    for file in (folder / LOCK, folder / PID):
        file.unlink(missing_ok=True)
    left = sorted(file.name for file in folder.iterdir())
    if not left:
        folder.rmdir()
    return left


def rename(folder: Path, target: Path) -> None:
    """Rename the folder of a store to `target`, on the same disk, in one step of the file system.

    Open readers go on reading the same files. To write, or to use a cache built later, they have to open the store by
    its new name. Raises NotFound, Locked while another process writes to it, UsageError where `target` exists: names
    are compared as the file system does, so `notes` may become `Notes` where both are one folder.
    """
    if not (folder / DATABASE).is_file():
        raise NotFound(f"there is no index called {folder.name!r}.", "Nothing was renamed.")
    lock = WriterLock(folder)
    try:
        if target.exists() and not target.samefile(folder):
            raise UsageError(
                f"an index or file called {target.name!r} already exists.", "Choose another name, or remove it."
            )
        if os.name == "nt":  # it renames no folder with an open file in it
            lock.release()
        folder.rename(target)
        with suppress(OSError):  # the folder has its new name already
            (target / PID).unlink(missing_ok=True)
            sync_folder(target.absolute().parent)
    except OSError as error:
        raise SemsearchError(
            f"{folder.name} cannot be renamed to {target.name}: {error.strerror or error}.",
            "Check the rights to its folder; nothing was changed.",
        ) from error
    finally:
        lock.release()


def accept_loss(folder: Path) -> str | None:
    """Go on with what is there, though acknowledged commits are missing: which, in a sentence, or None for none.

    Raises NotFound, Locked, Corrupt.
    """
    if not (folder / DATABASE).is_file():
        raise NotFound(f"there is no index called {folder.name!r}.", "Nothing was changed.")
    lock = WriterLock(folder)
    try:
        loss = commit_record.loss(folder)
        if loss:
            with _file_errors(folder):
                commit_record.forget(folder)
                sync_folder(folder)
        return loss
    finally:
        lock.release()


def _create_database(folder: Path) -> None:
    """An empty, unfinished database, on disk when this returns."""
    if remains := [file for pattern in REMAINS for file in folder.glob(pattern)]:
        for file in remains:
            file.unlink()
        sync_folder(folder)  # SQLite would apply an old log to the new database
    with closing(sqlite.connect(folder / UNFINISHED, "rwc")) as connection:
        schema.create(connection)
    sync_file(folder / UNFINISHED)


def _fill(folder: Path, lock: WriterLock, fill: Callable[[LocalWriter], None]) -> None:
    """Let `fill` write, and fold the log into the file; the writer's lock stays taken."""
    with closing(Connection(folder, write=True, database=UNFINISHED)) as connection:
        fill(LocalWriter(connection, lock))
    sync_file(folder / UNFINISHED)


def refuse_address(address: str) -> None:
    """Raise UsageError for the address of a server."""
    if address:
        raise UsageError(f"the local store has no address, but got {address!r}.", "Write local alone.")


def _refuse_content(folder: Path) -> None:
    if (folder / DATABASE).exists():
        raise UsageError(f"{folder} already has an index.", "Open it, or choose another name.")
    for item in sorted(folder.iterdir()):
        if item.name not in (LOCK, PID) and not any(item.match(pattern) for pattern in REMAINS):
            raise UsageError(f"{folder} is not empty ({item.name}).", "Choose an empty or a new folder.")


@contextmanager
def _file_errors(folder: Path) -> Iterator[None]:
    with sqlite.translated(folder):
        try:
            yield
        except (FileExistsError, NotADirectoryError) as error:
            raise UsageError(f"{folder} cannot be a folder: a file is in its place.", "Choose another.") from error
        except OSError as error:
            reason = f"{folder} cannot be created: {error.strerror}."
            raise SemsearchError(reason, "Choose another folder.", "Choose another home: --home DIR.") from error
