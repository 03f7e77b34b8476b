"""Another name for an index: its folder is renamed, in one step of the file system.

A kill leaves the old name or the new one, with all that the index holds. Who has it open for reading goes on reading:
the files are the same ones. To write, or to search a cache that was built since, they open it by its new name.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.stores.local.connection import DATABASE
from semsearch.utils.atomic_write import sync_folder
from semsearch.utils.writer_lock import PID, WriterLock


def rename(folder: Path, target: Path) -> None:
    """Rename the index in `folder` to `target`, which lies beside it.

    Raises NotFound, Locked while somebody writes to it, UsageError where `target` is something else already: names
    are compared as the file system does it, so that `notes` may become `Notes` where both mean one folder.
    """
    if not (folder / DATABASE).is_file():
        raise NotFound(f"there is no index {folder.name!r}.", "Nothing was renamed.")
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
