"""The folder of a local store: made, renamed and removed, each so that a kill leaves the old state or the new one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from semsearch import settings
from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.stores.local import schema, sqlite
from semsearch.stores.local.connection import DATABASE, Connection
from semsearch.stores.local.writer import LocalWriter
from semsearch.utils.atomic_write import sync_file, sync_folder
from semsearch.utils.writer_lock import LOCK, PID, WriterLock
from semsearch.vector_index import cache_files

UNFINISHED = "store.new"  # becomes store.db by a rename when it is whole; alone it is no index


def create(folder: Path, fill: Callable[[LocalWriter], None] | None = None) -> LocalWriter:
    """A new store in `folder`, open for writing. Raises UsageError where something is there already.

    It is empty but for what `fill` writes. A kill at any moment, or an error in `fill`, leaves a store that has
    all of that, or a folder in which one can be created.
    """
    with _file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _refuse_content(folder)
        lock = WriterLock(folder)
        try:
            _refuse_content(folder)  # another process may have been faster
            _create_database(folder)
            if fill is not None:
                _fill(folder, lock, fill)
            (folder / UNFINISHED).rename(folder / DATABASE)
            sync_folder(folder)
            sync_folder(folder.parent)
            return LocalWriter(Connection(folder, write=True), lock)
        except BaseException:
            lock.release()
            raise


def exists(folder: Path) -> bool:
    """Whether `folder` holds a store."""
    return settings.is_index(folder)


def names(home: Path) -> list[str]:
    """The stores in folders directly below `home`, sorted."""
    return settings.names(home)


def remove(folder: Path) -> list[str]:
    """Remove the store in `folder`; the names of files that are not part of it and stay. NotFound, Locked."""
    if not (folder / DATABASE).is_file():
        raise NotFound(f"There is no index called {folder.name!r}.", "Nothing was removed.")
    lock = WriterLock(folder)
    try:
        (folder / DATABASE).unlink(missing_ok=True)  # from here on it is no index
        for file in [*folder.glob(f"{DATABASE}-*"), *folder.glob(cache_files.FILES)]:
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
    """Rename the folder of a store to `target`, which lies beside it, in one step of the file system.

    Open readers go on reading: the files are the same ones. To write, or to search a cache that was built since, they
    open it by its new name. Raises NotFound, Locked while somebody writes to it, UsageError where `target` is something
    else already: names are compared as the file system does it; `notes` may become `Notes` where both are one folder.
    """
    if not (folder / DATABASE).is_file():
        raise NotFound(f"There is no index called {folder.name!r}.", "Nothing was renamed.")
    lock = WriterLock(folder)
    try:
        if target.exists() and not target.samefile(folder):
            raise UsageError(
                f"an index or file called {target.name!r} already exists.", "Choose another name, or remove it."
            )
        if os.name == "nt":  # which renames no folder with an open file in it
            lock.release()
        folder.rename(target)
        with suppress(OSError):  # it has its new name, and what fails here takes nothing from that
            (target / PID).unlink(missing_ok=True)
            sync_folder(target.absolute().parent)
    except OSError as error:
        raise SemsearchError(
            f"{folder.name} cannot be renamed to {target.name}: {error.strerror or error}.",
            "Check the rights to its folder; nothing was changed.",
        ) from error
    finally:
        lock.release()


def _create_database(folder: Path) -> None:
    """An empty, unfinished database, on disk when this returns."""
    for left in folder.glob(f"{UNFINISHED}*"):  # of a process that was killed
        left.unlink()
    connection = sqlite.connect(folder / UNFINISHED, "rwc")
    try:
        schema.create(connection)
    finally:
        connection.close()
    sync_file(folder / UNFINISHED)


def _fill(folder: Path, lock: WriterLock, fill: Callable[[LocalWriter], None]) -> None:
    """Let `fill` write, and fold the log into the file; the writer's lock stays taken."""
    connection = Connection(folder, write=True, database=UNFINISHED)
    try:
        fill(LocalWriter(connection, lock))
    finally:
        connection.close()
    sync_file(folder / UNFINISHED)


def _refuse_content(folder: Path) -> None:
    if (folder / DATABASE).exists():
        raise UsageError(f"{folder} already holds an index.", "Open it, or choose another name.")
    ours = {LOCK, PID}
    for item in sorted(folder.iterdir()):
        if item.name not in ours and not item.name.startswith(UNFINISHED):
            raise UsageError(f"{folder} holds something else ({item.name}).", "Choose an empty or a new folder.")


@contextmanager
def _file_errors(folder: Path) -> Iterator[None]:
    with sqlite.translated(folder):
        try:
            yield
        except (FileExistsError, NotADirectoryError) as error:
            raise UsageError(f"{folder} cannot be a folder: a file is in its place.", "Choose another.") from error
        except OSError as error:
            reason = f"{folder} cannot be created: {error.strerror}."
            raise SemsearchError(reason, "Choose another home: --home DIR.") from error
