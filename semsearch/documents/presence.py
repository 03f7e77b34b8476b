"""Presence of the files that documents came from, looked up without opening one."""

from __future__ import annotations

from functools import cache
from pathlib import Path


class FilePresence:
    """Whether files are still in their folders. Each folder is looked up once."""

    def __init__(self) -> None:
        self._is_folder = cache(lambda root: Path(root).is_dir())

    def is_gone(self, root: str, path: str) -> bool:
        """Whether a file is missing from its folder. False without the folder, as its disk may not be mounted.

        False too for a recorded path with `\\x`, an escaped name that is not UTF-8: the real name is unknown.
        """
        try:
            return "\\x" not in path and self._is_folder(root) and not Path(root, path).exists()
        except OSError:
            return False  # a folder that may not be read
