"""Presence of the files that documents came from, looked up without opening one."""

from __future__ import annotations

from pathlib import Path


class FilePresence:
    """Whether files are still in their folders. Each folder is looked up once."""

    def __init__(self) -> None:
        self._folders: dict[str, bool] = {}

    def has_folder(self, root: str) -> bool:
        """Whether the folder exists and may be read. Its files are gone only if it is there."""
        if root not in self._folders:
            try:
                self._folders[root] = Path(root).is_dir()
            except OSError:
                self._folders[root] = False
        return self._folders[root]

    def is_gone(self, root: str, path: str) -> bool:
        """Whether a file is missing from a folder that is there.

        False for a recorded path with `\\x`, an escaped name that is not UTF-8: the real name is unknown.
        """
        if "\\x" in path:
            return False
        try:
            return self.has_folder(root) and not Path(root, path).exists()
        except OSError:
            return False  # a subfolder that may not be read
