"""Atomic writing of files: after a kill or a power cut, a file has its old or its new content."""

from __future__ import annotations

import os
from pathlib import Path


def write_text(file: Path, content: str) -> None:
    """Replace `file` by one with `content`, once that is on disk."""
    new = file.with_name(f".{file.name}.new")
    new.write_text(content, encoding="utf-8")
    sync_file(new)
    new.replace(file)
    sync_folder(file.parent)


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
