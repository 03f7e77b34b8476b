"""The place of a local store: a folder with its database. Without numpy and SQLite, as shell completion reads it."""

from __future__ import annotations

from pathlib import Path

from semsearch.errors import NotFound

DATABASE = "store.db"


def exists(folder: Path) -> bool:
    """Whether `folder` has a store."""
    return (folder / DATABASE).is_file()


def require_store(folder: Path) -> None:
    """Raise NotFound where there is no store in `folder`."""
    if not (folder / DATABASE).is_file():
        raise NotFound(
            f"there is no index at {folder}.",
            "Create one with Index.create; semsearch.admin.names() lists those that exist.",
            f"Create one: semsearch index FILES -n {folder.name}",
        )


def names(home: Path) -> list[str]:
    """The folders with a store directly below `home`, sorted."""
    return sorted(file.parent.name for file in home.glob(f"*/{DATABASE}"))


def identity(folder: Path) -> tuple[int, int]:
    """Device and inode of the database. Raises NotFound."""
    try:
        status = (folder / DATABASE).stat()
    except OSError:
        raise NotFound(f"There is no index called {folder.name!r}.", "Choose another one.") from None
    return status.st_dev, status.st_ino
