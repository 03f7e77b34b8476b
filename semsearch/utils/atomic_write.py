"""Files that are whole or not there, whatever is killed and whichever cable is pulled."""

from __future__ import annotations

import os
from pathlib import Path


def write(file: Path, content: str) -> None:
    """Put `content` into `file`, which holds what it held before until all of it is on disk."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(content, encoding="utf-8")
    sync_file(new)
    new.replace(file)
    sync_folder(file.parent)


def sync_file(file: Path) -> None:
    """Put the content of a file on disk."""
    with file.open("rb+") as written:
        os.fsync(written.fileno())


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk: a file that was made or renamed is safe only after this."""
    if os.name == "nt":  # Windows opens no folders, and keeps names in its journal
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
